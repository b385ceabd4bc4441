"""Parsers: the inputs, encoders, scorers and decoders of all families.

On a CPU, torch caches compiled kernels for each batch shape, in two caches. Caching the kernels of
all shapes that occur in parsing saves no time, and the memory grows with the text. The sizes of the
caches are therefore limited here, before torch is imported, unless the user has set them.
"""

import os

KERNELS = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
KERNELS_FOR_PARSING = "256"

os.environ.setdefault(KERNELS, KERNELS_FOR_PARSING)
os.environ.setdefault("LRU_CACHE_CAPACITY", "64")
