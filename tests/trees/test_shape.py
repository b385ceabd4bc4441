"""All head vectors of up to five words and some longer ones, trees or not, against definitions."""

import numpy as np
import pytest

from depkit.trees import shape
from tests.trees.all_trees import ancestors, arcs_cross, head_vectors, is_tree_by_definition, trees

VECTORS = [heads for n in range(6) for heads in head_vectors(n)]

_rng = np.random.default_rng(0)
VECTORS += [tuple(_rng.integers(0, n + 1, n).tolist()) for n in range(6, 40) for _ in range(5)]


def as_array(heads: tuple[int, ...]) -> np.ndarray:
    return np.array(heads, np.int32)


def test_number_of_trees_is_cayleys_formula() -> None:
    for n in range(1, 6):
        assert len(trees(n, False, False)) == (n + 1) ** (n - 1)
        assert len(trees(n, True, False)) == n ** (n - 1)


def test_trees_and_roots_equal_the_definitions() -> None:
    for heads in VECTORS:
        assert shape.is_tree(as_array(heads)) == is_tree_by_definition(heads, False)
        assert shape.is_tree(as_array(heads), True) == (
            heads == () or is_tree_by_definition(heads, True)
        )
        assert shape.count_roots(as_array(heads)) == heads.count(0)


def test_cycles_and_depths_equal_the_definitions() -> None:
    for heads in VECTORS:
        all_ancestors = [ancestors(heads, word) for word in range(1, len(heads) + 1)]
        depth = shape.depths(as_array(heads))
        assert depth.dtype == np.int32
        assert depth.tolist() == [
            len(word_ancestors) if 0 in word_ancestors else -1 for word_ancestors in all_ancestors
        ]
        assert shape.has_cycle(as_array(heads)) == any(
            word in word_ancestors for word, word_ancestors in enumerate(all_ancestors, 1)
        )


def test_crossing_and_nonprojective_arcs_equal_the_definitions() -> None:
    for heads in VECTORS:
        assert shape.has_crossing_arcs(as_array(heads)) == arcs_cross(heads)
        expected = [
            head != 0
            and any(
                head not in ancestors(heads, word)
                for word in range(min(head, dependent) + 1, max(head, dependent))
            )
            for dependent, head in enumerate(heads, 1)
        ]
        result = shape.nonprojective_arcs(as_array(heads))
        assert result.dtype == np.bool_
        assert result.tolist() == expected


@pytest.mark.parametrize("heads", [(-1,), (2,), (0, 1, 4), (0, -2, 1), (2**31 - 1, 0)])
def test_heads_out_of_range_are_an_error(heads: tuple[int, ...]) -> None:
    assert not shape.is_tree(as_array(heads))
    for name in ("count_roots", "has_cycle", "depths", "has_crossing_arcs", "nonprojective_arcs"):
        with pytest.raises(ValueError, match="out of range"):
            getattr(shape, name)(as_array(heads))


def test_chains_of_100000_words() -> None:
    n = 100_000
    chain = np.arange(2, n + 2, dtype=np.int32)
    chain[-1] = 0
    assert shape.depths(chain).tolist() == list(range(n, 0, -1))
    assert shape.is_tree(chain, True)
    assert not shape.has_crossing_arcs(chain)
    assert not shape.nonprojective_arcs(chain).any()
    chain[-1] = 1
    assert shape.has_cycle(chain)
    assert set(shape.depths(chain)) == {-1}
    assert not shape.nonprojective_arcs(chain).any()


def test_nested_arcs_and_interleaved_chains_of_100000_words() -> None:
    n = 100_000
    # The heads jump from one end of the sentence to the other, towards its middle.
    outside_in = np.stack([np.arange(1, n // 2 + 1), np.arange(n, n // 2, -1)], 1).reshape(-1)
    head = np.zeros(n, np.int32)
    head[outside_in[1:] - 1] = outside_in[:-1]
    assert not shape.has_crossing_arcs(head)
    assert not shape.nonprojective_arcs(head).any()
    # The same from the middle: all but two arcs span words that do not descend from the head.
    head[:] = 0
    head[outside_in[:-1] - 1] = outside_in[1:]
    assert shape.has_crossing_arcs(head)
    assert shape.nonprojective_arcs(head).sum() == n - 2
    # Each word's head is the second word before it.
    head = np.maximum(np.arange(-1, n - 1), 0, dtype=np.int32)
    assert shape.has_crossing_arcs(head)
    assert shape.nonprojective_arcs(head).sum() == n - 2
