"""Arc and label scorers (Dozat and Manning 2017; Li et al. 2019, Eqs. 3 and 4)."""

import torch
from torch import Tensor, nn

from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_


class MLP(nn.Module):
    """Linear, LeakyReLU .1, shared-mask dropout: [batch, length, in] -> [batch, length, out]."""

    def __init__(self, features: int, size: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, size)
        orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        self.dropout = SharedDropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(nn.functional.leaky_relu(self.linear(x), 0.1))


class ArcScorer(nn.Module):
    """score(i <- j) = [d_i; 1] W h_j, Eq. 4; the bias scores j as a head of anything."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size + 1, size))

    def forward(self, dependent: Tensor, head: Tensor) -> Tensor:
        """Both [batch, length, size] -> [batch, dependent, head]."""
        projected = dependent @ self.weight[:-1] + self.weight[-1]
        return projected @ head.transpose(1, 2)


class LabelScorer(nn.Module):
    """Label scores of given (dependent, head) pairs, biased on both sides.

    One head a word is enough in training (gold) and prediction (decoded), so the scores of
    all [length, length, label] are never made.
    """

    def __init__(self, size: int, labels: int) -> None:
        super().__init__()
        self.labels = labels
        self.weight = nn.Parameter(torch.zeros(size + 1, labels * (size + 1)))

    def forward(self, dependent: Tensor, head: Tensor) -> Tensor:
        """Both [batch, length, size] -> [batch, length, label]."""
        one = dependent.new_ones(*dependent.shape[:-1], 1)
        dependent = torch.cat((dependent, one), dim=-1).flatten(0, 1)
        paired = torch.cat((head, one), dim=-1).flatten(0, 1)  # [pairs, size + 1]
        projected = (dependent @ self.weight).view(-1, self.labels, paired.shape[-1])
        return torch.bmm(projected, paired.unsqueeze(-1)).view(*head.shape[:-1], self.labels)
