"""Trials of a command under faults: `python -m tests.faults --help`."""
