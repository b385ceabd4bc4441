"""Probabilities in the column MISC, as `depkit parse --prob` writes them.

ArcProb is the probability of a word's head, LabelProb that of its label given the head.
"""

from collections.abc import Sequence

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError

ARC_PROB, LABEL_PROB = "ArcProb", "LabelProb"
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
    if cell == "_":
        return ""
    if "Prob" in cell:
        parts = cell.split("|")
        cell = "|".join(
            part for part in parts if part.partition("=")[0] not in (ARC_PROB, LABEL_PROB)
        )
    return f"{cell}|" if cell else ""


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


def _parse_number(text: str) -> float:
    """Parse a number; return NaN if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return np.nan
