"""What is taken for what, and in which sentences most goes wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np

from depkit.score.analysis import Data
from depkit.score.words import Comparison, Words

Codes = tuple[np.ndarray, list[str]]  # [word] numbers, and what each is called


def _column(name: str) -> Callable[[Comparison, Words], Codes]:
    return lambda words, which: (which.code[name], words.values[name])


def _head(words: Comparison, which: Words) -> Codes:
    """The gold UPOS of each word's head."""
    tags = [*words.values["upos"], "ROOT", "none"]
    first = words.starts[:-1][words.sentence]
    tag = words.gold.code["upos"][np.maximum(first + which.head - 1, 0)]
    special = np.where(which.head == 0, len(tags) - 2, len(tags) - 1)
    return np.where(which.head > 0, tag, special), tags


# What stands in the rows of `confusion` and of `worst`.
CONFUSION = ("system", "confusion", "gold", "predicted", "count", "share")
WORST = ("system", "metric", "errors", "scored", "sentence", "place", "sent_id", "text")

# What can be confused: the words' relations and tags, and heads by their gold UPOS.
CONFUSIONS = {
    "deprel": _column("deprel"),
    "upos": _column("upos"),
    "xpos": _column("xpos"),
    "head": _head,
}


def confusion(data: Data, what: str, top: int | None = None) -> list[dict[str, Any]]:
    """The most frequent confusions of each system, most frequent first.

    what: of CONFUSIONS; top: how many a system. Heads that are wrong but have the right tag
    are in, with the same tag on both sides. share: of the scored gold words of that kind, in
    percent. Raises ValueError for a kind that does not exist; FormatError if there is none.
    """
    if what not in CONFUSIONS:
        raise ValueError(f"no confusion of '{what}'; there is one of {', '.join(CONFUSIONS)}")
    words = data.words
    data.require("upos" if what == "head" else what)
    gold, names = CONFUSIONS[what](words, words.gold)
    sizes = np.bincount(gold[data.scored], minlength=len(names))
    rows = []
    for system, correct in zip(words.systems, data.correct, strict=True):
        predicted, _ = CONFUSIONS[what](words, system)
        wrong = data.scored & (~correct["UAS"] if what == "head" else gold != predicted)
        pairs, counts = np.unique(
            gold[wrong].astype(np.int64) * len(names) + predicted[wrong], return_counts=True
        )
        found = [
            (-count, names[pair // len(names)], names[pair % len(names)], pair // len(names))
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
        ]
        for count, of, to, code in sorted(found)[:top]:
            share = 100.0 * -count / int(sizes[code])
            row = (system.name, what, of, to, -count, share)
            rows.append(dict(zip(CONFUSION, row, strict=True)))
    return rows


def worst(data: Data, metric: str, top: int) -> list[dict[str, Any]]:
    """The sentences in which each system is wrong most often, the shorter one first if equal.

    Shorter: with fewer scored words. metric: what has to be right, a metric of words such as LAS.
    text: the sentence's words. Raises ValueError for another metric.
    """
    words = data.words
    if metric not in data.correct[0]:
        raise ValueError(f"no metric '{metric}' of words; there are {', '.join(data.correct[0])}")
    scored = data.counted(metric)
    of = words.sums(scored)
    rows = []
    for system, correct in zip(words.systems, data.correct, strict=True):
        errors = words.sums(scored & ~correct[metric])
        for i in np.lexsort((of, -errors))[:top].tolist():
            if not errors[i]:
                break
            file, line, sent_id = words.places[i]
            span = slice(words.starts[i], words.starts[i + 1])
            text = " ".join(words.values["form"][code] for code in words.gold.code["form"][span])
            place = f"{file}:{line}" if line else ""
            row = (system.name, metric, int(errors[i]), int(of[i]), i + 1, place, sent_id, text)
            rows.append(dict(zip(WORST, row, strict=True)))
    return rows
