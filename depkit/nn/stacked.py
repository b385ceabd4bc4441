"""Self-attention that reads a BiLSTM (Chen et al. 2018; Li et al. 2019, section 5)."""

from torch import Tensor, nn

from depkit.nn import settings as encoders
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention


class Stacked(nn.Module):
    """Layers of self-attention that read the output of a BiLSTM; the two are trained together.

    The output of the BiLSTM is projected to the width of the self-attention if it has another
    width. The arguments are those of `AttentionLayers`.
    """

    def __init__(self, input_size: int, settings: encoders.Stacked, *, stop: bool = False) -> None:
        super().__init__()
        lstm = encoders.BiLSTM(
            layers=settings.lstm_layers,
            size=settings.lstm_size,
            dropout=settings.lstm_dropout,
            recurrent_dropout=settings.recurrent_dropout,
        )
        self.lstm = BiLSTM(input_size, lstm)
        self.projection: nn.Module = nn.Identity()
        if self.lstm.output_size != settings.size:
            self.projection = nn.Linear(self.lstm.output_size, settings.size)
        self.selfattention = SelfAttention(
            settings.size, settings, dropout=settings.lstm_dropout, stop=stop
        )
        self.output_size = self.selfattention.output_size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map [batch, length, input_size] to [batch, length, output_size]; lengths: [batch]."""
        return self.selfattention(self.projection(self.lstm(x, lengths)), lengths)
