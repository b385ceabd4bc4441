"""The real treebanks beside the checkout; there may be none."""

from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared"
FILES = sorted(
    path
    for folder in ("data", "oracles")
    for path in (SHARED / folder).rglob("*")
    if path.suffix in (".conllu", ".conllx", ".conll09")
)
