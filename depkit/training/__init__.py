"""Training of parsers: recipe, loop, schedule and checkpoint.

A training has the same batch shapes in every epoch. It therefore caches more kernels than parsing
does (see `depkit.parsers`); with small batches, it would otherwise spend a quarter of its time on
compiling them again. This has no effect if torch has already computed something in this process.
"""

import os

from depkit.parsers import KERNELS, KERNELS_FOR_PARSING

if os.environ[KERNELS] == KERNELS_FOR_PARSING:
    os.environ[KERNELS] = "4096"
