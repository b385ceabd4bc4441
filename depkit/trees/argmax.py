"""The best head of every word by itself, which is often a tree already."""

import numpy as np

from depkit.trees.compiled import compiled


@compiled
def are_scores(score: np.ndarray) -> bool:
    """Whether no arc score is NaN or +inf; the diagonal and row 0 are no arcs.

    score: [n + 1, n + 1] (dependent, head).
    """
    for dependent in range(1, len(score)):
        for head in range(len(score)):
            # Put this way round, NaN fails it too.
            if not score[dependent, head] < np.inf and head != dependent:
                return False
    return True


@compiled
def best_heads(score: np.ndarray, head: np.ndarray) -> bool:
    """Write each word's best head, the lowest of equals, never the word itself. O(n^2).

    score: [n + 1, n + 1] (dependent, head). head: [n], written. Returns whether every word has
    a head that is not forbidden (-inf).
    """
    for dependent in range(1, len(score)):
        best, best_score = -1, -np.inf
        for candidate in range(len(score)):
            value = score[dependent, candidate]
            if value > best_score and candidate != dependent:
                best, best_score = candidate, value
        if best < 0:
            return False
        head[dependent - 1] = best
    return True
