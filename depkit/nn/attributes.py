"""A linear layer whose outputs share weights through their attributes."""

from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.products import MatrixProduct


class AttributeLinear(MatrixProduct):
    """A linear layer whose outputs have weights of their own, and share those of their attributes.

    The weights of an output are the sum of its own, which are zeros at first, and of those of its
    attributes. So a rare combination is predicted from what was learned about its attributes.
    values: for each output, the names of its attributes.
    """

    def __init__(self, input_size: int, values: Sequence[Sequence[str]]) -> None:
        super().__init__()
        names = {name: i for i, name in enumerate(dict.fromkeys(chain.from_iterable(values)))}
        attributes = torch.zeros(len(values), len(names))
        for row, value in enumerate(values):
            for name in value:
                attributes[row, names[name]] = 1
        self.attributes: Tensor
        self.register_buffer("attributes", attributes, persistent=False)
        bound = input_size**-0.5
        self.weight = nn.Parameter(torch.zeros(len(values), input_size))
        self.bias = nn.Parameter(torch.zeros(len(values)))
        self.shared = nn.Parameter(torch.empty(len(names), input_size).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., input_size] to [..., values]."""
        return functional.linear(x, self.folded_weight(), self.bias)

    def folded_weight(self) -> Tensor:
        """Add the weights of attributes to those of the values that have them.

        A layer with the result, [values, input_size], as its weights and with zeros for the
        attributes computes the same.
        """
        return self.weight + self.attributes @ self.shared
