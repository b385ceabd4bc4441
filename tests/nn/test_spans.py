"""Scores of spans equal the formula applied to each span by itself."""

import torch
from torch.nn import functional

from depkit.nn.spans import SpanScorer, fencepost_vectors


def test_scores_of_spans_follow_the_formula():
    torch.manual_seed(0)
    scorer = SpanScorer(6, 5, 3).double()
    torch.nn.init.normal_(scorer.bias)
    fenceposts = torch.randn(2, 4, 6, dtype=torch.float64)
    row, start, end = torch.tensor([[0, 0, 1], [0, 1, 2], [1, 3, 3]])
    scores = scorer(scorer.project(fenceposts).double(), row, start, end)
    for k in range(3):
        difference = fenceposts[row[k], end[k]] - fenceposts[row[k], start[k]]
        hidden = scorer.first.weight @ difference + scorer.bias
        hidden = functional.layer_norm(hidden, (5,), scorer.norm.weight, scorer.norm.bias).relu()
        expected = scorer.second.weight @ hidden + scorer.second.bias
        torch.testing.assert_close(scores[k], expected.float(), rtol=1e-4, atol=1e-5)


def test_a_fencepost_joins_the_forward_half_before_it_and_the_backward_half_after_it():
    encoded = torch.arange(12.0).view(1, 3, 4)
    contiguous = [[[0, 1, 6, 7], [4, 5, 10, 11]]]
    interleaved = [[[0, 2, 5, 7], [4, 6, 9, 11]]]
    assert fencepost_vectors(encoded, interleaved=False).tolist() == contiguous
    assert fencepost_vectors(encoded, interleaved=True).tolist() == interleaved
