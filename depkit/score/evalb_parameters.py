"""The parameters of EVALB, which say what is deleted from bracketed trees before scoring.

A parameter file (.prm) has lines of a keyword and a value; lines that begin with `#` are comments.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from depkit.files.errors import FormatError
from depkit.files.streams import open_lines


@dataclass(frozen=True)
class Parameters:
    """Parameters of EVALB; the comments name the keywords of parameter files.

    Attributes:
        name: The name in the signature of scores.
        deleted: DELETE_LABEL: words with these tags are deleted, and so are brackets with these
            labels, but not what is within them.
        uncounted: DELETE_LABEL_FOR_LENGTH: tags of words that do not count for the length.
        quotes: QUOTE_LABEL: if two sentences differ in length, a deleted quotation mark with such a
            tag is kept if the other sentence has another such tag at the same position.
        equal_labels: EQ_LABEL: pairs of labels or tags that count as the same.
        equal_words: EQ_WORD: pairs of words that count as the same.
        labelled: LABELED: whether labels are compared.
        cutoff: CUTOFF_LEN: the report has a second summary for sentences of at most this length.
        spmrl: Whether to score as the version of EVALB of the SPMRL shared task (2013) does: no
            word is deleted, labels are also cut at `#`, and tags are cut as labels are.
    """

    name: str
    deleted: frozenset[str] = frozenset()
    uncounted: frozenset[str] = frozenset()
    quotes: frozenset[str] = frozenset()
    equal_labels: tuple[tuple[str, str], ...] = ()
    equal_words: tuple[tuple[str, str], ...] = ()
    labelled: bool = True
    cutoff: int = 40
    spmrl: bool = False

    @cached_property
    def labels_like(self) -> Mapping[str, tuple[str, ...]]:
        """For each label in `equal_labels`, the labels that count as the same; not transitive."""
        return _partners(self.equal_labels)

    @cached_property
    def words_like(self) -> Mapping[str, tuple[str, ...]]:
        """For each word in `equal_words`, the words that count as the same; not transitive."""
        return _partners(self.equal_words)

    @cached_property
    def deleted_brackets(self) -> frozenset[str]:
        """The labels of deleted brackets, after cutting."""
        # The version of SPMRL also cuts the labels of DELETE_LABEL: -NONE- becomes an empty label.
        labels = {self.cut(label) if self.spmrl else label for label in self.deleted}
        return frozenset(x for label in labels for x in self.labels_like.get(label, (label,)))

    @cached_property
    def deleted_words(self) -> frozenset[str]:
        """The tags of deleted words."""
        return frozenset() if self.spmrl else self.deleted

    def cut(self, label: str) -> str:
        """Cut a label at the first `-` or `=`, for SPMRL also at `#`: NP-SBJ becomes NP."""
        for character in "-=#" if self.spmrl else "-=":
            label = label.partition(character)[0]
        return label

    def bracket_label(self, label: str) -> str | None:
        """Return the label by which a bracket is compared; None for a deleted bracket."""
        label = self.cut(label)
        if label in self.deleted_brackets:
            return None
        return label if self.labelled else ""

    def same_tags(self, first: str, second: str) -> bool:
        if self.spmrl:
            first, second = self.cut(first), self.cut(second)
        return first == second or second in self.labels_like.get(first, ())

    def same_words(self, first: str, second: str) -> bool:
        return first == second or second in self.words_like.get(first, ())


def _partners(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Map each element of the pairs to itself and to its partners."""
    partners: dict[str, tuple[str, ...]] = {}
    for first, second in pairs:
        partners[first] = tuple(dict.fromkeys([*partners.get(first, (first,)), second]))
        partners[second] = tuple(dict.fromkeys([*partners.get(second, (second,)), first]))
    return partners


