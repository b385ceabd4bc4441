"""Coordinations in flat phrases."""

import pytest

from depkit.convert.coordination import find_coordination


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("DT NN CC NN NNS", (1, 2, 3, 4, True)),
        ("NN CC NN", (0, 1, 2, 2, False)),
        ("NNS CC NN NNS", (0, 1, 2, 3, False)),
        ("NNS , NNS CC NNS ''", (0, 3, 4, 4, False)),
        ("NN , NN CC NN NNS", (0, 3, 4, 5, True)),
        ("DT JJ HYPH CC HYPH JJ NN", (1, 3, 5, 6, True)),
        ("NN NN", None),
        ("CC NN", None),
        ("NN CC", None),
        ("NN CC ,", None),
    ],
)
def test_coordinations_are_recognised(labels: str, expected: tuple[object, ...] | None) -> None:
    assert find_coordination(labels.split()) == expected
