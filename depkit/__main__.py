"""The entry point of `python -m depkit` and of the console script."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` imports from the current directory first, which may be somebody else's.
    if sys.path[0] != os.path.dirname(os.path.dirname(__file__)):
        del sys.path[0]


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, even while modules are imported."""
    os.environ["PYTHONSAFEPATH"] = "1"  # for the processes that libraries start
    try:
        from depkit.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(130)
    command_line.main()


if __name__ == "__main__":
    main()
