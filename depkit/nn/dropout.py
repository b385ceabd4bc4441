"""Dropout whose mask is shared over time, and dropout of whole inputs of a token."""

import torch
from torch import Tensor, nn


class SharedDropout(nn.Module):
    """One mask a sentence, shared by its positions (Gal and Ghahramani 2016).

    x: [batch, length, features] -> the same shape.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        keep = 1 - self.p
        mask = x.new_empty(x.shape[0], 1, x.shape[2]).bernoulli_(keep).div_(keep)
        return x * mask


class InputDropout(nn.Module):
    """Drops a token's inputs independently (its word, its tag, ...) and rescales the rest.

    weights: what each input counts in the rescaling; the survivors are multiplied by
    (sum of all weights) / (sum of the survivors' weights). With a word of weight 2 and a tag
    of weight 1 that is Li et al.'s scheme: both kept 1, word alone 1.5, tag alone 3.
    """

    def __init__(self, p: float, weights: list[float]) -> None:
        super().__init__()
        self.p = p
        self.weights: Tensor
        self.register_buffer("weights", torch.tensor(weights), persistent=False)

    def forward(self, inputs: list[Tensor]) -> list[Tensor]:
        """inputs: tensors [batch, length, features of each]."""
        if not self.training or self.p == 0:
            return inputs
        batch, length = inputs[0].shape[:2]
        kept = torch.empty(batch, length, len(inputs), device=inputs[0].device)
        kept.bernoulli_(1 - self.p)
        remaining = (kept * self.weights).sum(-1, keepdim=True)  # [batch, length, 1]
        scale = kept * (self.weights.sum() / remaining.clamp(min=1e-6))
        return [x * scale[..., i : i + 1] for i, x in enumerate(inputs)]
