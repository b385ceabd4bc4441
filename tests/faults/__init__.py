"""Fault injection tests of a command: `python -m tests.faults --help`."""
