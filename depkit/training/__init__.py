"""Training of parsers: recipe, loop, schedule and checkpoint.

A training has the same batch shapes in every epoch. It therefore caches more kernels than parsing
does (see `depkit.parsers`); with small batches, it would otherwise spend a quarter of its time on
compiling them again.
"""

import os

from depkit.parsers import KERNEL_CACHE, limits_kernels

if limits_kernels:
    os.environ[KERNEL_CACHE] = "8192"
