"""Tree algorithms on arrays; numpy and numba only.

Import the submodules: this package itself loads neither, so that it costs nothing to pass through.
"""
