"""Depths, cycles and dependents of many trees at once, compared with following each head."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.score import structure

Heads = Sequence[int]  # the head of each word of a sentence, 0 for the root, -1 for none


def concatenate(sentences: Sequence[Heads]) -> tuple[np.ndarray, np.ndarray]:
    """Return the concatenated heads, and where each sentence starts."""
    sizes = [len(heads) for heads in sentences]
    return np.concatenate(sentences).astype(np.int32), np.cumsum([0, *sizes])


def follow_heads(heads: Heads, word: int) -> tuple[int, int | None]:
    """Follow the heads of a word (1-based); return the number of arcs and the end of the chain.

    The end is 0 for the root, -1 for no head and None for a cycle.
    """
    for steps in range(len(heads) + 1):
        if word <= 0:
            return steps, word
        word = heads[word - 1]
    return len(heads), None


def check(sentences: Sequence[Heads]) -> None:
    head, starts = concatenate(sentences)
    size = len(head)
    ends = [follow_heads(heads, word) for heads in sentences for word in range(1, len(heads) + 1)]
    assert structure.depths(head, starts).tolist() == [
        steps - 1 if end == 0 else -1 for steps, end in ends
    ]
    assert structure.reaches_cycle(head, starts).tolist() == [end is None for _, end in ends]
    head_indices, counts = [], [0] * (size + 2)
    for heads, start in zip(sentences, starts.tolist(), strict=False):
        for head_of_word in heads:
            head_indices.append({0: size, -1: size + 1}.get(head_of_word, start + head_of_word - 1))
            counts[head_indices[-1]] += 1
    assert structure.head_indices(head, starts).tolist() == [*head_indices, size, size + 1]
    assert structure.count_dependents(head, starts).tolist() == counts


def test_all_head_vectors_of_up_to_four_words_at_once() -> None:
    vectors = [heads for n in range(1, 5) for heads in product(range(-1, n + 1), repeat=n)]
    assert len(vectors) == 3 + 4**2 + 5**3 + 6**4
    check(vectors)


def test_chains_and_cycles_of_every_length() -> None:
    """Chains have the deepest words and the longest cycles."""
    lengths = range(1, 70)
    check([range(n) for n in lengths])
    check([[n, *range(1, n)] for n in lengths])
    check([[-1, *range(1, n)] for n in lengths])
    # The longest sentence determines the number of rounds, so these lengths are tested alone.
    for n in (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 64):
        check([range(n)])


sentences = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.integers(-1, n), min_size=n, max_size=n)
)


@settings(max_examples=100, deadline=None)
@given(st.lists(sentences, min_size=1, max_size=5))
def test_structure_of_random_heads_equals_the_definitions(sentences: list[list[int]]) -> None:
    check(sentences)
