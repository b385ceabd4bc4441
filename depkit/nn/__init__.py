"""Torch modules that work on tensors, not on sentences. Each file implements one idea."""
