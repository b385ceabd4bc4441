"""The best head of every word, chosen independently; these heads often form a tree already.

Each function stands here twice, as loops and as operations on arrays: numba compiles loops in a
tenth of the time, and only array operations are fast without numba.
"""

import numpy as np

from depkit.trees.compiled import compiled


@compiled
def has_valid_scores(score: np.ndarray) -> bool:
    """Whether no arc score is NaN or +inf; row 0 and the diagonal are not checked.

    score: [n + 1, n + 1] (dependent, head).
    """
    for word in range(1, len(score)):
        for head in range(len(score)):
            # False for NaN, unlike a test for values >= inf
            if head != word and not score[word, head] < np.inf:
                return False
    return True


@has_valid_scores.interpret_as
def has_valid_scores_vectorized(score: np.ndarray) -> bool:
    """Do the same as `has_valid_scores`."""
    valid = score[1:] < np.inf
    np.fill_diagonal(valid[:, 1:], True)
    return bool(valid.all())


@compiled
def find_best_heads(score: np.ndarray, head: np.ndarray) -> bool:
    """Write each word's best head, the lowest one in a tie, never the word itself. O(n^2).

    score: [n + 1, n + 1] (dependent, head). head: [n], overwritten. Returns whether every word
    has a head that is not forbidden (-inf).
    """
    for i in range(head.size):
        best, best_score = -1, -np.inf
        for j in range(head.size + 1):
            if j != i + 1 and score[i + 1, j] > best_score:
                best, best_score = j, score[i + 1, j]
        if best == -1:
            return False
        head[i] = best
    return True


@find_best_heads.interpret_as
def find_best_heads_vectorized(score: np.ndarray, head: np.ndarray) -> bool:
    """Do the same as `find_best_heads`."""
    arcs = score[1:].copy()
    np.fill_diagonal(arcs[:, 1:], -np.inf)
    head[:] = arcs.argmax(1)
    return bool((arcs[np.arange(head.size), head] > -np.inf).all())
