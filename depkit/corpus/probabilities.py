"""Probabilities in the column MISC and in comments, as `depkit parse --prob` and --best write them.

ArcProb is the probability of a word's head, LabelProb that of its label given the head. If a
sentence is written with several trees, the comment `tree` says which one it is, and the comment
`prob` is the probability of the tree with its labels.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.corpus.tree_marks import (
    ARC_PROB,
    LABEL_PROB,
    RANK,
    TREE,
    TREE_PROB,
    remove_probabilities,
)
from depkit.files.errors import FormatError

_ADVICE = "create the file with depkit parse --prob"


def add_probabilities(
    misc: Sequence[str], arc: Sequence[float], label: Sequence[float]
) -> list[str]:
    """Append probabilities to a sentence's MISC column, such as `ArcProb=0.9731|LabelProb=0.8812`.

    Args:
        misc: [words] the values of MISC. Probabilities of an earlier parse are removed.
        arc: [words] the probability of each word's head.
        label: [words] the probability of each word's label.

    Returns:
        [words] the new values of MISC, in which probabilities have four decimals.
    """
    return [
        f"{_remove_probabilities(cell)}{ARC_PROB}={arc_probability:.4f}|{LABEL_PROB}={label_probability:.4f}"
        for cell, arc_probability, label_probability in zip(misc, arc, label, strict=True)
    ]


def _remove_probabilities(cell: str) -> str:
    """Remove probabilities from a value of MISC and append `|` if anything remains."""
    rest = remove_probabilities(cell)
    return "" if rest in ("", "_") else f"{rest}|"


def read_probabilities(sentence: Sentence) -> np.ndarray:
    """Read the probabilities of each word's head and label: [words, 2] float64.

    Raises FormatError if a probability is missing or is not a number from 0 to 1.
    """
    if "misc" not in sentence.format.columns:
        problem = f"{sentence.format.name} has no column for {ARC_PROB} and {LABEL_PROB}"
        raise FormatError(*sentence.location(), f"{problem}; {_ADVICE} --format conllu")
    probabilities = np.empty((len(sentence), 2))
    for i, misc in enumerate(sentence.column("misc")):
        values = dict(part.partition("=")[::2] for part in misc.split("|"))
        for column, key in enumerate((ARC_PROB, LABEL_PROB)):
            if key not in values:
                raise FormatError(*sentence.location(i), f"there is no {key} in MISC; {_ADVICE}")
            probabilities[i, column] = _parse_number(values[key])
            if not 0 <= probabilities[i, column] <= 1:
                problem = f"{key} is {values[key][:40]!r}, not a number from 0 to 1"
                raise FormatError(*sentence.location(i), f"{problem}; {_ADVICE}")
    return probabilities


def has_probabilities(sentence: Sentence) -> bool:
    """Return whether the first word of a sentence has the probability of its head."""
    if "misc" not in sentence.format.columns or not len(sentence):
        return False
    parts = sentence.column("misc")[0].split("|")
    return any(part.partition("=")[0] == ARC_PROB for part in parts)


def add_tree_rank(sentence: Sentence, rank: int, trees: int, probability: float) -> Sentence:
    """Add the comments of one of several trees of a sentence; rank: 1 for the best one."""
    sentence = sentence.with_comment(TREE, f"{rank} of {trees}")
    return sentence.with_comment(TREE_PROB, f"{probability:.4g}")


def tree_rank(sentence: Sentence) -> int:
    """Return the rank of a tree among those of its sentence; 0 if it has no rank and probability.

    1 is the best tree.
    """
    comment = sentence.comment(TREE)
    match = RANK.fullmatch(comment) if comment else None
    if match and 0 <= _parse_number(sentence.comment(TREE_PROB)) <= 1:
        return int(match[1])
    return 0


def best_trees(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield sentences without the further trees after the best one of each, see `add_tree_rank`."""
    best: Sentence | None = None
    for sentence in sentences:
        rank = tree_rank(sentence)
        if rank > 1 and best is not None and sentence.form == best.form:
            continue
        best = sentence if rank == 1 else None
        yield sentence


def group_trees(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Group the trees of each sentence, as `depkit parse --best` writes them one after another.

    A sentence without the comment `tree` is a group by itself.
    """
    group: list[Sentence] = []
    first_rank = 0
    for sentence in sentences:
        rank = tree_rank(sentence)
        is_next = first_rank == 1 and rank == len(group) + 1
        if group and not (is_next and sentence.form == group[0].form):
            yield group
            group = []
        if not group:
            first_rank = rank
        group.append(sentence)
    if group:
        yield group


def _parse_number(text: str) -> float:
    """Parse a number; return NaN if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return np.nan
