"""The logarithm of the sum over all trees of exp(the sum of their arc scores), exactly, in O(n^3).

By the matrix-tree theorem (Tutte 1984; Koo et al. 2007) the sum is a determinant. It is computed as
in `trees.marginals`: words are eliminated from the random walk without any subtraction, and the
determinant is the product, over the words, of the total weight of the arcs that the word has when
it is eliminated. With a single root, the arcs from the root have infinitely small weights; their
weight counts only for the last word. All weights are represented by their logarithms, so scores
of any range are exact.
"""

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.compiled import compiled
from depkit.trees.decode import as_length_array, as_score_array


def log_partition(scores: ArrayLike, lengths: ArrayLike, single_root: bool = True) -> np.ndarray:
    """Compute log sum over all trees of exp(sum of the arc scores), for each sentence.

    Args:
        scores: [batch, n_max + 1, n_max + 1] (dependent, head); column 0 is the artificial root.
            Row 0, the diagonal and the padding are ignored, -inf forbids an arc.
        lengths: [batch] int, the number of words of each sentence.
        single_root: Whether only trees with exactly one child of the root are counted.

    Returns:
        [batch] float64; -inf where the forbidden arcs leave no tree, 0 for no words, and NaN where
        a score is NaN or +inf.

    Raises:
        ValueError: As by `decode.decode`, for wrong shapes and types.
    """
    score = as_score_array(scores)
    length = as_length_array(lengths, score)
    result = np.zeros(len(score))
    for index, n in enumerate(length.tolist()):
        arcs = np.empty((n, n + 1))
        arcs[:, :n] = score[index, 1 : n + 1, 1 : n + 1]
        arcs[:, n] = score[index, 1 : n + 1, 0]
        np.fill_diagonal(arcs, -np.inf)
        result[index] = log_tree_sum(arcs, bool(single_root)) if (arcs < np.inf).all() else np.nan
    return result


@compiled
def log_tree_sum(arcs: np.ndarray, single_root: bool) -> float:
    """Compute the `log_partition` of one sentence of n words.

    arcs: [n, n + 1] float64 (dependent, head) with the root in the last column; overwritten.
    """
    n = len(arcs)
    left = np.arange(n)  # the words that are left, in the first `count` entries
    result = 0.0
    for count in range(n, 0, -1):
        # With a single root, a word without arcs to other words must be the last one.
        index, total = 0, -np.inf
        while index < count and total == -np.inf:
            word = left[index]
            total = arcs[word, n] if count == 1 or not single_root else -np.inf
            for j in range(count):
                if j != index:
                    total = log_add(total, arcs[word, left[j]])
            index += 1
        if total == -np.inf:
            return -np.inf
        result += total
        word = left[index - 1]
        left[index - 1] = left[count - 1]
        # Paths through the eliminated word become arcs.
        for i in range(count - 1):
            dependent = left[i]
            weight = arcs[dependent, word] - total
            if weight > -np.inf:
                for j in range(count - 1):
                    if j != i:
                        arcs[dependent, left[j]] = log_add(
                            arcs[dependent, left[j]], weight + arcs[word, left[j]]
                        )
                arcs[dependent, n] = log_add(arcs[dependent, n], weight + arcs[word, n])
    return result


@compiled
def log_add(x: float, y: float) -> float:
    """Compute log(exp(x) + exp(y)) for numbers below +inf."""
    high, low = max(x, y), min(x, y)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))
