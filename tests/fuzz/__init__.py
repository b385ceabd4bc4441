"""Coverage-guided fuzzing of the code that reads files from untrusted sources.

Run `python -m tests.fuzz READER... --seconds N [--seed N]`.
"""