# The parameter files that come with EVALB (COLLINS.prm, new.prm), with the Berkeley Neural Parser
# (nk.prm, the same as new.prm) and with EVALB for SPMRL (spmrl.prm).
_COLLINS = Parameters(
    "collins",
    deleted=frozenset("TOP -NONE- , : `` '' .".split()),
    uncounted=frozenset({"-NONE-"}),
    equal_labels=(("ADVP", "PRT"),),
)
_NEW = replace(
    _COLLINS,
    name="new",
    deleted=_COLLINS.deleted | {"S1", "?", "!"},
    quotes=frozenset("`` '' POS NN CD VBZ :".split()),
)
_SPMRL = Parameters(
    "spmrl",
    deleted=frozenset("TOP ROOT S1 -NONE- VROOT".split()),
    uncounted=frozenset({"-NONE-"}),
    cutoff=70,
    spmrl=True,
)
BUILT_IN = {
    parameters.name: parameters for parameters in (_COLLINS, replace(_NEW, name="nk"), _NEW, _SPMRL)
}


def get_parameters(name: str) -> Parameters:
    """Return the built-in parameters with this name, or those of a parameter file.

    Raises ValueError if there are neither, FormatError if the file is not a parameter file, and
    OSError if it cannot be read.
    """
    if name.lower() in BUILT_IN and not os.path.isfile(name):
        return BUILT_IN[name.lower()]
    if not os.path.exists(name):
        raise ValueError(
            f"there are no parameters {name!r}; name a parameter file of EVALB, or choose from"
            f" {', '.join(BUILT_IN)}"
        )
    with open_lines(name) as lines:
        return parse_parameters(lines, name)


_SETS = ("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL")
_PAIRS = ("EQ_LABEL", "EQ_WORD")
_NUMBERS = ("LABELED", "CUTOFF_LEN", "MAX_ERROR", "DEBUG")
_MAX_DIGITS = 18


def parse_parameters(lines: Iterable[str], file: str) -> Parameters:
    """Parse the lines of a parameter file. Raises FormatError, which names the line.

    MAX_ERROR and DEBUG are ignored: however many trees do not match, all others are scored. A file
    that deletes all labels that spmrl.prm deletes, such as spmrl_hebrew.prm, or whose name begins
    with spmrl, is for the version of SPMRL.
    """
    values: dict[str, list[list[str]]] = {name: [] for name in (*_SETS, *_PAIRS, *_NUMBERS)}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if line.startswith("#") or not words:
            continue
        keyword, *value = words
        if keyword not in values:
            known = ", ".join(values)
            message = f"there is no keyword {keyword[:40]!r} in files of EVALB; there are {known}"
            raise FormatError(file, number, "", message)
        size = 2 if keyword in _PAIRS else 1
        is_number = value[:1] and value[0].isdecimal() and len(value[0]) <= _MAX_DIGITS
        if len(value) != size or (keyword in _NUMBERS and not is_number):
            kind = "a number" if keyword in _NUMBERS else "two values" if size > 1 else "one value"
            raise FormatError(file, number, "", f"{keyword} must be followed by {kind}")
        values[keyword].append(value)
    sets = {key: frozenset(value for (value,) in values[key]) for key in _SETS}
    pairs = {key: tuple((first, second) for first, second in values[key]) for key in _PAIRS}
    numbers = {key: int(values[key][-1][0]) for key in _NUMBERS if values[key]}
    name = os.path.basename(file)
    return Parameters(
        name,
        deleted=sets["DELETE_LABEL"],
        uncounted=sets["DELETE_LABEL_FOR_LENGTH"],
        quotes=sets["QUOTE_LABEL"],
        equal_labels=pairs["EQ_LABEL"],
        equal_words=pairs["EQ_WORD"],
        labelled=numbers.get("LABELED", 1) != 0,
        cutoff=numbers.get("CUTOFF_LEN", 40),
        spmrl=sets["DELETE_LABEL"] >= _SPMRL.deleted or name.lower().startswith("spmrl"),
    )
