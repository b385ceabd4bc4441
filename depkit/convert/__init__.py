"""Conversion of constituency trees to dependencies and of tabular formats to each other.

The package needs only the standard library, numpy and numba (for training the converters). Import
the submodules: the package itself loads none of them.
"""
