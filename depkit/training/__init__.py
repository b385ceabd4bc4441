"""Training of parsers: recipe, loop, schedule and checkpoint.

All epochs of a training have the same batch shapes. Training therefore caches more kernels than
parsing does (see `depkit.parsers`), so that they are compiled in the first epoch only. This has no
effect if torch has already computed something in this process.
"""

import os

from depkit.parsers import KERNELS, KERNELS_FOR_PARSING

if os.environ[KERNELS] == KERNELS_FOR_PARSING:
    os.environ[KERNELS] = "4096"
