"""Torch building blocks, one idea a file; they know tensors, not sentences."""
