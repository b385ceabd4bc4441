"""Exact arc probabilities over all trees, projective or not, in O(n^3).

A tree's probability is proportional to exp(the sum of its arcs' scores). By the matrix-tree
theorem (Tutte 1984) the sum over all trees is a determinant, and arc probabilities come from the
inverse (Koo et al. 2007; McDonald and Satta 2007; Smith and Smith 2007). Those formulas subtract
nearly equal numbers where scores are sharp. This file reaches the same values without a single
subtraction, so that each is right in nearly all its digits, however small.

Walk from word to head at random, each arc by its weight exp(score). The tree of the first visits
is drawn from the distribution (Wilson 1996), hence P(head of i is j) is proportional, over j, to

    weight(i, j) * escape(j, i),  escape(j, i): the chance to reach the root from j without i,

which is the inverse's (i, i) - (j, i), up to a factor. Leaving a word out of the walk (Grassmann,
Taksar and Heyman 1985) changes no escape between the others, and adds and multiplies positive
numbers only. Either half of the words is left out to find escapes in the other half, and so on.

With a single root, the arcs from the root weigh infinitely little: the walk goes on among the
words, and an escape is the expected weight of the root arcs that it passes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from depkit.trees.decode import (
    DECODED,
    NO_TREE,
    NOT_SCORES,
    complain,
    length_array,
    score_array,
)

SAFE_RANGE = 300.0  # any two products of weights within e^+-300 are far from under- and overflow
CHUNK = 1 << 16  # arcs in one pass over sentences of the same size, to stay within the cache


class Arithmetic(NamedTuple):
    """How positive numbers add, multiply and divide."""

    add: np.ufunc
    multiply: np.ufunc
    divide: np.ufunc
    zero: float


LINEAR = Arithmetic(np.add, np.multiply, np.divide, 0.0)
LOGARITHMIC = Arithmetic(np.logaddexp, np.add, np.subtract, -np.inf)  # slower, never out of range


def batch_marginals(scores: ArrayLike, sizes: ArrayLike, single_root: bool = True) -> np.ndarray:
    """The probability of every arc under P(tree) ~ exp(sum of its arcs' scores), exactly.

    scores: [batch, n_max + 1, n_max + 1] (dependent, head), column 0 the artificial root. Row 0,
    the diagonal and the padding are ignored, -inf forbids an arc. sizes: [batch] int, the words
    of each sentence. single_root: over trees with exactly one child of the root, not any number.

    Returns the same shape, float64: at [sentence, i, j], P(head of i is j), 0 in what is ignored.
    Every word's row sums to 1 but for rounding; no value is below 0 or above 1 (by construction,
    nothing is clipped). Raises ValueError as decode() does: for wrong shapes, a score of NaN or
    +inf, or where the forbidden arcs leave no tree.
    """
    score = score_array(scores)
    size = length_array(sizes, score)
    arcs = [log_weights(one, n, single_root) for one, n in zip(score, size, strict=True)]
    check(arcs, single_root)
    probability = np.zeros(score.shape)
    plain = np.array([is_plain(one) for one in arcs], np.bool_)
    for n in np.unique(size[plain]):
        group = np.flatnonzero(plain & (size == n))
        count = max(1, CHUNK // (n + 1) ** 2)
        for some in np.split(group, range(count, len(group), count)):
            weight = np.exp([arcs[index] for index in some])
            terms = arc_terms(weight, escapes(weight, single_root, LINEAR), LINEAR)
            probability[some, 1 : n + 1, : n + 1] = terms / terms.sum(axis=2, keepdims=True)
    for index in np.flatnonzero(~plain):
        n = size[index]
        terms = sharp_terms(arcs[index], single_root)
        terms = np.exp(terms - terms.max(axis=1, keepdims=True))
        probability[index, 1 : n + 1, : n + 1] = terms / terms.sum(axis=1, keepdims=True)
    return probability


def log_weights(score: np.ndarray, n: int, single_root: bool) -> np.ndarray:
    """Arc scores, shifted to be at most 0 without a change of the distribution.

    score: [>= n + 1, >= n + 1] (dependent, head). Returns [n, n + 1] float64 (dependent, head),
    the root's column last and the diagonal -inf.

    A row may be shifted as a whole. With a single root so may the root's column; it comes first,
    so that a large constant in it costs no precision.
    """
    arcs = np.empty((n, n + 1))
    arcs[:, :n] = score[1 : n + 1, 1 : n + 1]
    arcs[:, n] = score[1 : n + 1, 0]
    np.fill_diagonal(arcs, -np.inf)
    if n == 0 or not (arcs < np.inf).all():
        return arcs
    if single_root:
        lower(arcs[None, :, n])
    lower(arcs)
    return arcs


def lower(rows: np.ndarray) -> None:
    """Subtract each row's maximum from it, in place, unless -inf."""
    best = rows.max(axis=1, keepdims=True)
    best[best == -np.inf] = 0.0
    rows -= best


def is_plain(arcs: np.ndarray) -> bool:
    """Whether exp of all scores can be calculated with as they are: none forbidden or far below.

    arcs: [n, n + 1] from log_weights().
    """
    return np.count_nonzero(arcs > -SAFE_RANGE) == len(arcs) ** 2


