"""A learned mix of layers (ELMo, Peters et al. 2018, Eq. 1)."""

import torch
from torch import Tensor, nn


class LayerMix(nn.Module):
    """gamma * sum_j softmax(s)_j h_j: [..., layers, width] -> [..., width].

    s starts at 0, all layers alike, and gamma at 1, so that it starts as their mean.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        share = self.scale * self.weights.softmax(0)
        # a product would round to autocast's precision; layers are few, and words many
        return (x * share.to(x.dtype)[:, None]).sum(-2)
