"""Exact arc probabilities over all trees, projective or not, in O(n^3).

The probability of a tree is proportional to exp(the sum of its arc scores). By the matrix-tree
theorem (Tutte 1984) the sum over all trees is a determinant, and the arc probabilities follow from
the inverse matrix (Koo et al. 2007; McDonald and Satta 2007; Smith and Smith 2007). Those formulas
subtract nearly equal numbers where scores are sharp. This module computes the same values without
any subtraction, so every probability, however small, is correct in nearly all its digits.

Consider a random walk from word to head that takes each arc with a probability proportional to its
weight, exp(score). The first visits of such walks form a tree drawn from the distribution (Wilson
1996). Hence P(head of i is j) is, over j, proportional to

    weight(i, j) * escape(j, i)

where escape(j, i) is the probability that a walk from j reaches the root without visiting i. It is,
up to a factor, element (i, i) minus element (j, i) of the inverse matrix.
Eliminating a word from the walk (Grassmann, Taksar and Heyman 1985) changes no escape probability
between the other words, and it only adds and multiplies positive numbers. To compute the escapes
within one half of the words, the recursion eliminates the other half.

With a single root, the arcs from the root have infinitely small weights: the walk continues among
the words, and an escape is the expected weight of the root arcs that it passes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.decode import (
    DECODED,
    INVALID_SCORES,
    NO_TREE,
    as_length_array,
    as_score_array,
    raise_first_failure,
)

SAFE_RANGE = 300.0  # products of two weights within e^+-300 neither underflow nor overflow
ARCS_PER_PASS = 1 << 16  # of sentences of the same length, few enough to fit into the CPU's cache


class Arithmetic(NamedTuple):
    """The operations on positive numbers, which may be represented by their logarithms."""

    add: np.ufunc
    multiply: np.ufunc
    divide: np.ufunc
    zero: float


LINEAR = Arithmetic(np.add, np.multiply, np.divide, 0.0)
LOGARITHMIC = Arithmetic(np.logaddexp, np.add, np.subtract, -np.inf)  # slower, for any range


def batch_marginals(scores: ArrayLike, lengths: ArrayLike, single_root: bool = True) -> np.ndarray:
    """Compute the probability of every arc under P(tree) ~ exp(sum of its arc scores), exactly.

    Args:
        scores: [batch, n_max + 1, n_max + 1] (dependent, head); column 0 is the artificial root.
            Row 0, the diagonal and the padding are ignored, -inf forbids an arc.
        lengths: [batch] int, the number of words of each sentence.
        single_root: Whether only trees with exactly one child of the root are possible.

    Returns:
        float64 in the shape of the scores: P(head of i is j) at [sentence, i, j], 0 where the
        scores are ignored. The row of every word sums to 1 up to rounding, and every value is
        between 0 and 1 without clipping.

    Raises:
        ValueError: As by `decode`, for wrong shapes, a score of NaN or +inf, or if the forbidden
            arcs leave no tree.
    """
    score = as_score_array(scores)
    length = as_length_array(lengths, score)
    arcs = [log_weights(matrix, n, single_root) for matrix, n in zip(score, length, strict=True)]
    check_trees_exist(arcs, single_root)
    probability = np.zeros(score.shape)
    safe = np.array([is_in_safe_range(weights) for weights in arcs], np.bool_)
    for n in np.unique(length[safe]):
        group = np.flatnonzero(safe & (length == n))
        count = max(1, ARCS_PER_PASS // (n + 1) ** 2)
        for indices in np.split(group, range(count, len(group), count)):
            weight = np.exp([arcs[index] for index in indices])
            terms = arc_terms(weight, escapes(weight, single_root, LINEAR), LINEAR)
            probability[indices, 1 : n + 1, : n + 1] = terms / terms.sum(axis=2, keepdims=True)
    for index in np.flatnonzero(~safe):
        n = length[index]
        terms = log_arc_terms(arcs[index], single_root)
        terms = np.exp(terms - terms.max(axis=1, keepdims=True))
        probability[index, 1 : n + 1, : n + 1] = terms / terms.sum(axis=1, keepdims=True)
    return probability


def log_weights(score: np.ndarray, n: int, single_root: bool) -> np.ndarray:
    """Shift arc scores so that they are at most 0, without changing the distribution.

    A constant can be subtracted from a whole row. With a single root it can also be subtracted
    from the root's column; the column is shifted first, so that a large constant in it costs no
    precision.

    score: [>= n + 1, >= n + 1] (dependent, head). Returns [n, n + 1] float64 (dependent, head),
    with the root in the last column and -inf on the diagonal.
    """
    arcs = np.empty((n, n + 1))
    arcs[:, :n] = score[1 : n + 1, 1 : n + 1]
    arcs[:, n] = score[1 : n + 1, 0]
    np.fill_diagonal(arcs, -np.inf)
    if n == 0 or not (arcs < np.inf).all():
        return arcs
    if single_root:
        subtract_row_maxima(arcs[None, :, n])
    subtract_row_maxima(arcs)
    return arcs


def subtract_row_maxima(rows: np.ndarray) -> None:
    """Subtract each row's maximum from the row, in place, unless it is -inf."""
    best = rows.max(axis=1, keepdims=True)
    best[best == -np.inf] = 0.0
    rows -= best


