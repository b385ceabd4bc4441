"""Tree algorithms on arrays, with numpy and numba only.

Import the submodules: the package itself imports neither library, so importing it costs nothing.
"""
