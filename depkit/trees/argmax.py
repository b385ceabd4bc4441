"""The best head of every word by itself, which is often a tree already."""

import numpy as np

from depkit.trees.compiled import compiled


@compiled
def are_scores(score: np.ndarray) -> bool:
    """Whether no arc score is NaN or +inf; the diagonal and row 0 are no arcs.

    score: [n + 1, n + 1] (dependent, head).
    """
    for dependent in range(1, len(score)):
        before, after = score[dependent, :dependent], score[dependent, dependent + 1 :]
        # Put this way round, NaN fails it too.
        if not before.max() < np.inf or (after.size and not after.max() < np.inf):
            return False
    return True


@are_scores.as_arrays
def are_scores_at_once(score: np.ndarray) -> bool:
    """The same, for the interpreter."""
    good = score[1:] < np.inf
    words = np.arange(len(good))
    good[words, words + 1] = True
    return bool(good.all())


@compiled
def best_heads(score: np.ndarray, head: np.ndarray) -> bool:
    """Write each word's best head, the lowest of equals, never the word itself. O(n^2).

    score: [n + 1, n + 1] (dependent, head). head: [n], written. Returns whether every word has
    a head that is not forbidden (-inf).
    """
    for dependent in range(1, len(score)):
        row = score[dependent]
        best = row[:dependent].argmax()
        if dependent + 1 < row.size:
            after = dependent + 1 + row[dependent + 1 :].argmax()
            if row[after] > row[best]:
                best = after
        if row[best] == -np.inf:
            return False
        head[dependent - 1] = best
    return True


@best_heads.as_arrays
def best_heads_at_once(score: np.ndarray, head: np.ndarray) -> bool:
    """The same, for the interpreter."""
    arcs = score[1:].copy()
    words = np.arange(len(arcs))
    arcs[words, words + 1] = -np.inf
    head[:] = arcs.argmax(1)
    return bool((arcs[words, head] > -np.inf).all())
