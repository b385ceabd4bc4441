"""python -m depkit.cli.pages [DIR]"""

import argparse
from pathlib import Path

from depkit.cli.pages import write_pages

parser = argparse.ArgumentParser(
    prog="python -m depkit.cli.pages",
    description="Write completions/ and man/, made from the command line itself.",
)
parser.add_argument(
    "directory", metavar="DIR", nargs="?", type=Path, default=Path(),
    help="where to write them, by default the current directory",
)  # fmt: skip
write_pages(parser.parse_args().directory)
