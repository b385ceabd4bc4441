"""Benchmarks, which are run by hand; no test makes assertions about speed."""