def check(arcs: list[np.ndarray], single_root: bool) -> None:
    """Raise decode()'s ValueError for the first sentence that is no scores or has no tree."""
    outcome = np.full(len(arcs), DECODED, np.int8)
    for index, one in enumerate(arcs):
        if not (one < np.inf).all():  # put this way round, NaN fails it too
            outcome[index] = NOT_SCORES
        elif not is_plain(one) and not core_words(one, single_root).any():
            outcome[index] = NO_TREE
    complain(outcome, "mst", single_root)


def core_words(arcs: np.ndarray, single_root: bool) -> np.ndarray:
    """The words that, without the root, all words can descend from: [n] bool.

    With any number of roots, all words. Either way, none if there is no tree. All words outside
    descend from the core, and no word of the core descends from one outside.
    """
    n = len(arcs)
    arc = np.eye(n + 1, dtype=np.bool_)  # [dependent, head], the root last
    arc[:n] |= arcs > -np.inf
    if single_root:
        core = np.asarray(reachable(arc[:n, :n]).all(axis=0))
        return core if arc[:n, n][core].any() else np.zeros(n, np.bool_)
    return np.full(n, reachable(arc)[:, n].all())


def reachable(arc: np.ndarray) -> np.ndarray:
    """Which nodes can be reached from which; arc: [node, node] bool, true on the diagonal."""
    while True:
        further = arc.astype(np.float32) @ arc.astype(np.float32) > 0
        if np.array_equal(further, arc):
            return arc
        arc = further


def split(arcs: np.ndarray, core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The arcs among the core and its root, and those among the others, with the core as root."""
    n = len(arcs)
    inner = arcs[np.ix_(core, np.append(core, True))]
    outer = np.empty((n - len(inner), n - len(inner) + 1))
    outer[:, :-1] = arcs[~core, :n][:, ~core]
    outer[:, -1] = np.logaddexp.reduce(arcs[~core, :n][:, core], axis=1)
    return inner, outer


def sharp_terms(arcs: np.ndarray, single_root: bool) -> np.ndarray:
    """arc_terms() of one sentence in logarithms, whatever the range and the forbidden arcs.

    With a single root, a walk never leaves the core for the other words: to reach the core is to
    escape any of those, and it counts infinitely more than the root's arcs, which weigh nothing.
    """
    core = core_words(arcs, single_root)
    inner, outer = split(arcs, core)
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
    """What the arc probabilities are proportional to: [batch, n, n + 1], the root's first."""
    terms = np.empty_like(weight)
    terms[:, :, 0] = weight[:, :, -1]
    terms[:, :, 1:] = arithmetic.multiply(weight[:, :, :-1], escape.transpose(0, 2, 1))
    return terms


def escapes(weight: np.ndarray, single_root: bool, arithmetic: Arithmetic) -> np.ndarray:
    """The chance of a walk to reach the root from one word without another.

    weight: [batch, n, n + 1] (dependent, head), the root's column last; the diagonal is ignored.
    Returns [batch, from, without]; up to a factor, if single_root. O(n^3).
    """
    add, multiply, _, zero = arithmetic
    n = weight.shape[1]
    escape = np.full((len(weight), n, n), zero)
    if n <= 1:
        return escape
    words = np.arange(n)
    for gone, kept in [(words[: n // 2], words[n // 2 :]), (words[n // 2 :], words[: n // 2])]:
        order = np.concatenate([gone, kept, [n]])
        reduced = weight[:, order[:-1, None], order]
        leave_out(reduced, len(gone), single_root, arithmetic)
        exits = reduced[:, : len(gone), len(gone) :]  # [batch, gone, kept or root]
        within = escapes(reduced[:, len(gone) :, len(gone) :], single_root, arithmetic)
        from_gone = np.repeat(exits[:, :, -1:], len(kept), axis=2)  # [batch, gone, kept]
        for k in range(len(kept)):
            add(from_gone, multiply(exits[:, :, k, None], within[:, k, None]), out=from_gone)
        escape[:, kept[:, None], kept] = within
        escape[:, gone[:, None], kept] = from_gone
    return escape


def leave_out(weight: np.ndarray, count: int, single_root: bool, arithmetic: Arithmetic) -> None:
    """Take the first words out of the walk, in place: arcs through them become arcs past them.

    weight: [batch, n, n + 1] as in escapes(), count < n. From column count on, the first count
    rows become the chances of where a walk goes from there, and the others the weights without
    those words. With a single root the root's column, infinitely small, adds nothing to the weight
    of all arcs from a word. O(n^3).
    """
    add, multiply, divide, zero = arithmetic
    for word in range(count):
        rest = weight[:, :, word + 1 :]
        going = rest[:, word]  # [batch, head]
        total = add.reduce(going[:, :-1] if single_root else going, axis=1, keepdims=True)
        divide(going, total, out=going)
        into = weight[:, :, word].copy()  # [batch, dependent]
        into[:, word] = zero
        add(rest, multiply(into[:, :, None], going[:, None]), out=rest)
