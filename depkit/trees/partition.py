"""The logarithm of the sum over all trees of exp(the sum of their arc scores), exactly, in O(n^3).

By the matrix-tree theorem (Tutte 1984; Koo et al. 2007) the sum is a determinant. It is computed as
in `trees.marginals`: words are eliminated from the random walk without any subtraction, and the
determinant is the product, over the words, of the total weight of the arcs that the word has when
it is eliminated. With a single root, the arcs from the root have infinitely small weights; their
weight counts only for the last word. All weights are represented by their logarithms, so scores
of any range are exact.

The gradient of the logarithm by the scores is the marginal probability of each arc. It is computed
by reversing the elimination: step by step, the derivative by the weights of the words that are left
gives that by all weights before the step, in O(n^3) time and O(n^2) space.
"""

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.compiled import compiled
from depkit.trees.decode import as_length_array, as_score_array
from depkit.trees.marginals import SAFE_RANGE, batch_marginals, log_weights


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


def log_partition_and_marginals(
    scores: ArrayLike, lengths: ArrayLike, single_root: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the `log_partition`, and its gradient, which consists of the marginals of arcs.

    The arguments and errors are those of `log_partition`.

    Returns:
        [batch] float64; and float64 in the shape of the scores, 0 where these are ignored, and for
        sentences without a tree or with an invalid score. Absolute errors are those of rounding;
        `marginals.batch_marginals` is exact also for small probabilities, but slower.
    """
    score = as_score_array(scores)
    length = as_length_array(lengths, score)
    total = log_partition(score, length, single_root)
    marginals = np.zeros(score.shape)
    for index, n in enumerate(length.tolist()):
        if n == 0 or not np.isfinite(total[index]):
            continue
        arcs = log_weights(score[index].astype(np.float64), n, single_root)
        if (arcs[arcs > -np.inf] > -SAFE_RANGE).all():
            weight = np.exp(arcs)
            slope = np.zeros((n, n + 1))
            tree_sum_gradient(weight.copy(), bool(single_root), slope)
            probability = weight * slope
            marginals[index, 1 : n + 1, 0] = probability[:, n]
            marginals[index, 1 : n + 1, 1 : n + 1] = probability[:, :n]
        else:
            marginals[index] = batch_marginals(score[index][None], [n], single_root)[0]
    return total, marginals.clip(0.0, 1.0)


@compiled
def tree_sum_gradient(weight: np.ndarray, single_root: bool, slope: np.ndarray) -> None:
    """Compute the gradient of the logarithm of the sum over all trees by the weights of arcs.

    weight: [n, n + 1] (dependent, head) with the root in the last column, 0 for a forbidden arc;
    overwritten. There must be a tree. slope: [n, n + 1], zeros, overwritten with the gradient. An
    entry of a forbidden arc is arbitrary.
    """
    n = len(weight)
    left = np.arange(n)  # the words that are left, then those that are eliminated, the first last
    totals = np.empty(n)  # [count of the words that are left]
    for count in range(n, 1, -1):
        index, total = -1, 0.0
        while total == 0.0:
            index += 1
            word = left[index]
            total = 0.0 if single_root else weight[word, n]
            for j in range(count):
                if j != index:
                    total += weight[word, left[j]]
        left[index], left[count - 1] = left[count - 1], word
        totals[count - 1] = total
        weight[word, n] /= total
        for j in range(count - 1):
            weight[word, left[j]] /= total
        for i in range(count - 1):
            row = left[i]
            for j in range(count - 1):
                if j != i:
                    weight[row, left[j]] += weight[row, word] * weight[word, left[j]]
            weight[row, n] += weight[row, word] * weight[word, n]
    slope[left[0], n] = 1.0 / weight[left[0], n]
    for count in range(1, n):
        # Before this word was eliminated, `count` other words were left.
        word, total = left[count], totals[count]
        used = 0.0
        for i in range(count):
            row = left[i]
            slope[row, word] = slope[row, n] * weight[word, n]
            slope[word, n] += slope[row, n] * weight[row, word]
            for j in range(count):
                if j != i:
                    slope[row, word] += slope[row, left[j]] * weight[word, left[j]]
                    slope[word, left[j]] += slope[row, left[j]] * weight[row, word]
        for j in range(count):
            used += slope[word, left[j]] * weight[word, left[j]]
        used += slope[word, n] * weight[word, n]
        for j in range(count):
            slope[word, left[j]] = (slope[word, left[j]] + 1.0 - used) / total
        slope[word, n] = (slope[word, n] + (0.0 if single_root else 1.0 - used)) / total


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
