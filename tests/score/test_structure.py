"""Depths, cycles and dependents of many trees at once, against climbing word by word."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.score import structure

Heads = Sequence[int]  # the head of each word of a sentence, 0 the root's, -1 where there is none


def flat(sentences: Sequence[Heads]) -> tuple[np.ndarray, np.ndarray]:
    """All heads in a row, and where each sentence starts."""
    sizes = [len(heads) for heads in sentences]
    return np.concatenate(sentences).astype(np.int32), np.cumsum([0, *sizes])


def climbed(heads: Heads, word: int) -> tuple[int, int | None]:
    """How many arcs up from a word (1-based) to the end of its chain, and which end: 0, -1, None.

    None is a cycle.
    """
    for steps in range(len(heads) + 1):
        if word <= 0:
            return steps, word
        word = heads[word - 1]
    return len(heads), None


def check(sentences: Sequence[Heads]) -> None:
    head, starts = flat(sentences)
    size = len(head)
    ends = [climbed(heads, word) for heads in sentences for word in range(1, len(heads) + 1)]
    assert structure.depths(head, starts).tolist() == [
        steps - 1 if end == 0 else -1 for steps, end in ends
    ]
    assert structure.reaches_cycle(head, starts).tolist() == [end is None for _, end in ends]
    parents, dependents = [], [0] * (size + 2)
    for heads, start in zip(sentences, starts.tolist(), strict=False):
        for up in heads:
            parents.append({0: size, -1: size + 1}.get(up, start + up - 1))
            dependents[parents[-1]] += 1
    assert structure.head_indices(head, starts).tolist() == [*parents, size, size + 1]
    assert structure.count_dependents(head, starts).tolist() == dependents


def test_all_head_vectors_of_up_to_four_words_at_once() -> None:
    vectors = [heads for n in range(1, 5) for heads in product(range(-1, n + 1), repeat=n)]
    assert len(vectors) == 3 + 4**2 + 5**3 + 6**4
    check(vectors)


def test_chains_of_every_length() -> None:
    """The deepest words there can be, and the longest cycles."""
    lengths = range(1, 70)
    check([range(n) for n in lengths])
    check([[n, *range(1, n)] for n in lengths])
    check([[-1, *range(1, n)] for n in lengths])
    for n in (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 64):  # alone, for the longest counts the rounds
        check([range(n)])


sentences = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.integers(-1, n), min_size=n, max_size=n)
)


@settings(max_examples=100, deadline=None)
@given(st.lists(sentences, min_size=1, max_size=5))
def test_random_heads(found: list[list[int]]) -> None:
    check(found)
