"""The entry point of `python -m depkit.cli.pages`."""

import argparse
from pathlib import Path

from depkit.cli.pages import write_pages

parser = argparse.ArgumentParser(
    prog="python -m depkit.cli.pages",
    description="Write completions/ and man/, which are generated from the command line.",
)
parser.add_argument(
    "directory", metavar="DIR", nargs="?", type=Path, default=Path(),
    help="write both folders into this directory; the default is the current directory",
)  # fmt: skip
write_pages(parser.parse_args().directory)
