"""Dropout with a mask shared over positions, dropout of whole inputs of a token, fast masks."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class SharedDropout(nn.Module):
    """Dropout with one mask for all positions of a sentence (Gal and Ghahramani 2016)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Map [batch, length, size] to the same shape."""
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        mask = x.new_empty(x.shape[0], 1, x.shape[2]).bernoulli_(keep).div_(keep)
        return x * mask


class InputDropout(nn.Module):
    """Dropout of a token's inputs (its word, its tag, ...) as a whole, independently of each other.

    The inputs that remain are multiplied by (sum of all weights) / (sum of the remaining inputs'
    weights). With weight 2 for the word and 1 for the tag, this is the scheme of Li et al.: factor
    1 if both remain, 1.5 if only the word remains, 3 if only the tag remains.

    p: the probability that an input is dropped; weights: those of the inputs in the rescaling.
    """

    def __init__(self, p: float, weights: list[float]) -> None:
        super().__init__()
        self.p = p
        self.weights: Tensor
        self.register_buffer("weights", torch.tensor(weights), persistent=False)

    def forward(self, inputs: list[Tensor]) -> list[Tensor]:
        """Map a list of tensors [batch, length, size of the input] to a list of the same shapes."""
        if not self.training or self.p == 0:
            return inputs
        batch, length = inputs[0].shape[:2]
        mask = torch.empty(batch, length, len(inputs), device=inputs[0].device)
        mask.bernoulli_(1 - self.p)
        remaining = (mask * self.weights).sum(-1, keepdim=True)  # [batch, length, 1]
        scale = mask * (self.weights.sum() / remaining.clamp(min=1e-6))
        return [x * scale[..., i : i + 1] for i, x in enumerate(inputs)]


def random_mask(shape: Sequence[int], p: float, device: torch.device) -> Tensor:
    """Make a dropout mask: 0 with probability p, else 1 / (1 - p).

    Each element is decided by 16 of the 64 bits of a random integer, so p is rounded to a multiple
    of 1 / 65,536. On a CPU, this is faster than `torch.bernoulli`.
    """
    size = math.prod(shape)
    integers = torch.empty(-(-size // 4), dtype=torch.int64, device=device).random_(-(2**63), None)
    keep = integers.view(torch.int16)[:size] >= min(round(p * 2**16) - 2**15, 2**15 - 1)
    return keep.view(shape) * (1 / (1 - p))
