"""The tabular formats: which column holds what. A new format is one entry in FORMATS."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from depkit.corpus.universal import UPOS

# The columns that a `Sentence` holds as attributes, HEAD apart: that one becomes numbers.
HELD = ("form", "lemma", "upos", "xpos", "feats", "deprel")


@dataclass(frozen=True)
class Format:
    """A one-word-a-line format with tab-separated columns.

    columns: names in file order, in lower case; `Sentence` calls fine and coarse tags
    `xpos` and `upos` in every format. repeats: further columns may follow the named ones
    (the same number in each row of a sentence). spans: multiword ranges (1-2) and empty
    nodes (1.1) are allowed. stale: columns that a new tree makes wrong, so they become `_`.
    """

    name: str
    columns: tuple[str, ...]
    repeats: bool = False
    spans: bool = False
    stale: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its name: what is loaded is the very format in FORMATS."""
        return named_format, (self.name,)

    def index(self, column: str) -> int:
        """The 0-based place of a column; KeyError if the format has none of that name."""
        if column not in self.columns:
            raise KeyError(f"{self.name} has no column {column!r}")
        return self.columns.index(column)

    @cached_property
    def held(self) -> dict[str, int]:
        """The places of HEAD and of the other columns that a `Sentence` holds."""
        return {name: self.index(name) for name in ("head", *HELD) if name in self.columns}


CONLLU = Format(
    "conllu",
    ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
    spans=True,
    stale=("deps",),
)
# Buchholz and Marsi (2006): CPOSTAG is the coarse tag, POSTAG the fine one.
CONLLX = Format(
    "conllx",
    ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "phead", "pdeprel"),
)
# Hajic et al. (2009): one POS column, of fine tags; P columns are automatic; a column APRED
# follows for each predicate.
CONLL09 = Format(
    "conll09",
    (
        "id", "form", "lemma", "plemma", "xpos", "pxpos", "feats", "pfeats", "head", "phead",
        "deprel", "pdeprel", "fillpred", "pred",
    ),
    repeats=True,
)  # fmt: skip

FORMATS = {format.name: format for format in (CONLLU, CONLLX, CONLL09)}

_SUFFIXES = {
    ".conllu": CONLLU,
    ".conllx": CONLLX,
    ".conll09": CONLL09,
    ".conll2009": CONLL09,
}
_COARSE_TAGS = UPOS | {"CONJ", "_"}  # those of version 1, too


def named_format(name: str) -> Format:
    """The format of that name. Raises ValueError, listing the names, if there is none."""
    if name not in FORMATS:
        raise ValueError(f"no format {name!r}; the formats are {', '.join(FORMATS)}")
    return FORMATS[name]


def by_name(path: str) -> Format | None:
    """The format that a file's name tells, compression suffixes apart; None if it does not."""
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    return next((format for suffix, format in _SUFFIXES.items() if name.endswith(suffix)), None)


def sniff(lines: Sequence[str]) -> Format | None:
    """The format of a sentence's lines, by their looks; None if they fit none.

    14 columns or more are CoNLL-09. Ten are CoNLL-U if there are comments, ranges or empty
    nodes, Feature=Value pairs or nothing but universal tags; otherwise CoNLL-X.
    """
    rows = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    words = [row for row in rows if not row[0].startswith(("#", "\ufeff"))]
    if not words or not all(row[0][:1].isdigit() for row in words):
        return None
    width = len(words[0])
    if width >= len(CONLL09.columns):
        return CONLL09
    if width != len(CONLLU.columns):
        return None
    universal = (
        len(words) < len(rows)
        or any("-" in row[0] or "." in row[0] for row in words)
        or any("=" in row[5] for row in words if len(row) > 5)
        or all(row[3] in _COARSE_TAGS for row in words if len(row) > 3)
    )
    return CONLLU if universal else CONLLX
