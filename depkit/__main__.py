"""The entry point of `python -m depkit` and of the console script."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, even while modules are imported."""
    try:
        from depkit.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)
    command_line.main()


if __name__ == "__main__":
    main()
