"""BiLSTM encoder (Dozat and Manning 2017): layers of `nn.LSTM`, dropout between and inside them."""

import warnings

import torch
from torch import Tensor, nn

from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_


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


def run_lstm(lstm: nn.LSTM, x: Tensor, recurrent: Tensor | None = None) -> Tensor:
    """The outputs of an LSTM of one layer and direction, [batch, length, size].

    recurrent: [4 * size, size], in place of its weights from state to state.
    On a GPU outside autocast, which would run it in float16 even where bfloat16 is asked for,
    and unscaled gradients underflow there; TF32 keeps it fast.
    """
    if x.is_cuda:
        with torch.autocast("cuda", enabled=False):
            return _outputs(lstm, x.float(), recurrent)
    return _outputs(lstm, x, recurrent)


def _outputs(lstm: nn.LSTM, x: Tensor, recurrent: Tensor | None) -> Tensor:
    if recurrent is None:
        return lstm(x)[0]
    first = x.new_zeros(1, len(x), lstm.hidden_size)
    weights: list[Tensor] = [*lstm.all_weights[0]]
    weights[1] = recurrent
    with warnings.catch_warnings():  # cuDNN's, that it copies the weights together for each call
        warnings.filterwarnings("ignore", "RNN module weights are not part of")
        # biases, one layer, no dropout between layers, training, one direction, batch first
        return torch.lstm(x, (first, first), weights, True, 1, 0.0, True, False, True)[0]


class BiLSTMLayer(nn.Module):
    """A forward and a backward LSTM; the backward one reads each sequence from its own end.

    Turning the sequences round, rather than packing them, keeps padded batches exact and
    on the fast kernels of every device (a packed LSTM is several times slower on a CPU).
    In training the state that a step hands on to the next is dropped out, by one mask for all
    steps (Gal and Ghahramani 2016). Each direction has its own, which the batch's sentences
    share: so it can be put on the columns of the recurrent weights, as in Merity et al. (2018)
    single weights are dropped, and all steps stay one call of the kernel.
    x: [batch, length, features] -> [batch, length, 2 * size].
    """

    def __init__(self, features: int, size: int, recurrent_dropout: float = 0.0) -> None:
        super().__init__()
        self.recurrent_dropout = SharedDropout(recurrent_dropout)
        self.forward_lstm = nn.LSTM(features, size, batch_first=True)
        self.backward_lstm = nn.LSTM(features, size, batch_first=True)
        for lstm in (self.forward_lstm, self.backward_lstm):
            for name, weights in lstm.named_parameters():
                if "bias" in name:
                    nn.init.zeros_(weights)
                else:
                    for gate in weights.chunk(4):
                        orthogonal_(gate)

    def forward(self, x: Tensor, order: Tensor) -> Tensor:
        ahead = self._run(self.forward_lstm, x)
        back = self._run(self.backward_lstm, turn(x, order))
        return torch.cat((ahead, turn(back, order)), dim=-1)

    def _run(self, lstm: nn.LSTM, x: Tensor) -> Tensor:
        if not self.training or self.recurrent_dropout.p == 0:
            return run_lstm(lstm, x)
        # W (m * h) = (W * m) h: rows of W stand where the dropout has positions
        return run_lstm(lstm, x, self.recurrent_dropout(lstm.all_weights[0][1][None])[0])


class BiLSTM(nn.Module):
    """Layers of BiLSTM with shared-mask dropout on the input of each but the first.

    The first layer's input has been dropped by the parser. recurrent_dropout: inside each layer.
    """

    def __init__(
        self,
        features: int,
        size: int,
        layers: int,
        dropout: float,
        recurrent_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            BiLSTMLayer(features if i == 0 else 2 * size, size, recurrent_dropout)
            for i in range(layers)
        )
        self.dropout = SharedDropout(dropout)
        self.features = 2 * size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], lengths: [batch] -> [batch, length, 2 * size]."""
        order = reversal(lengths, x.shape[1])
        for i, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if i else x, order)
        return x
