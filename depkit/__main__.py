"""python -m depkit, and the console script."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C is no error, not even while modules are being imported."""
    try:
        from depkit.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)
    command_line.main()


if __name__ == "__main__":
    main()
