"""The most frequent confusions of tags, relations and heads, and the sentences with most errors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from depkit.score.attachment import Data
from depkit.score.words import Comparison, Words

CodesAndNames = tuple[np.ndarray, list[str]]  # [word] integer codes, and the name of each code


def _column(name: str) -> Callable[[Comparison, Words], CodesAndNames]:
    return lambda comparison, words: (words.codes[name], comparison.values[name])


def _head_tags(comparison: Comparison, words: Words) -> CodesAndNames:
    """Return the gold UPOS of each word's head."""
    tags = [*comparison.values["upos"], "ROOT", "none"]
    first = comparison.starts[:-1][comparison.sentence_index]
    tag = comparison.gold.codes["upos"][np.maximum(first + words.head - 1, 0)]
    special = np.where(words.head == 0, len(tags) - 2, len(tags) - 1)
    return np.where(words.head > 0, tag, special), tags


# The keys of the rows of `confusion_rows` and of `worst_sentence_rows`.
CONFUSION_COLUMNS = ("system", "confusion", "gold", "predicted", "count", "share")
WORST_COLUMNS = ("system", "metric", "errors", "scored", "sentence", "place", "sent_id", "text")

# What can be confused: relations, tags, and heads, which are represented by their gold UPOS.
CONFUSIONS = {
    "deprel": _column("deprel"),
    "upos": _column("upos"),
    "xpos": _column("xpos"),
    "head": _head_tags,
}


def confusion_rows(data: Data, kind: str, top: int | None = None) -> list[dict[str, Any]]:
    """List the confusions of each system, the most frequent first; top: how many, None for all.

    A wrong head that has the same tag as the correct one is a confusion of the tag with itself.
    `share` is the percentage of the scored words with the gold value that have the predicted value.

    Raises ValueError if `kind` is not one of CONFUSIONS, and FormatError if the gold file has
    nothing but `_` in the column.
    """
    if kind not in CONFUSIONS:
        raise ValueError(f"there is no confusion of '{kind}'; choose from {', '.join(CONFUSIONS)}")
    words = data.words
    data.require_column("upos" if kind == "head" else kind)
    gold, names = CONFUSIONS[kind](words, words.gold)
    sizes = np.bincount(gold[data.scored], minlength=len(names))
    rows = []
    for system, correct in zip(words.systems, data.correct, strict=True):
        predicted, _ = CONFUSIONS[kind](words, system)
        wrong = data.scored & (~correct["UAS"] if kind == "head" else gold != predicted)
        pairs, counts = np.unique(
            gold[wrong].astype(np.int64) * len(names) + predicted[wrong], return_counts=True
        )
        confusions = [
            (-count, names[pair // len(names)], names[pair % len(names)], pair // len(names))
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
        ]
        for negative_count, gold_name, predicted_name, code in sorted(confusions)[:top]:
            count = -negative_count
            share = 100.0 * count / int(sizes[code])
            row = (system.name, kind, gold_name, predicted_name, count, share)
            rows.append(dict(zip(CONFUSION_COLUMNS, row, strict=True)))
    return rows


def worst_sentence_rows(data: Data, metric: str, top: int) -> list[dict[str, Any]]:
    """List the sentences in which each system makes most errors, starting with the worst.

    Of two sentences with the same number of errors, the one with fewer scored words comes first.

    data: read with the column "form"; metric: one of single words, else ValueError is raised; top:
    how many sentences of each system to list.
    """
    words = data.words
    if metric not in data.correct[0]:
        raise ValueError(
            f"there is no metric '{metric}' of single words; there are {', '.join(data.correct[0])}"
        )
    scored = data.words_to_count(metric)
    sizes = words.sum_by_sentence(scored)
    rows = []
    for system, correct in zip(words.systems, data.correct, strict=True):
        errors = words.sum_by_sentence(scored & ~correct[metric])
        for i in np.lexsort((sizes, -errors))[:top].tolist():
            if not errors[i]:
                break
            file, line, sent_id = words.locations[i]
            span = slice(words.starts[i], words.starts[i + 1])
            text = " ".join(words.values["form"][code] for code in words.gold.codes["form"][span])
            location = f"{file}:{line}" if line else ""
            row = (
                system.name, metric, int(errors[i]), int(sizes[i]), i + 1, location, sent_id, text,
            )  # fmt: skip
            rows.append(dict(zip(WORST_COLUMNS, row, strict=True)))
    return rows
