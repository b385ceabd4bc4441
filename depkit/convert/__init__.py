"""Conversion of constituency trees to dependencies and of tabular formats to each other.

Import the submodules: the package itself loads none of them.
"""