def is_in_safe_range(arcs: np.ndarray) -> bool:
    """Whether linear arithmetic is exact enough: no arc is forbidden or scored far below others.

    arcs: [n, n + 1] from `log_weights`.
    """
    return np.count_nonzero(arcs > -SAFE_RANGE) == len(arcs) ** 2


def check_trees_exist(arcs: list[np.ndarray], single_root: bool) -> None:
    """Raise the ValueError of `decode` for the first sentence with invalid scores or no tree."""
    outcome = np.full(len(arcs), DECODED, np.int8)
    for index, weights in enumerate(arcs):
        if not (weights < np.inf).all():  # also for NaN, unlike a test for >= inf
            outcome[index] = INVALID_SCORES
        elif not is_in_safe_range(weights) and not core_words(weights, single_root).any():
            outcome[index] = NO_TREE
    raise_first_failure(outcome, "mst", single_root)


def core_words(arcs: np.ndarray, single_root: bool) -> np.ndarray:
    """Return a mask of the core, [n] bool: the words that walks from all words can reach.

    These walks do not pass the root. Without a single root, the core is all words. In both cases
    the core is empty if there is no tree. All words outside the core descend from it, and no word
    of the core descends from a word outside.
    """
    n = len(arcs)
    arc = np.eye(n + 1, dtype=np.bool_)  # [dependent, head], the root last
    arc[:n] |= arcs > -np.inf
    if single_root:
        core = np.asarray(reachability(arc[:n, :n]).all(axis=0))
        return core if arc[:n, n][core].any() else np.zeros(n, np.bool_)
    return np.full(n, reachability(arc)[:, n].all())


def reachability(arc: np.ndarray) -> np.ndarray:
    """Compute the transitive closure of arcs, [node, node] bool with a true diagonal."""
    while True:
        closure = arc.astype(np.float32) @ arc.astype(np.float32) > 0
        if np.array_equal(closure, arc):
            return arc
        arc = closure


