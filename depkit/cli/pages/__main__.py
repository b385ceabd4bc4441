"""python -m depkit.cli.pages [DIR]"""

import sys
from pathlib import Path

from depkit.cli.pages import write_pages

write_pages(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
