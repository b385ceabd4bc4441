"""Parsers: inputs, encoder, scorer and decoder of each family.

The CPU library of torch keeps kernels for each shape of a batch that occurs, in two caches. Room
for all shapes of training or parsing saves no time, but grows with the text, so it is limited here,
before torch is used.
"""

import os

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")
os.environ.setdefault("LRU_CACHE_CAPACITY", "64")
