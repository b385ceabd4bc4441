"""Benchmarks: figures to look at, run by hand; no test asserts a time."""
