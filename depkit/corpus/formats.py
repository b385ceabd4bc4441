"""The tabular formats and their columns. A new format is one entry in FORMATS."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

# The columns that are string attributes of a `Sentence`. The attribute HEAD has numbers.
ATTRIBUTE_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")


@dataclass(frozen=True)
class Format:
    """A format with one word per line and tab-separated columns."""

    name: str
    # The names of the columns in lower case, from left to right. In every format, `upos` is the
    # column of coarse-grained tags, and `xpos` the column of fine-grained tags.
    columns: tuple[str, ...]
    # Further columns may follow, which are kept. In CoNLL-09, they are the columns APRED, one for
    # each predicate of the sentence.
    has_further_columns: bool = False
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
# CoNLL-U Plus that begins with the columns of CoNLL-U. A comment `# global.columns` names them all.
CONLLUP = replace(CONLLU, name="conllup", has_further_columns=True)
# Buchholz and Marsi (2006): CPOSTAG is the coarse-grained tag, POSTAG the fine-grained tag.
CONLLX = Format(
    "conllx",
    ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "phead", "pdeprel"),
    derived_columns=("phead", "pdeprel"),
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
    has_further_columns=True,
    has_argument_columns=True,
    derived_columns=("phead", "pdeprel"),
)  # fmt: skip

FORMATS = {format.name: format for format in (CONLLU, CONLLX, CONLL09, CONLLUP)}
# Bracketed trees as in the Penn Treebank. This is not a table, so it has no columns.
PTB = Format("ptb", ())
# A Parquet file, see `parquet.schema`. Its sentences are in CoNLL-U.
PARQUET = Format("parquet", ())
NON_TABULAR = {format.name: format for format in (PTB, PARQUET)}
INPUT_FORMATS = FORMATS | NON_TABULAR  # the formats of all files that can be read

SUFFIXES = {
    ".conllu": CONLLU,
    ".conllup": CONLLUP,
    ".cupt": CONLLUP,
    ".conllx": CONLLX,
    ".conll09": CONLL09,
    ".conll2009": CONLL09,
    ".parquet": PARQUET,
    ".mrg": PTB,
    ".ptb": PTB,
}


def get_format(name: str, formats: Mapping[str, Format] = FORMATS) -> Format:
    """Return the format with this name. Raises ValueError if there is none.

    formats: those to choose from; by default, formats whose files are tables.
    """
    if name not in formats:
        raise ValueError(f"there is no format {name!r}; the formats are {', '.join(formats)}")
    return formats[name]


def format_from_filename(path: str) -> Format | None:
    """Return the format for a file's suffix (before .gz or .xz); None if the suffix is unknown."""
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    return next((format for suffix, format in SUFFIXES.items() if name.endswith(suffix)), None)
