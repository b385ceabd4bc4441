"""A learned weighted mean of layers (ELMo, Peters et al. 2018, Eq. 1)."""

import torch
from torch import Tensor, nn


class LayerMix(nn.Module):
    """The weighted mean gamma * sum_j softmax(s)_j h_j; initially s is 0 and gamma is 1."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., layers, width] to [..., width]."""
        factors = self.scale * self.weights.softmax(0)
        # Under autocast a matrix product would be rounded to half precision. As there are few
        # layers, a sum of products costs little more.
        return (x * factors.to(x.dtype)[:, None]).sum(-2)
