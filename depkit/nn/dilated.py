"""Dilated convolutions over a sequence (Yu and Koltun 2016; Strubell et al. 2017)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.attention_mask import real_positions


class DilatedConvolutions(nn.Module):
    """Layers x + relu(W [x_(t-d); x_t; x_(t+d)] + b), each with its own dilation d.

    Args:
        input_size: The size of the input, which is projected to `size`.
        size: The size of the layers and of the output.
        dilations: The dilation of each layer. The output at a position
            depends on sum(dilations) positions on either side.
        dropout: The dropout of relu(...).
    """

    def __init__(
        self, input_size: int, size: int, dilations: Sequence[int], dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.dilations = tuple(dilations)
        self.projection = nn.Linear(input_size, size)
        self.layers = nn.ModuleList(nn.Linear(3 * size, size) for _ in dilations)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map [batch, length, input_size] to [batch, length, size]; lengths: [batch].

        Positions before the first one, and padding, are zeros in all layers.
        """
        length = x.shape[1]
        is_real = real_positions(lengths, length)[..., None]
        x = self.projection(x) * is_real
        for dilation, layer in zip(self.dilations, self.layers, strict=True):
            padded = functional.pad(x, (0, 0, dilation, dilation))
            window = torch.cat((padded[:, :length], x, padded[:, 2 * dilation :]), dim=-1)
            x = (x + self.dropout(functional.relu(layer(window)))) * is_real
        return x
