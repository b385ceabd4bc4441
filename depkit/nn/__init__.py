"""Torch modules that know tensors, not sentences; every file implements one idea."""
