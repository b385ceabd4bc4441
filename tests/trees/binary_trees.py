"""All binary trees over a few words."""

from collections.abc import Iterator
from functools import cache
from itertools import product

Spans = tuple[tuple[int, int], ...]


@cache
def binary_trees(start: int, end: int) -> list[Spans]:
    """Return all binary trees over a span, parents before their children, from left to right."""
    if end - start == 1:
        return [((start, end),)]
    return [
        ((start, end), *left, *right)
        for split in range(start + 1, end)
        for left, right in product(binary_trees(start, split), binary_trees(split, end))
    ]


def labelled_trees(n: int, labels: int) -> Iterator[tuple[Spans, tuple[int, ...]]]:
    """Yield all binary trees with all labels of their spans, except the empty one at the root."""
    for spans in binary_trees(0, n):
        for rest in product(range(labels), repeat=len(spans) - 1):
            for root in range(1, labels):
                yield spans, (root, *rest)
