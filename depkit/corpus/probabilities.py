"""Probabilities of a parse in MISC: of a word's head, and of its label given that head.

`depkit parse --prob` writes them.
"""

from collections.abc import Sequence

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.sentence import Sentence

ARC, LABEL = "ArcProb", "LabelProb"
_ADVICE = "parse with depkit parse --prob"


def with_probabilities(
    misc: Sequence[str], arc: Sequence[float], label: Sequence[float]
) -> list[str]:
    """A sentence's MISC with `ArcProb=0.9731|LabelProb=0.8812` behind what else stands there.

    arc, label: a probability a word, written with four decimals; those of an older parse go.
    """
    return [
        f"{_others(cell)}{ARC}={of_arc:.4f}|{LABEL}={of_label:.4f}"
        for cell, of_arc, of_label in zip(misc, arc, label, strict=True)
    ]


def _others(cell: str) -> str:
    """What else stands in a MISC, with a bar behind it; "" if nothing does."""
    if cell == "_":
        return ""
    if "Prob" in cell:
        parts = cell.split("|")
        cell = "|".join(part for part in parts if part.partition("=")[0] not in (ARC, LABEL))
    return f"{cell}|" if cell else ""


def probabilities_of(sentence: Sentence) -> np.ndarray:
    """[word, 2] float64, of each word the probability of its head and of its label given that head.

    Raises FormatError where one of them is missing or is not a number from 0 to 1.
    """
    if "misc" not in sentence.format.columns:
        what = f"{sentence.format.name} has no column for {ARC} and {LABEL}"
        raise FormatError(*sentence.place(), f"{what}; {_ADVICE} --format conllu")
    found = np.empty((len(sentence), 2))
    for word, misc in enumerate(sentence.column("misc")):
        given = dict(part.partition("=")[::2] for part in misc.split("|"))
        for i, key in enumerate((ARC, LABEL)):
            if key not in given:
                raise FormatError(*sentence.place(word), f"no {key} in MISC; {_ADVICE}")
            found[word, i] = _number(given[key])
            if not 0 <= found[word, i] <= 1:
                what = f"{key} is {given[key][:40]!r}, not a number from 0 to 1"
                raise FormatError(*sentence.place(word), f"{what}; {_ADVICE}")
    return found


def _number(text: str) -> float:
    """NaN for what is none."""
    try:
        return float(text)
    except ValueError:
        return np.nan
