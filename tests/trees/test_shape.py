"""Every head vector of up to five words, trees or not, against plain definitions."""

import numpy as np
import pytest

from depkit.trees import shape
from tests.trees.all_trees import ancestors, arcs_cross, head_vectors, is_plain_tree, trees

VECTORS = [heads for n in range(6) for heads in head_vectors(n)]


def array(heads: tuple[int, ...]) -> np.ndarray:
    return np.array(heads, np.int32)


def test_trees_are_as_many_as_cayley_counts() -> None:
    for n in range(1, 6):
        assert len(trees(n, False, False)) == (n + 1) ** (n - 1)
        assert len(trees(n, True, False)) == n ** (n - 1)


def test_trees_and_roots() -> None:
    for heads in VECTORS:
        assert shape.is_tree(array(heads)) == is_plain_tree(heads, False)
        assert shape.is_tree(array(heads), True) == (heads == () or is_plain_tree(heads, True))
        assert shape.count_roots(array(heads)) == heads.count(0)


def test_cycles_and_depths() -> None:
    for heads in VECTORS:
        above = [ancestors(heads, word) for word in range(1, len(heads) + 1)]
        depth = shape.depths(array(heads))
        assert depth.dtype == np.int32
        assert depth.tolist() == [len(found) if 0 in found else -1 for found in above]
        assert shape.has_cycle(array(heads)) == any(
            word in found for word, found in enumerate(above, 1)
        )


def test_crossing_and_nonprojective_arcs() -> None:
    for heads in VECTORS:
        assert shape.crossing(array(heads)) == arcs_cross(heads)
        expected = [
            head != 0
            and any(
                head not in ancestors(heads, word)
                for word in range(min(head, dependent) + 1, max(head, dependent))
            )
            for dependent, head in enumerate(heads, 1)
        ]
        found = shape.nonprojective_arcs(array(heads))
        assert found.dtype == np.bool_
        assert found.tolist() == expected


@pytest.mark.parametrize("heads", [(-1,), (2,), (0, 1, 4), (0, -2, 1), (2**31 - 1, 0)])
def test_head_out_of_range(heads: tuple[int, ...]) -> None:
    assert not shape.is_tree(array(heads))
    for name in ("count_roots", "has_cycle", "depths", "crossing", "nonprojective_arcs"):
        with pytest.raises(ValueError, match="out of range"):
            getattr(shape, name)(array(heads))


def test_long_chain() -> None:
    n = 100_000
    upwards = np.arange(2, n + 2, dtype=np.int32)
    upwards[-1] = 0
    assert shape.depths(upwards).tolist() == list(range(n, 0, -1))
    assert shape.is_tree(upwards, True)
    upwards[-1] = 1
    assert shape.has_cycle(upwards)
    assert set(shape.depths(upwards)) == {-1}
