"""What the annotation of a sentence says about its tree: fixed heads and labels, and restrictions.

A word with HEAD keeps it, and a word with DEPREL keeps its label. The column MISC can restrict the
other words: `Heads=2|5` lists the possible heads, `NotHead=3` lists impossible ones, and
`Deprels=nsubj|obj` lists the possible labels. A comma also separates the values of a list.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.treebank.check_tree import find_cycles

HEADS, NOT_HEAD, DEPRELS = "Heads", "NotHead", "Deprels"
_KEYS = (HEADS, NOT_HEAD, DEPRELS)


@dataclass(frozen=True)
class Constraints:
    """The constraints of a sentence; words have their 1-based numbers, 0 is the root."""

    heads: np.ndarray  # [n], the fixed heads, -1 for a word without one
    labels: Mapping[int, str]  # the fixed label of a word
    possible_heads: Mapping[int, Sequence[int]] = field(default_factory=dict)
    impossible_heads: Mapping[int, Sequence[int]] = field(default_factory=dict)
    possible_labels: Mapping[int, Sequence[str]] = field(default_factory=dict)


def read_constraints(sentence: Sentence) -> Constraints:
    """Read the constraints of a sentence.

    Raises FormatError at a restriction that is not a list of heads or labels.
    """
    heads = np.array(sentence.head, np.int64)
    labels = {i: label for i, label in enumerate(sentence.deprel, start=1) if label != "_"}
    lists: dict[str, dict[int, list[str]]] = {key: {} for key in _KEYS}
    if "misc" in sentence.format.columns and any(
        key in line for line in sentence.lines for key in _KEYS
    ):
        for i, cell in enumerate(sentence.column("misc")):
            for key, values in _split_lists(cell).items():
                if heads[i] < 0 or key == DEPRELS:
                    lists[key][i + 1] = values
    n = len(sentence)
    numbers = {
        key: {
            word: [_parse_number(value, n, key, sentence.location(word - 1)) for value in values]
            for word, values in lists[key].items()
        }
        for key in (HEADS, NOT_HEAD)
    }
    restricted = {word: values for word, values in lists[DEPRELS].items() if word not in labels}
    return Constraints(heads, labels, numbers[HEADS], numbers[NOT_HEAD], restricted)


def _split_lists(cell: str) -> dict[str, list[str]]:
    """Return the values of the restrictions in a value of MISC, whose parts are separated by |."""
    lists: dict[str, list[str]] = {}
    current: list[str] | None = None
    for part in cell.split("|"):
        key, equals, values = part.partition("=")
        if equals:
            current = lists.setdefault(key, []) if key in _KEYS else None
        else:
            values = part
        if current is not None:
            current.extend(value for value in values.split(",") if value)
    return lists


def _parse_number(text: str, n: int, key: str, location: tuple[str, int, str]) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= n):
        raise FormatError(
            *location, f"{key} in MISC is {text[:40]!r}, not a word's number (1 to {n}) or 0"
        )
    return int(text)


def check_labels(sentence: Sentence, constraints: Constraints, known: Container[str]) -> None:
    """Raise FormatError at a word with an empty list of possible labels, or an unknown label in it.

    known: the labels that the parser can predict.
    """
    for word, labels in constraints.possible_labels.items():
        for label in labels or [""]:
            if label not in known:
                raise FormatError(
                    *sentence.location(word - 1),
                    f"{DEPRELS} of word {word} in MISC has {label[:40]!r}, which is not a relation"
                    " of the model; correct it, or leave it out",
                )


def check_constraints(
    sentence: Sentence,
    constraints: Constraints,
    *,
    single_root: bool,
    projective: bool,
    root_label: str | None,
) -> None:
    """Raise FormatError, at a word, if the annotation of a few words excludes all trees.

    These cases are found: the fixed arcs contain a cycle; a word has no possible head; with
    `single_root`, two words can have no other head than 0; with `projective`, two fixed arcs cross.
    Other combinations that exclude all trees are found in decoding. root_label: as for
    `allowed_arcs`.
    """
    heads: list[int] = constraints.heads.tolist()
    if cycles := find_cycles(heads):
        word = cycles[0][0]
        raise FormatError(
            *sentence.location(word - 1),
            f"the annotated heads form a cycle through word {word}; correct one of them, or write _"
            " to have it parsed",
        )
    allowed = allowed_arcs([constraints], len(sentence) + 1, root_label)[0]
    np.fill_diagonal(allowed, False)
    is_below_root, is_below_word = allowed[1:, 0], allowed[1:, 1:].any(1)
    for i in np.flatnonzero(~(is_below_root | is_below_word)).tolist():
        raise FormatError(
            *sentence.location(i),
            f"no head of word {i + 1} agrees with its DEPREL and with {HEADS}, {NOT_HEAD} and"
            f" {DEPRELS} in MISC",
        )
    roots = np.flatnonzero(~is_below_word).tolist()
    if single_root and len(roots) > 1:
        first, second = roots[:2]
        raise FormatError(
            *sentence.location(second),
            f"words {first + 1} and {second + 1} have the head 0 because of HEAD, DEPREL or MISC,"
            " but a tree has a single root; correct one of them, or choose `root` multi",
        )
    if projective and (words := _find_crossing(heads)):
        raise FormatError(
            *sentence.location(words[1] - 1),
            f"the annotated arcs of words {words[0]} and {words[1]} cross, so that no projective"
            " tree has both; choose another decoder",
        )


def _find_crossing(heads: Sequence[int]) -> tuple[int, int] | None:
    """Return the dependents of two fixed arcs that cross."""
    arcs = [(min(i, h), max(i, h), i) for i, h in enumerate(heads, start=1) if h >= 0]
    # Of the arcs with the same left end, the longest comes first, because it contains the others.
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_arcs: list[tuple[int, int, int]] = []  # nested, the innermost last
    for low, high, word in arcs:
        while open_arcs and open_arcs[-1][1] <= low:
            open_arcs.pop()
        for outer in reversed(open_arcs):
            if outer[0] < low < outer[1] < high:
                return outer[2], word
            if outer[1] >= high:
                break
        open_arcs.append((low, high, word))
    return None


def allowed_arcs(
    constraints: Sequence[Constraints], length: int, root_label: str | None
) -> np.ndarray:
    """Return which arcs the constraints of a batch allow, [batch, dependent, head] bool.

    length: the number of positions, w0 included; root_label: the label that exactly the children of
    the root have. It restricts the heads of words with fixed or restricted labels.
    """
    allowed = np.ones((len(constraints), length, length), np.bool_)
    for row, sentence in enumerate(constraints):
        matrix = allowed[row]
        words = np.flatnonzero(sentence.heads >= 0) + 1
        for word, heads in sentence.possible_heads.items():
            matrix[word] = False
            matrix[word, list(heads)] = True
        for word, heads in sentence.impossible_heads.items():
            matrix[word, list(heads)] = False
        if root_label is not None:
            for word, label in sentence.labels.items():
                _restrict_root(matrix[word], [label], root_label)
            for word, labels in sentence.possible_labels.items():
                _restrict_root(matrix[word], labels, root_label)
        matrix[words] = False
        matrix[words, sentence.heads[words - 1]] = True
    return allowed


def _restrict_root(heads: np.ndarray, labels: Sequence[str], root_label: str) -> None:
    """Forbid the root, or all words, as heads of a word with these possible labels."""
    if root_label not in labels:
        heads[0] = False
    elif set(labels) == {root_label}:
        heads[1:] = False
