"""BiLSTM encoder (Dozat and Manning 2017): layers of `nn.LSTM`, dropout between them."""

import torch
from torch import Tensor, nn

from depkit.nn.dropout import SharedDropout


def reversal(lengths: Tensor, longest: int) -> Tensor:
    """Indices that turn each sequence round and leave its padding where it is.

    lengths: [batch] -> [batch * longest], into the flattened [batch, longest].
    """
    position = torch.arange(longest, device=lengths.device)
    turned = torch.where(
        position < lengths[:, None], lengths[:, None] - 1 - position, position
    )  # [batch, longest]
    start = torch.arange(lengths.shape[0], device=lengths.device)[:, None] * longest
    return (turned + start).flatten()


def turn(x: Tensor, order: Tensor) -> Tensor:
    """x: [batch, length, features], order: as `reversal` gives it -> the same shape."""
    return x.flatten(0, 1).index_select(0, order).view_as(x)


def run_lstm(lstm: nn.LSTM, x: Tensor) -> Tensor:
    """The outputs of an LSTM, [batch, length, size].

    On a GPU outside autocast, which would run it in float16 even where bfloat16 is asked for,
    and unscaled gradients underflow there; TF32 keeps it fast.
    """
    if x.is_cuda:
        with torch.autocast("cuda", enabled=False):
            return lstm(x.float())[0]
    return lstm(x)[0]


class BiLSTMLayer(nn.Module):
    """A forward and a backward LSTM; the backward one reads each sequence from its own end.

    Turning the sequences round, rather than packing them, keeps padded batches exact and
    on the fast kernels of every device (a packed LSTM is several times slower on a CPU).
    x: [batch, length, features] -> [batch, length, 2 * size].
    """

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.forward_lstm = nn.LSTM(features, size, batch_first=True)
        self.backward_lstm = nn.LSTM(features, size, batch_first=True)
        for lstm in (self.forward_lstm, self.backward_lstm):
            for name, weights in lstm.named_parameters():
                if "bias" in name:
                    nn.init.zeros_(weights)
                else:
                    for gate in weights.chunk(4):
                        nn.init.orthogonal_(gate)

    def forward(self, x: Tensor, order: Tensor) -> Tensor:
        ahead = run_lstm(self.forward_lstm, x)
        back = run_lstm(self.backward_lstm, turn(x, order))
        return torch.cat((ahead, turn(back, order)), dim=-1)


class BiLSTM(nn.Module):
    """Layers of BiLSTM with shared-mask dropout on the input of each but the first.

    The first layer's input has been dropped by the parser. No recurrent dropout: cuDNN
    cannot do it, and the paper's code differs from the paper there.
    """

    def __init__(self, features: int, size: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            BiLSTMLayer(features if i == 0 else 2 * size, size) for i in range(layers)
        )
        self.dropout = SharedDropout(dropout)
        self.features = 2 * size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], lengths: [batch] -> [batch, length, 2 * size]."""
        order = reversal(lengths, x.shape[1])
        for i, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if i else x, order)
        return x
