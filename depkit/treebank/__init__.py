"""Checks and statistics of treebanks; they never import torch."""