def split_at_core(arcs: np.ndarray, core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split the arcs into those within the core and the root, and those into the other words.

    In the second part, the core as a whole takes the root's column.
    """
    n = len(arcs)
    inner = arcs[np.ix_(core, np.append(core, True))]
    outer = np.empty((n - len(inner), n - len(inner) + 1))
    outer[:, :-1] = arcs[~core, :n][:, ~core]
    outer[:, -1] = np.logaddexp.reduce(arcs[~core, :n][:, core], axis=1)
    return inner, outer


def log_arc_terms(arcs: np.ndarray, single_root: bool) -> np.ndarray:
    """Compute log `arc_terms` of one sentence, for any range of scores and any forbidden arcs.

    With a single root, a walk never leaves the core for the other words, so a walk that reaches
    the core has escaped all of them. Compared with this, the arcs from the root to words outside
    the core weigh infinitely little and get no weight.
    """
    core = core_words(arcs, single_root)
    inner, outer = split_at_core(arcs, core)
    escape = np.full((len(arcs), len(arcs)), -np.inf)
    escape[np.ix_(core, core)] = escapes(inner[None], single_root, LOGARITHMIC)[0]
    if not core.all():
        escape[np.ix_(~core, ~core)] = escapes(outer[None], False, LOGARITHMIC)[0]
        escape[np.ix_(core, ~core)] = 0.0
    terms = arc_terms(arcs[None], escape[None], LOGARITHMIC)[0]
    if single_root:
        terms[~core, 0] = -np.inf
    return terms


def arc_terms(weight: np.ndarray, escape: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """Compute the terms to which the arc probabilities are proportional.

    weight: [batch, n, n + 1] (dependent, head), with the root in the last column. The result has
    the root in the first column.
    """
    terms = np.empty_like(weight)
    terms[:, :, 0] = weight[:, :, -1]
    terms[:, :, 1:] = arithmetic.multiply(weight[:, :, :-1], escape.transpose(0, 2, 1))
    return terms


def escapes(weight: np.ndarray, single_root: bool, arithmetic: Arithmetic) -> np.ndarray:
    """Compute the probabilities that a walk from one word reaches the root without another. O(n^3).

    weight: [batch, n, n + 1] (dependent, head), with the root in the last column; the diagonal is
    ignored. Returns [batch, from, without]; with a single root, only up to a common factor.
    """
    add, multiply, _, zero = arithmetic
    n = weight.shape[1]
    escape = np.full((len(weight), n, n), zero)
    if n <= 1:
        return escape
    words = np.arange(n)
    halves = (words[: n // 2], words[n // 2 :])
    for eliminated, remaining in (halves, halves[::-1]):
        order = np.concatenate([eliminated, remaining, [n]])
        reduced = weight[:, order[:-1, None], order]
        count = len(eliminated)
        eliminate(reduced, count, single_root, arithmetic)
        exits = reduced[:, :count, count:]  # [batch, eliminated, remaining or root]
        remaining_escape = escapes(reduced[:, count:, count:], single_root, arithmetic)
        from_eliminated = np.repeat(exits[:, :, -1:], len(remaining), axis=2)
        for k in range(len(remaining)):
            step = multiply(exits[:, :, k, None], remaining_escape[:, k, None])
            add(from_eliminated, step, out=from_eliminated)  # [batch, eliminated, remaining]
        escape[:, remaining[:, None], remaining] = remaining_escape
        escape[:, eliminated[:, None], remaining] = from_eliminated
    return escape


def eliminate(weight: np.ndarray, count: int, single_root: bool, arithmetic: Arithmetic) -> None:
    """Eliminate the first words from the walk, in place: paths through them become arcs. O(n^3).

    In the columns from `count` on, the first `count` rows become the probabilities of the first
    node outside these words that a walk from them visits. The other rows become the weights
    without these words. With `single_root`, the root's column, infinitely small, adds nothing to
    the total weight of the arcs from a word.
    """
    add, multiply, divide, zero = arithmetic
    for word in range(count):
        rest = weight[:, :, word + 1 :]
        outgoing = rest[:, word]  # [batch, head]
        total = add.reduce(outgoing[:, :-1] if single_root else outgoing, axis=1, keepdims=True)
        divide(outgoing, total, out=outgoing)
        incoming = weight[:, :, word].copy()  # [batch, dependent]
        incoming[:, word] = zero
        add(rest, multiply(incoming[:, :, None], outgoing[:, None]), out=rest)
