"""Scores of constituents: Kitaev and Klein (2018), section 2.1, and Gaddy et al. (2018), section 2.

Fenceposts are the n + 1 points between the words of a sentence: 0 before the first word, n after
the last one. The vector of the span from fencepost i to j is the difference of the vectors of the
two fenceposts.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class SpanScorer(nn.Module):
    """Scores the labels of spans: M2 relu(LayerNorm(M1 (f_j - f_i) + c1)) + c2.

    M1 is linear, so it is applied to n + 1 fenceposts and not to all spans.

    labels: the number of labels without the empty label, whose score is always 0.
    """

    def __init__(self, size: int, hidden: int, labels: int) -> None:
        super().__init__()
        self.first = nn.Linear(size, hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.norm = nn.LayerNorm(hidden)
        self.second = nn.Linear(hidden, labels)

    def project(self, fenceposts: Tensor) -> Tensor:
        """Multiply the vectors of fenceposts with M1, [..., size] -> [..., hidden]."""
        projected: Tensor = self.first(fenceposts)
        return projected.float()  # A difference in bfloat16 would have few exact digits.

    def forward(self, projected: Tensor, row: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """Score spans, given by their sentences and their first and last fenceposts, [spans].

        projected: [batch, fencepost, hidden], the result of `project`. Returns [spans, label].
        """
        difference = projected[row, end] - projected[row, start]
        hidden = functional.relu(self.norm(difference + self.bias))
        scores: Tensor = self.second(hidden).float()
        return scores


def fencepost_vectors(encoded: Tensor, interleaved: bool) -> Tensor:
    """Join the forward half of each position with the backward half of the next one.

    Args:
        encoded: [batch, length, size], the vectors of the start of the sentence, of its words and
            of its end.
        interleaved: Whether the even elements are the forward half and the odd ones the backward
            half, so that both halves have elements from each part of a factored encoder. Otherwise
            they are the first and the second half.

    Returns:
        [batch, length - 1, size].
    """
    if interleaved:
        forward, backward = encoded[..., 0::2], encoded[..., 1::2]
    else:
        forward, backward = encoded.chunk(2, dim=-1)
    return torch.cat((forward[:, :-1], backward[:, 1:]), dim=-1)
