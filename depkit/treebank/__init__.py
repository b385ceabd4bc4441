"""Checks and statistics of treebanks; never torch."""
