"""The best head of every word, chosen independently; these heads often form a tree already."""

import numpy as np

from depkit.trees.compiled import compiled


@compiled
def has_valid_scores(score: np.ndarray) -> bool:
    """Whether no arc score is NaN or +inf; row 0 and the diagonal are not checked.

    score: [n + 1, n + 1] (dependent, head).
    """
    valid = score[1:] < np.inf  # False for NaN, unlike a test for values >= inf
    np.fill_diagonal(valid[:, 1:], True)
    return bool(valid.all())


@compiled
def find_best_heads(score: np.ndarray, head: np.ndarray) -> bool:
    """Write each word's best head, the lowest one in a tie, never the word itself. O(n^2).

    score: [n + 1, n + 1] (dependent, head). head: [n], overwritten. Returns whether every word
    has a head that is not forbidden (-inf).
    """
    arcs = score[1:].copy()
    np.fill_diagonal(arcs[:, 1:], -np.inf)
    head[:] = arcs.argmax(1)
    for i in range(head.size):
        if arcs[i, head[i]] == -np.inf:
            return False
    return True
