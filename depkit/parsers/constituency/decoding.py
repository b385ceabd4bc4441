"""From scores of labelled spans to the best label of every span, in parts that fit in memory."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

MAX_SPANS = 1 << 15  # spans whose labels are scored at once, which limits the memory

# Finds the best labels of spans, and their scores, [spans] each. Its arguments are the sentence in
# the batch, start and end of each span, [3, spans]; whether it is a whole sentence, [spans]; and
# its gold label, [spans], or None.
BestLabels: TypeAlias = Callable[
    [np.ndarray, np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray]
]


def find_best_labels(
    best_labels: BestLabels, words: np.ndarray, gold: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best label of every span of a batch.

    Args:
        best_labels: Finds the best labels of some spans, see `SpanScores.best_labels`.
        words: [batch], the numbers of words.
        gold: [batch, n + 1, n + 1] (start, end), the gold labels, 0 for the empty label. If they
            are given, the scores are augmented by the loss: see `chart.best_labels`.

    Returns:
        The score of the best label, and that label, [batch, n + 1, n + 1] (start, end) each. The
        empty label is forbidden for a whole sentence.
    """
    size = words.max() + 1
    scores = np.zeros((len(words), size, size), dtype=np.float32)
    labels = np.zeros((len(words), size, size), dtype=np.int64)
    for spans in _all_spans(words):
        gold_labels = None if gold is None else gold[tuple(spans)]
        is_root = (spans[1] == 0) & (spans[2] == words[spans[0]])
        scores[tuple(spans)], labels[tuple(spans)] = best_labels(spans, is_root, gold_labels)
    return scores, labels


def _all_spans(words: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all spans of a batch in parts, [3, at most MAX_SPANS] (sentence, start, end)."""
    start, end = np.triu_indices(words.max() + 1, 1)
    row, index = np.nonzero(end <= words[:, None])
    for first in range(0, len(row), MAX_SPANS):
        part = slice(first, first + MAX_SPANS)
        yield np.stack((row[part], start[index[part]], end[index[part]]))
