"""Gated depthwise convolution over neighbouring words (Gulati et al. 2020, section 2.2)."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class _ShiftedProducts(torch.autograd.Function):
    """Depthwise convolution as a sum of shifted products.

    Its backward pass is written out because it is faster than the one that autograd derives.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        padded = _pad(x, weight)
        ctx.save_for_backward(padded, weight)
        return _add_products(padded, weight) + bias

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        padded, weight = ctx.saved_tensors
        before, after = _extent(weight)
        x_gradient = _add_products(functional.pad(gradient, (0, 0, after, before)), weight.flip(0))
        weight_gradient = torch.stack(
            [
                (padded[:, shift : shift + gradient.shape[1]] * gradient).sum((0, 1))
                for shift in range(len(weight))
            ]
        )
        return x_gradient, weight_gradient, gradient.sum((0, 1))


def _extent(weight: Tensor) -> tuple[int, int]:
    """Return how many positions before and after a position a kernel reads."""
    return len(weight) // 2, len(weight) - 1 - len(weight) // 2


def _pad(x: Tensor, weight: Tensor) -> Tensor:
    before, after = _extent(weight)
    return functional.pad(x, (0, 0, before, after))


def _add_products(padded: Tensor, weight: Tensor) -> Tensor:
    """Sum the products of shifted inputs and the rows of weight, [kernel, width]."""
    length = padded.shape[1] - len(weight) + 1
    total = padded[:, :length] * weight[0]
    for shift in range(1, len(weight)):
        total.addcmul_(padded[:, shift : shift + length], weight[shift])
    return total


class DepthwiseConvolution(nn.Module):
    """A convolution of each dimension by itself, with zeros before and after the sequence.

    It is computed as a sum of shifted products, which is faster on a CPU than `nn.Conv1d` with
    groups. kernel: the number of positions that are read, centred at the position that is computed;
    if it is even, one more position is read before than after.
    """

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        bound = kernel**-0.5
        self.weight = nn.Parameter(torch.empty(kernel, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """Map [batch, length, width] to the same shape."""
        weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
        if not torch.is_grad_enabled():
            return _add_products(_pad(x, weight), weight) + bias
        return _ShiftedProducts.apply(x, weight, bias)


class LocalConvolution(nn.Module):
    """The convolution module of a Conformer without its batch normalisation.

    It consists of LayerNorm, a linear layer to twice the width, a gated linear unit, a depthwise
    convolution, SiLU, and a linear layer that is initialised with zeros, so that the module adds
    nothing at first. kernel: the number of words that the convolution reads.
    """

    def __init__(self, input_size: int, kernel: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(input_size, eps=1e-3)
        self.gate = nn.Linear(input_size, 2 * input_size)
        self.convolution = DepthwiseConvolution(input_size, kernel)
        self.output = nn.Linear(input_size, input_size)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """Map [batch, length, input_size] to the same shape.

        is_real: [batch, length, 1], False at padding, which the convolution reads as zeros.
        """
        gated = functional.glu(self.gate(self.norm(x)), dim=-1) * is_real
        return self.output(functional.silu(self.convolution(gated)))
