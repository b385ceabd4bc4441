"""The best head of every word by itself, which is often a tree already."""

import numpy as np

from depkit.trees.compiled import compiled


@compiled
def are_scores(score: np.ndarray) -> bool:
    """Whether no arc score is NaN or +inf; the diagonal and row 0 are no arcs.

    score: [n + 1, n + 1] (dependent, head).
    """
    good = score[1:] < np.inf  # put this way round, NaN fails it too
    np.fill_diagonal(good[:, 1:], True)
    return bool(good.all())


@compiled
def best_heads(score: np.ndarray, head: np.ndarray) -> bool:
    """Write each word's best head, the lowest of equals, never the word itself. O(n^2).

    score: [n + 1, n + 1] (dependent, head). head: [n], written. Returns whether every word has
    a head that is not forbidden (-inf).
    """
    arcs = score[1:].copy()
    np.fill_diagonal(arcs[:, 1:], -np.inf)
    head[:] = arcs.argmax(1)
    for i in range(head.size):
        if arcs[i, head[i]] == -np.inf:
            return False
    return True
