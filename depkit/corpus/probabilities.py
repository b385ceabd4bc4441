"""The probabilities of predicted arcs and labels, which `depkit parse --prob` writes into MISC."""

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.sentence import Sentence

ARC, LABEL = "ArcProb", "LabelProb"  # of the word's head, and of its label given that head
_ADVICE = "parse with depkit parse --prob"


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
