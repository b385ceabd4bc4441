"""All head vectors of a few words, and plain definitions of trees.

The functions are written for clarity and share no code with depkit; tests compare depkit with them.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations, product

import numpy as np

Heads = tuple[int, ...]  # heads[i] is the head of word i + 1

# A function that draws an array of random scores with a given shape.
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def draw_normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape)


def draw_with_forbidden(proportion: float, draw: Draw = draw_normal) -> Draw:
    """Return a function that draws scores and sets a proportion of them to -inf."""
    return lambda rng, shape: np.where(rng.random(shape) < proportion, -np.inf, draw(rng, shape))


def draw_integers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(-1, 2, size=shape)


DRAWS: dict[str, Draw] = {
    "normal": draw_normal,
    "negative": lambda rng, shape: -rng.exponential(size=shape) - 5,
    "tied": draw_integers,
    "all equal": lambda rng, shape: np.zeros(shape),
    "root preferred": lambda rng, shape: rng.normal(size=shape) + 9 * (np.arange(shape[-1]) == 0),
    "some forbidden": draw_with_forbidden(0.25),
    "most forbidden": draw_with_forbidden(0.55, draw_integers),
}


def head_vectors(n: int) -> Iterator[Heads]:
    """Iterate over all (n + 1)^n head vectors of n words."""
    return product(range(n + 1), repeat=n)


def ancestors(heads: Heads, word: int) -> set[int]:
    """Return the ancestors of a word, including the root 0 unless the heads form a cycle."""
    result: set[int] = set()
    while word != 0 and heads[word - 1] not in result:
        word = heads[word - 1]
        result.add(word)
    return result


def is_tree_by_definition(heads: Heads, single_root: bool) -> bool:
    """Return whether all words descend from the root and, if single_root, it has one child."""
    rooted = all(0 in ancestors(heads, word) for word in range(1, len(heads) + 1))
    return rooted and (not single_root or heads.count(0) == 1)


def arcs_cross(heads: Heads) -> bool:
    """Return whether an arc has one end strictly inside another arc and one strictly outside."""
    arcs = [{word, head} for word, head in enumerate(heads, 1)]
    return any(
        min(arc) < end < max(arc) and not min(arc) <= other_end <= max(arc)
        for arc in arcs
        for other_arc in arcs
        for end, other_end in permutations(other_arc, 2)
    )


@cache
def trees(n: int, single_root: bool, projective: bool) -> np.ndarray:
    """Return all trees over n words: [tree, n]."""
    selected = [
        heads
        for heads in head_vectors(n)
        if is_tree_by_definition(heads, single_root) and not (projective and arcs_cross(heads))
    ]
    return np.array(selected).reshape(len(selected), n)


def tree_scores(score: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return the sum of the arc scores of each tree; score: [n + 1, n + 1], heads: [tree, n]."""
    words = np.arange(1, len(score))
    return score[words, heads].astype(np.float64).sum(axis=1)
