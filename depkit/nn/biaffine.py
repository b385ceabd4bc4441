"""Biaffine arc and label scorers (Dozat and Manning 2017; Li et al. 2019, Eqs. 3 and 4)."""

import torch
from torch import Tensor, nn

from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_
from depkit.nn.products import MatrixProduct


class MLP(nn.Module):
    """A linear layer, LeakyReLU with slope 0.1, and dropout with a mask shared over positions."""

    def __init__(self, input_size: int, output_size: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.dropout = SharedDropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map [batch, length, input_size] to [batch, length, output_size]."""
        return self.dropout(nn.functional.leaky_relu(self.linear(x), 0.1))


class ArcScorer(MatrixProduct):
    """score(i <- j) = [d_i; 1] W h_j (Eq. 4); the bias scores j as a head of any dependent."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size + 1, size))

    def forward(self, dependent: Tensor, head: Tensor) -> Tensor:
        """Map two tensors [batch, length, size] to arc scores [batch, dependent, head]."""
        projected = dependent @ self.weight[:-1] + self.weight[-1]
        return projected @ head.transpose(1, 2)


class LabelScorer(MatrixProduct):
    """Label scores of given pairs of dependent and head, with a bias on both sides.

    Each dependent comes with a single head: the gold head in training, the decoded head in
    prediction. The tensor [batch, length, length, label] of all pairs is never computed.
    """

    def __init__(self, size: int, labels: int) -> None:
        super().__init__()
        self.labels = labels
        self.weight = nn.Parameter(torch.zeros(size + 1, labels * (size + 1)))

    def forward(self, dependent: Tensor, head: Tensor) -> Tensor:
        """Map two tensors [batch, length, size] to label scores [batch, length, label]."""
        ones = dependent.new_ones(*dependent.shape[:-1], 1)
        dependent = torch.cat((dependent, ones), dim=-1).flatten(0, 1)
        head_with_bias = torch.cat((head, ones), dim=-1).flatten(0, 1)  # [pairs, size + 1]
        projected = (dependent @ self.weight).view(-1, self.labels, head_with_bias.shape[-1])
        scores = torch.bmm(projected, head_with_bias.unsqueeze(-1))
        return scores.view(*head.shape[:-1], self.labels)
