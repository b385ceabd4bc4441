"""BiLSTM encoder (Dozat and Manning 2017): layers of `nn.LSTM`, dropout between and inside them."""

import warnings
from functools import cache

import torch
from torch import Tensor, nn

from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_
from depkit.nn.settings import BiLSTM as Settings


def reversal_indices(lengths: Tensor, longest: int) -> Tensor:
    """Make indices that reverse each sequence but leave its padding at the end.

    lengths: [batch]. Returns [batch * longest] indices into the flattened [batch, longest].
    """
    position = torch.arange(longest, device=lengths.device)
    reversed_position = torch.where(
        position < lengths[:, None], lengths[:, None] - 1 - position, position
    )  # [batch, longest]
    start = torch.arange(lengths.shape[0], device=lengths.device)[:, None] * longest
    return (reversed_position + start).flatten()


def reorder(x: Tensor, indices: Tensor) -> Tensor:
    """Reorder the positions of x, [batch, length, size], by indices from `reversal_indices`."""
    if torch.compiler.is_exporting():  # The exporter loses the shape of the expression below.
        start = torch.arange(x.shape[0], device=x.device)[:, None] * x.shape[1]
        positions = indices.view(x.shape[:2]) - start
        return x.gather(1, positions[..., None].expand(-1, -1, x.shape[2]))
    return x.flatten(0, 1).index_select(0, indices).view_as(x)


@cache
def has_bfloat16_lstm() -> bool:
    """Return whether autocast can compute LSTMs in bfloat16 on this CPU.

    Autocast computes them with oneDNN if torch has it. On x86, oneDNN needs AVX-512 for this.
    """
    return not torch.backends.mkldnn.is_available() or bool(
        torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def must_leave_autocast(device: torch.device) -> bool:
    """Return whether LSTMs must run outside autocast, in the data type of their weights.

    On a GPU, autocast would run them in float16 even if bfloat16 is configured; unscaled gradients
    underflow in float16. Their weights are in float32 there, which TF32 makes fast. On a CPU,
    autocast fails if `has_bfloat16_lstm` is false.
    """
    if device.type == "cpu":
        return torch.is_autocast_enabled("cpu") and not has_bfloat16_lstm()
    return device.type == "cuda"


def run_lstm(lstm: nn.LSTM, x: Tensor, recurrent: Tensor | None = None) -> Tensor:
    """Compute the outputs, [batch, length, size], of an LSTM with one layer and one direction.

    recurrent: [4 * size, size], recurrent weights to use instead of the LSTM's.
    """
    if must_leave_autocast(x.device):
        with torch.autocast(x.device.type, enabled=False):
            return _outputs(lstm, x.to(lstm.all_weights[0][0].dtype), recurrent)
    return _outputs(lstm, x, recurrent)


@torch.library.custom_op("depkit::lstm", mutates_args=())
def exported_lstm(x: Tensor, weight: Tensor, recurrent: Tensor, bias: Tensor) -> Tensor:
    """Stand for an LSTM in a graph that is exported; `engine.export` translates it.

    Args:
        x: [batch, length, input_size].
        weight: [1, 4 * size, input_size], the gates in the order of ONNX.
        recurrent: [1, 4 * size, size].
        bias: [1, 8 * size], those of both products.

    Returns:
        [batch, length, size].
    """
    raise NotImplementedError("this operation is only for exported graphs")


@exported_lstm.register_fake
def _(x: Tensor, weight: Tensor, recurrent: Tensor, bias: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:2], recurrent.shape[2])


def _reorder_gates(weight: Tensor) -> Tensor:
    """Change the order of gates from that of torch, IFCO, to that of ONNX, IOFC."""
    i, f, c, o = weight.chunk(4)
    return torch.cat((i, o, f, c))


def _outputs(lstm: nn.LSTM, x: Tensor, recurrent: Tensor | None) -> Tensor:
    if torch.compiler.is_exporting():
        weight, hidden, *biases = map(_reorder_gates, lstm.all_weights[0])
        result: Tensor = exported_lstm(x, weight[None], hidden[None], torch.cat(biases)[None])
        return result
    if recurrent is None:
        return lstm(x)[0]
    zeros = x.new_zeros(1, x.shape[0], lstm.hidden_size)
    weights: list[Tensor] = [*lstm.all_weights[0]]
    weights[1] = recurrent
    with warnings.catch_warnings():  # cuDNN warns that every call copies the weights into one block
        warnings.filterwarnings("ignore", "RNN module weights are not part of")
        # Flags: biases, layers, dropout between layers, training, bidirectional, batch first.
        return torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, True, False, True)[0]


class BiLSTMLayer(nn.Module):
    """A forward LSTM, and a backward LSTM that starts at the last real position of each sequence.

    The sequences are reversed rather than packed: padded batches give exact results, and every
    device can use its fast kernels (a packed LSTM is several times slower on a CPU).

    In training, dropout is applied to the state that a step receives from the step before, with
    the same mask for all steps (Gal and Ghahramani 2016). All sentences of a batch share the mask;
    the two directions have different masks. The mask can therefore be applied to the columns of the
    recurrent weights, as Merity et al. (2018) do for single weights, and a whole sequence remains
    one call of the LSTM kernel.
    """

    def __init__(self, input_size: int, size: int, recurrent_dropout: float = 0.0) -> None:
        super().__init__()
        self.recurrent_dropout = SharedDropout(recurrent_dropout)
        self.forward_lstm = nn.LSTM(input_size, size, batch_first=True)
        self.backward_lstm = nn.LSTM(input_size, size, batch_first=True)
        for lstm in (self.forward_lstm, self.backward_lstm):
            for name, weights in lstm.named_parameters():
                if "bias" in name:
                    nn.init.zeros_(weights)
                else:
                    for gate in weights.chunk(4):
                        orthogonal_(gate)

    def forward(self, x: Tensor, reverse: Tensor) -> Tensor:
        """Map [batch, length, input_size] to [batch, length, 2 * size].

        reverse: the result of `reversal_indices` for the batch.
        """
        forward = self._run(self.forward_lstm, x)
        backward = self._run(self.backward_lstm, reorder(x, reverse))
        return torch.cat((forward, reorder(backward, reverse)), dim=-1)

    def _run(self, lstm: nn.LSTM, x: Tensor) -> Tensor:
        if not self.training or self.recurrent_dropout.p == 0:
            return run_lstm(lstm, x)
        # Dropping columns of W drops elements of the state: W (m * h) = (W * m) h. The dropout
        # shares its mask over the second dimension, which holds the rows of W here.
        return run_lstm(lstm, x, self.recurrent_dropout(lstm.all_weights[0][1][None])[0])


class BiLSTM(nn.Module):
    """BiLSTM layers with shared-mask dropout on the input of each layer except the first.

    The parser applies dropout to the input of the first layer itself.
    """

    def __init__(self, input_size: int, settings: Settings) -> None:
        super().__init__()
        size = settings.size
        self.layers = nn.ModuleList(
            BiLSTMLayer(input_size if i == 0 else 2 * size, size, settings.recurrent_dropout)
            for i in range(settings.layers)
        )
        self.dropout = SharedDropout(settings.dropout)
        self.output_size = 2 * size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map [batch, length, input_size] to [batch, length, 2 * size]; lengths: [batch]."""
        reverse = reversal_indices(lengths, x.shape[1])
        for i, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if i else x, reverse)
        return x
