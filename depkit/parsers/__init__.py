"""Parsers: the inputs, encoders, scorers and decoders of all families.

On a CPU, torch caches compiled kernels for each batch shape, in two caches. Caching all shapes
saves no time, and the memory grows with the text. The sizes of the caches are therefore limited
here, before torch is imported.
"""

import os

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")
os.environ.setdefault("LRU_CACHE_CAPACITY", "64")
