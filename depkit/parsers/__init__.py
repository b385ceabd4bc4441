"""Parsers: the inputs, encoders, scorers and decoders of all families.

On a CPU, torch caches compiled kernels for each batch shape, in two caches. Caching the kernels of
all shapes that occur in parsing saves no time, and the memory grows with the text. The sizes of the
caches are therefore limited here, before torch is imported, unless the user has set them.
"""

import os

KERNEL_CACHE = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"

limits_kernels = KERNEL_CACHE not in os.environ
os.environ.setdefault(KERNEL_CACHE, "256")
os.environ.setdefault("LRU_CACHE_CAPACITY", "64")
