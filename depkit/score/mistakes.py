"""The most frequent confusions of tags, relations and heads, and the sentences with most errors."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from depkit.score.attachment import Data
from depkit.score.evaluators import Trees, find_evaluator
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


MATRIX_SIZE = 15  # values in a matrix of confusions
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
    `share` is the percentage of the counted words with the gold value that have the predicted
    value. Tags are counted in all words, relations and heads in the words that `punct` does not
    leave out.

    Raises ValueError if `kind` is not one of CONFUSIONS, and FormatError if the gold file has
    nothing but `_` in the column.
    """
    return [
        dict(zip(CONFUSION_COLUMNS, (system, kind, *confusion), strict=True))
        for system, confusions in _confusions(data, kind)
        for confusion in confusions[:top]
    ]


def _confusions(data: Data, kind: str) -> Iterator[tuple[str, list[tuple[str, str, int, float]]]]:
    """Yield the name of each system, and its confusions: gold, predicted, count and share."""
    if kind not in CONFUSIONS:
        raise ValueError(f"there is no confusion of '{kind}'; choose from {', '.join(CONFUSIONS)}")
    words = data.words
    data.require_column("upos" if kind == "head" else kind)
    gold, names = CONFUSIONS[kind](words, words.gold)
    counted = data.words_to_count(kind.upper())  # all words for the metrics UPOS and XPOS
    sizes = np.bincount(gold[counted], minlength=len(names))
    for system, correct in zip(words.systems, data.correct, strict=True):
        predicted, _ = CONFUSIONS[kind](words, system)
        wrong = counted & (~correct["UAS"] if kind == "head" else gold != predicted)
        pairs, counts = np.unique(
            gold[wrong].astype(np.int64) * len(names) + predicted[wrong], return_counts=True
        )
        confusions = sorted(
            (-count, names[pair // len(names)], names[pair % len(names)], pair // len(names))
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
        )
        yield (
            system.name,
            [
                (gold_name, predicted_name, -count, 100.0 * -count / int(sizes[code]))
                for count, gold_name, predicted_name, code in confusions
            ],
        )


@dataclass(frozen=True, eq=False)
class Confusion:
    """The confusions of a system as a matrix, without words that are correct.

    kind: what is confused; names: the values with the most confusions, the most frequent first;
    counts: [gold, predicted], the numbers of words; shown: how many of all confusions these are;
    choices: the settings for the signature.
    """

    system: str
    kind: str
    names: list[str]
    counts: np.ndarray
    shown: tuple[int, int]
    choices: tuple[tuple[str, str], ...]


def confusion_matrices(data: Data, kind: str) -> list[Confusion]:
    """Return the matrix of each system, of the MATRIX_SIZE values that are confused most often.

    The errors are those of `confusion_rows`.
    """
    matrices = []
    for system, confusions in _confusions(data, kind):
        totals: Counter[str] = Counter()
        for gold, predicted, count, _ in confusions:
            totals.update(dict.fromkeys((gold, predicted), count))
        index = {name: i for i, (name, _) in enumerate(totals.most_common(MATRIX_SIZE))}
        counts = np.zeros((len(index), len(index)), dtype=np.int64)
        for gold, predicted, count, _ in confusions:
            if gold in index and predicted in index:
                counts[index[gold], index[predicted]] = count
        shown = int(counts.sum()), sum(count for _, _, count, _ in confusions)
        matrices.append(Confusion(system, kind, list(index), counts, shown, data.choices))
    return matrices


def confusion(
    gold: Trees,
    *preds: Trees,
    what: str = "deprel",
    top: int | None = None,
    punct: str = "keep",
    subtypes: str = "keep",
    encoding: str = "utf-8",
) -> list[dict[str, Any]]:
    """List what systems confuse, the most frequent first, as `depkit analyze --confusion` does.

    >>> import depkit
    >>> gold = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> for row in depkit.confusion(gold, gold.with_tree([0, 1], ["root", "nsubj"])):
    ...     print(row["gold"], row["predicted"], row["count"], row["share"])
    obj nsubj 1 100.0

    Args:
        gold: A path or sentences.
        preds: For each system, a path or sentences.
        what: "deprel", "upos", "xpos", or "head", for the tags of wrong heads.
        top: How many confusions of each system to list; None for all.
        punct: The punctuation policy, as for `evaluate`; it does not affect tags.
        subtypes: "keep", or "drop" to cut relations at their first `:`.
        encoding: The encoding of the files.

    Raises:
        ValueError: There is no system, or no such confusion.
        ArgumentError, FormatError, OSError: As `evaluate`.
    """
    if not preds:
        raise ValueError("confusion needs the trees of at least one system, after the gold trees")
    options: dict[str, Any] = {"punct": punct, "subtypes": subtypes, "encoding": encoding}
    evaluator = find_evaluator([gold, *preds], **options)
    evaluator.refuse(confusion=what)
    found = _confusions(evaluator.read(gold, preds), what)
    return [
        dict(zip(CONFUSION_COLUMNS, (name or f"system {number}", what, *row), strict=True))
        for number, (name, rows) in enumerate(found, start=1)
        for row in rows[:top]
    ]


def worst_sentence_rows(data: Data, metric: str, top: int) -> list[dict[str, Any]]:
    """List the sentences in which each system makes most errors, starting with the worst.

    Of two sentences with the same number of errors, the one with fewer scored words comes first.

    data: read with the column "form"; metric: one of single words; top: how many sentences of each
    system to list. Raises FormatError if the metric is of a column that has nothing but `_`.
    """
    words = data.words
    data.require_metric(metric)
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
