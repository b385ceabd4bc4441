"""The tabular formats and their columns. A new format is one entry in FORMATS."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from depkit.corpus.universal import UPOS

# The columns that are string attributes of a `Sentence`. The attribute HEAD has numbers.
ATTRIBUTE_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")


@dataclass(frozen=True)
class Format:
    """A format with one word per line and tab-separated columns."""

    name: str
    # The names of the columns in lower case, from left to right. In every format, `upos` is the
    # column of coarse-grained tags, and `xpos` the column of fine-grained tags.
    columns: tuple[str, ...]
    # Further columns may follow: APRED of CoNLL-09, one for each predicate of the sentence.
    has_argument_columns: bool = False
    has_ranges: bool = False  # Multiword ranges (1-2) and empty nodes (1.1) are allowed.
    # Columns that are computed from HEAD and DEPREL. They become `_` if the tree changes.
    derived_columns: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name only, so that unpickling gives the same object as in FORMATS."""
        return get_format, (self.name,)

    def index(self, column: str) -> int:
        """Return the 0-based index of a column. Raises KeyError if there is no such column."""
        if column not in self.columns:
            raise KeyError(f"{self.name} has no column {column!r}")
        return self.columns.index(column)

    @cached_property
    def attribute_columns(self) -> dict[str, int]:
        """The indices of HEAD and of the other columns that are attributes of a `Sentence`."""
        return {
            name: self.index(name) for name in ("head", *ATTRIBUTE_COLUMNS) if name in self.columns
        }


CONLLU = Format(
    "conllu",
    ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"),
    has_ranges=True,
    derived_columns=("deps",),
)
# Buchholz and Marsi (2006): CPOSTAG is the coarse-grained tag, POSTAG the fine-grained tag.
CONLLX = Format(
    "conllx",
    ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "phead", "pdeprel"),
)
# Hajic et al. (2009): the column POS has fine-grained tags, and no column has coarse-grained tags.
# PLEMMA, PPOS, PFEAT, PHEAD and PDEPREL are predicted automatically. The last columns are APRED,
# one for each predicate.
CONLL09 = Format(
    "conll09",
    (
        "id", "form", "lemma", "plemma", "xpos", "pxpos", "feats", "pfeats", "head", "phead",
        "deprel", "pdeprel", "fillpred", "pred",
    ),
    has_argument_columns=True,
)  # fmt: skip

FORMATS = {format.name: format for format in (CONLLU, CONLLX, CONLL09)}
# Bracketed trees as in the Penn Treebank. This is not a table, so it has no columns.
PTB = Format("ptb", ())
# A Parquet file, see `parquet`. Its sentences are in CoNLL-U.
PARQUET = Format("parquet", ())
NON_TABULAR = {format.name: format for format in (PTB, PARQUET)}

_SUFFIXES = {
    ".conllu": CONLLU,
    ".conllx": CONLLX,
    ".conll09": CONLL09,
    ".conll2009": CONLL09,
    ".parquet": PARQUET,
}
_PTB_SUFFIXES = (".mrg", ".ptb")
_COARSE_TAGS = UPOS | {"CONJ", "_"}  # CONJ is a UPOS of Universal Dependencies version 1.


def get_format(name: str) -> Format:
    """Return the format with this name. Raises ValueError if there is none."""
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r}; the formats are {', '.join(FORMATS)}")
    return FORMATS[name]


def format_from_filename(path: str) -> Format | None:
    """Return the format for a file's suffix (before .gz or .xz); None if the suffix is unknown."""
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    return next((format for suffix, format in _SUFFIXES.items() if name.endswith(suffix)), None)


def is_bracketed(path: str, opening: str = "") -> bool:
    """Return whether a file contains bracketed trees, by its suffix (before .gz or .xz) or opening.

    opening: the first line of the file with more than white space.
    """
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    return name.endswith(_PTB_SUFFIXES) or opening.lstrip("\ufeff \t\r\n\f\v").startswith("(")


def sniff_format(lines: Sequence[str]) -> Format | None:
    """Recognise the format of a sentence from its lines; None if they match no format.

    A sentence with 14 columns or more is CoNLL-09. A sentence with ten columns is CoNLL-U if it has
    comments, ranges, empty nodes or Feature=Value pairs, or if all its coarse-grained tags are
    UPOS; otherwise, it is CoNLL-X.
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
    # Column 3 is UPOS or CPOSTAG, column 5 is FEATS.
    is_conllu = (
        len(words) < len(rows)
        or any("-" in row[0] or "." in row[0] for row in words)
        or any("=" in row[5] for row in words if len(row) > 5)
        or all(row[3] in _COARSE_TAGS for row in words if len(row) > 3)
    )
    return CONLLU if is_conllu else CONLLX
