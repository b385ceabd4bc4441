"""Every head vector of a few words, and plain definitions of what makes one a tree.

Written for clarity alone and sharing nothing with depkit, to prove it against.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import numpy as np

Heads = tuple[int, ...]  # heads[i] is the head of word i + 1

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape)


def forbidding(part: float, draw: Draw = normal) -> Draw:
    """Scores as drawn, but for that part of them, which are -inf."""
    return lambda rng, shape: np.where(rng.random(shape) < part, -np.inf, draw(rng, shape))


def head_vectors(n: int) -> Iterator[Heads]:
    """All (n + 1)^n ways to give each of n words a head."""
    return product(range(n + 1), repeat=n)


def ancestors(heads: Heads, word: int) -> set[int]:
    """The words, and perhaps the root 0, that the word descends from."""
    found: set[int] = set()
    while word != 0 and heads[word - 1] not in found:
        word = heads[word - 1]
        found.add(word)
    return found


def is_plain_tree(heads: Heads, single_root: bool) -> bool:
    """Whether all words descend from the root, and only one directly if single_root."""
    rooted = all(0 in ancestors(heads, word) for word in range(1, len(heads) + 1))
    return rooted and (not single_root or heads.count(0) == 1)


def arcs_cross(heads: Heads) -> bool:
    """Whether an arc has one end strictly within another arc and one strictly outside."""
    arcs = [{word, head} for word, head in enumerate(heads, 1)]
    return any(
        min(outer) < end < max(outer) and not min(outer) <= other <= max(outer)
        for outer in arcs
        for arc in arcs
        if len(arc) == 2
        for end, other in [sorted(arc), sorted(arc)[::-1]]
    )


@cache
def trees(n: int, single_root: bool, projective: bool) -> np.ndarray:
    """All trees over n words: [tree, n]."""
    kept = [
        heads
        for heads in head_vectors(n)
        if is_plain_tree(heads, single_root) and not (projective and arcs_cross(heads))
    ]
    return np.array(kept).reshape(len(kept), n)


def tree_scores(score: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """The sum of the arc scores of each tree; score: [n + 1, n + 1], heads: [tree, n]."""
    words = np.arange(1, len(score))
    return score[words, heads].astype(np.float64).sum(axis=1)
