"""Constituency trees to dependencies; standard library and numpy only.

Import the submodules: this package itself loads none of them.
"""
