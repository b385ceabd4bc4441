"""Checks of the heads of a batch agree with checks of single sentences."""

from itertools import product

import numpy as np
import pytest
import torch

from depkit.nn.trees import are_crossing, are_trees, mask_root_label
from depkit.trees.shape import has_crossing_arcs, is_tree

INF = float("inf")


def all_assignments(padding):
    """Return all ways to assign heads to up to five words.

    Returns the heads, [assignments, 6 + padding], and the lengths, [assignments].
    """
    rows = [(0, *heads) for n in range(6) for heads in product(range(n + 1), repeat=n)]
    length = 6 + padding
    heads = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])
    return heads, torch.tensor([len(row) for row in rows])


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize(
    ("check_batch", "check_one", "arguments"),
    [
        (are_trees, is_tree, [True]),
        (are_trees, is_tree, [False]),
        (are_crossing, has_crossing_arcs, []),
    ],
)
def test_checks_of_batches_agree_with_checks_of_single_sentences(
    check_batch, check_one, arguments, padding
):
    heads, lengths = all_assignments(padding)
    rows = zip(heads.numpy().astype(np.int32), lengths.tolist(), strict=True)
    expected = [check_one(row[1:length], *arguments) for row, length in rows]
    assert check_batch(heads, lengths, *arguments).tolist() == expected


@pytest.mark.parametrize("words", [*range(1, 10), 15, 16, 17, 31, 32, 33, 100])
def test_long_chains_are_trees_and_long_cycles_are_not(words):
    previous, following = torch.arange(words + 1) - 1, torch.arange(words + 1) + 1
    previous[0] = following[0] = following[-1] = 0
    cycle = previous.clone()
    cycle[1] = words  # all words are on one cycle
    heads, lengths = torch.stack((previous, following, cycle)), torch.full((3,), words + 1)
    assert are_trees(heads, lengths, single_root=True).tolist() == [True, True, False]


def test_the_root_label_is_forbidden_except_at_children_of_the_root():
    label = torch.tensor([[[1.0, 2.0, 3.0]] * 3])
    heads = torch.tensor([[0, 0, 1]])
    assert mask_root_label(label, heads, None) is label
    at_root, elsewhere = [-INF, 2.0, -INF], [1.0, -INF, 3.0]
    assert mask_root_label(label, heads, 1).tolist() == [[at_root, at_root, elsewhere]]
