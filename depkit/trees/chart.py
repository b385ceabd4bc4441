"""The best constituency tree by the scores of its spans: CKY in O(n^3) time and O(n^2) space.

The chart decoder of Stern, Andreas and Klein (2017, "A minimal span-based neural constituency
parser") and Kitaev and Klein (2018, section 2.1). The score of a tree is the sum of the scores of
its spans. The tree is binary; the empty label, with the index 0 and the score 0, stands for nodes
that exist only to make a tree binary, so that the best binary tree is also the best n-ary tree.

A span from i to j contains the words i, ..., j - 1. The score of a span does not depend on the
labels of other spans, so the best label of each span is chosen before decoding, and no array here
has a dimension of labels except in `best_labels`.
"""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.compiled import compiled
from depkit.trees.projective import argmax_sum, max_sum

# Applies a function to every item, for example `map` or `ThreadPoolExecutor.map`.
Map = Callable[[Callable[[int], float], Iterable[int]], Iterable[float]]


def decode_spans(
    scores: ArrayLike, lengths: ArrayLike, map_sentences: Map = map
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best binary tree of each sentence in a batch, exactly.

    Args:
        scores: [batch, n_max + 1, n_max + 1] (start, end) of float32 or float64, the score of each
            span with its best label. The label of the whole sentence must not be empty, so the
            score of that span must be the best one among the other labels. Only spans with
            start < end within the sentence are read; -inf forbids a span.
        lengths: [batch] int, the number of words of each sentence, at least 1.
        map_sentences: Applies a function to sentences, which may run in several threads, because
            the compiled code does not hold the GIL.

    Returns:
        The spans of the trees, [batch, 2 n_max - 1, 2] int32 (start, end). A sentence of n words
        has 2n - 1 spans, parents before their children and from left to right; padding is 0. And
        the scores of the trees, [batch] float64.

    Raises:
        ValueError: A shape or a length is invalid, a score is NaN or +inf, or the forbidden spans
            leave no tree. For scores, the message names the index of the sentence.
    """
    score, length = np.asarray(scores), np.asarray(lengths)
    if score.ndim != 3 or score.shape[1] != score.shape[2] or score.shape[1] < 2:
        raise ValueError(
            f"the scores have shape {score.shape}; it must be [batch, n_max + 1, n_max + 1]"
        )
    if score.dtype not in (np.float32, np.float64):
        raise ValueError(f"the scores are of type {score.dtype}, not float32 or float64")
    if length.shape != score.shape[:1]:
        raise ValueError(f"the lengths have shape {length.shape} for a batch of {len(score)}")
    if ((length < 1) | (length >= score.shape[1])).any():
        raise ValueError(f"a length is not within 1..{score.shape[1] - 1}")
    spans = np.zeros((len(score), 2 * score.shape[1] - 3, 2), np.int32)
    decode_sentence = partial(_decode_sentence, np.ascontiguousarray(score), length, spans)
    totals = np.fromiter(map_sentences(decode_sentence, range(len(score))), float, len(score))
    for index in np.flatnonzero(~np.isfinite(totals)):
        reason = "a score is NaN or +inf" if np.isnan(totals[index]) else "there is no tree"
        raise ValueError(f"sentence {index}: {reason}")
    return spans, totals


def _decode_sentence(score: np.ndarray, length: np.ndarray, spans: np.ndarray, index: int) -> float:
    """Write the spans of a sentence's best tree and return its score; see `decode_spans`."""
    n = int(length[index])
    return find_best_binary_tree(score[index, : n + 1, : n + 1], spans[index, : 2 * n - 1])


@compiled
def find_best_binary_tree(score: np.ndarray, spans: np.ndarray) -> float:
    """Write the spans of the best binary tree and return its score.

    The function computes in float64 and needs 16 (n + 1)^2 bytes.

    Args:
        score: [n + 1, n + 1] (start, end), the score of each span with its best label, n >= 1.
        spans: [2n - 1, 2], overwritten with (start, end), parents before their children and from
            left to right; if several trees are best, with one of them.

    Returns:
        The score of the tree; -inf if there is no tree, NaN if a score is NaN or +inf.
    """
    n = len(score) - 1
    # The best scores of the trees over each span, [start, end] and [end, start]. With both arrays,
    # the inner loops run along rows.
    best = np.full((n + 1, n + 1), -np.inf)
    by_end = np.full((n + 1, n + 1), -np.inf)
    for end in range(1, n + 1):
        for start in range(end - 1, -1, -1):
            value = float(score[start, end])
            if not value < np.inf:
                return np.nan
            if end - start > 1:
                value += max_sum(best[start, start + 1 : end], by_end[end, start + 1 : end])
            best[start, end] = by_end[end, start] = value
    if best[0, n] == -np.inf:
        return -np.inf
    # There are no back pointers: the best splits of the 2n - 1 spans are computed a second time.
    pending = [(0, n)]
    index = 0
    while pending:
        start, end = pending.pop()
        spans[index, 0] = start
        spans[index, 1] = end
        index += 1
        if end - start > 1:
            split = start + 1
            split += argmax_sum(best[start, split:end], by_end[end, split:end])
            pending.append((split, end))
            pending.append((start, split))
    return float(best[0, n])


def best_labels(
    scores: np.ndarray, gold: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the best label of every span of a sentence, for decoding with `decode_spans`.

    With gold labels, the scores are augmented by the Hamming loss on labelled spans: the tree with
    the best augmented score is the one that violates the margin most (Kitaev and Klein, 2018). As a
    binary tree has 2n - 1 nodes whatever its shape, subtracting 1 from the gold label of each span
    has the same effect as adding 1 to each other label, except for a constant.

    Args:
        scores: [n + 1, n + 1, label] (start, end), floats; label 0 is the empty label.
        gold: [n + 1, n + 1] int, the label of each span in the gold tree, 0 for spans that it does
            not have.

    Returns:
        The augmented score of the best label of each span, and that label: [n + 1, n + 1] each. The
        empty label is forbidden for the whole sentence.
    """
    augmented = np.array(scores)
    if gold is not None:
        rows, columns = np.indices(gold.shape)
        augmented[rows, columns, gold] -= 1
    augmented[0, -1, 0] = -np.inf
    return augmented.max(axis=2), augmented.argmax(axis=2)
