"""Fuzzing of everything that reads files from elsewhere, guided by the lines that an input reaches.

Run `python -m tests.fuzz READER... --seconds N [--seed N]`.
"""
