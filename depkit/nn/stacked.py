"""Self-attention that reads a BiLSTM (Chen et al. 2018; Li et al. 2019, section 5)."""

from typing import Any

from torch import Tensor, nn

from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention


class Stacked(nn.Module):
    """Layers of self-attention that read the output of a BiLSTM.

    The two are trained together. The output of the BiLSTM is projected to the width of the
    self-attention if it has another width.

    Args:
        input_size: The width of the input.
        size: The width of the vectors that the self-attention reads.
        lstm_layers: The number of layers of the BiLSTM.
        lstm_size: The width of the BiLSTM's state in each direction.
        lstm_dropout: The dropout rate between the layers of the BiLSTM, and of the vectors that the
            self-attention reads.
        recurrent_dropout: The dropout rate of the BiLSTM's state.
        settings: The other arguments of `SelfAttention`, except `input_dropout`.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        lstm_layers: int,
        lstm_size: int,
        lstm_dropout: float,
        recurrent_dropout: float,
        **settings: Any,
    ) -> None:
        super().__init__()
        self.lstm = BiLSTM(input_size, lstm_size, lstm_layers, lstm_dropout, recurrent_dropout)
        self.projection: nn.Module = nn.Identity()
        if self.lstm.output_size != size:
            self.projection = nn.Linear(self.lstm.output_size, size)
        self.selfattention = SelfAttention(size, input_dropout=lstm_dropout, **settings)
        self.output_size = self.selfattention.output_size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map [batch, length, input_size] to [batch, length, output_size]; lengths: [batch]."""
        return self.selfattention(self.projection(self.lstm(x, lengths)), lengths)
