"""Self-attention encoders by the formulas of their papers, word by word and without padding."""

import cmath
import math

import torch
from torch import Tensor, nn

from depkit.nn import settings
from depkit.nn.convolution import LocalConvolution
from depkit.nn.factored import Factored, FactoredLinear
from depkit.nn.graph_attention import NO_RELATION, TO_DEPENDENT, TO_HEAD
from depkit.nn.lstm import BiLSTM
from depkit.nn.positions import sinusoids
from depkit.nn.selfattention import ACTIVATIONS, ResidualLayer, SelfAttention

# The sizes of each half; a whole head has size 10, which is not a multiple of 8.
INPUT_SIZE, HEADS, SIZE, FEEDFORWARD = 6, 3, 5, 10
SETTINGS = {SelfAttention: settings.SelfAttention, Factored: settings.Factored}
LENGTHS = torch.tensor([6, 2, 1, 4])
# The indices of the halves whose queries and keys are compared.
COMPARED = {"both": (0, 1), "content": (0,), "position": (1,)}


def make(kind: type, layers: int = 2, size: int = SIZE, stop=False, **options):
    """Return an encoder in evaluation mode with four different dropout rates."""
    torch.manual_seed(0)
    learned = {Factored: {"positions": "learned"}}.get(kind, {})
    encoder_settings = SETTINGS[kind](
        layers=layers, heads=HEADS, head_size=size, feedforward=FEEDFORWARD, attention_dropout=0.1,
        feedforward_dropout=0.2, residual_dropout=0.4, **learned | options,
    )  # fmt: skip
    return kind(INPUT_SIZE, encoder_settings, dropout=0.3, stop=stop).double().eval()


def sentences() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(len(LENGTHS), 6, INPUT_SIZE, dtype=torch.float64, requires_grad=True)


def linear_layers(linear: nn.Linear | FactoredLinear) -> list[nn.Linear]:
    """Return a linear layer, or the linear layers of both halves, as a list."""
    return [linear.content, linear.position] if isinstance(linear, FactoredLinear) else [linear]


def normalise(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt()
    return centred / deviation * norm.weight + norm.bias


def rotated(x: Tensor, position: int, base: float) -> Tensor:
    """Rotate a query or a key, [size]; its halves are real and imaginary parts (Su et al. 2021)."""
    if not base:
        return x
    half = len(x) // 2
    numbers = torch.complex(x[:half], x[half:])
    angles = [position * base ** (-2 * i / len(x)) for i in range(half)]
    numbers = numbers * torch.tensor([cmath.exp(1j * angle) for angle in angles])
    return torch.cat((numbers.real, numbers.imag))


def convolve(module: LocalConvolution, x: Tensor) -> Tensor:
    """Apply a convolution module to a sentence, [length, width], word by word."""
    width = x.shape[1]
    inner = []
    for row in normalise(module.norm, x):
        both = module.gate.weight @ row + module.gate.bias
        inner.append(both[:width] * both[width:].sigmoid())
    kernel, rows = module.convolution.weight, []
    for i in range(len(x)):
        total = module.convolution.bias.clone()
        for k in range(len(kernel)):
            j = i + k - len(kernel) // 2
            if 0 <= j < len(x):
                total = total + kernel[k] * inner[j]
        rows.append(module.output.weight @ (total * total.sigmoid()) + module.output.bias)
    return torch.stack(rows)


def attend(
    layer: nn.Module, x: Tensor, allowed, base: float = 0.0, positions: Tensor | None = None
) -> Tensor:
    """Attend within a sentence, [length, width], head by head and word by word.

    base: of rotary positions, or 0; positions: what queries and keys are computed from, if not x.
    """
    compared = COMPARED[layer.attend] if hasattr(layer, "attend") else (0,)
    size = layer.head_size
    matrices = (
        linear.weight.view(3, layer.heads, size, -1)
        for linear in linear_layers(layer.query_key_value)
    )
    query, key, value = zip(*matrices, strict=True)  # one matrix for each half
    outputs = linear_layers(layer.output)
    halves = x.chunk(len(outputs), dim=-1)
    query_key_input = halves if positions is None else [positions]
    rows = []
    for i in range(len(x)):
        keys = [j for j in range(len(x)) if allowed(i, j)]
        heads: list[list[Tensor]] = [[] for _ in outputs]
        for h in range(layer.heads):
            logits = [
                sum(
                    rotated(query[p][h] @ query_key_input[p][i], i, base)
                    @ rotated(key[p][h] @ query_key_input[p][j], j, base)
                    for p in compared
                )
                for j in keys
            ]
            weights = (torch.stack(logits) / math.sqrt(len(outputs) * size)).softmax(0)
            for p, half in enumerate(halves):
                heads[p].append(weights @ torch.stack([value[p][h] @ half[j] for j in keys]))
        pairs = zip(outputs, heads, strict=True)
        rows.append(torch.cat([output.weight @ torch.cat(half) for output, half in pairs]))
    return torch.stack(rows)


def feed_forward(layer: ResidualLayer, x: Tensor) -> Tensor:
    ups, downs = linear_layers(layer.up), linear_layers(layer.down)
    results = []
    for up, down, half in zip(ups, downs, x.chunk(len(ups), dim=-1), strict=True):
        hidden = [up.weight @ row + up.bias for row in half]
        if layer.activation is ACTIVATIONS["silu"]:
            hidden = [row * row.sigmoid() for row in hidden]
        else:
            hidden = [row.clamp(min=0) for row in hidden]
        results.append(torch.stack([down.weight @ row + down.bias for row in hidden]))
    return torch.cat(results, dim=-1)


def run_lstm(lstm: nn.LSTM, x: Tensor) -> Tensor:
    """Compute the states of an LSTM, [length, size], step by step (Hochreiter and Schmidhuber)."""
    w_x, w_h, b_x, b_h = lstm.all_weights[0]
    state = cell = torch.zeros(lstm.hidden_size, dtype=x.dtype)
    states = []
    for row in x:
        gates = w_x @ row + b_x + w_h @ state + b_h
        input_gate, forget_gate, candidate, output_gate = gates.chunk(4)
        cell = forget_gate.sigmoid() * cell + input_gate.sigmoid() * candidate.tanh()
        state = output_gate.sigmoid() * cell.tanh()
        states.append(state)
    return torch.stack(states)


def run_bilstm(encoder: BiLSTM, x: Tensor) -> Tensor:
    for layer in encoder.layers:
        backward = run_lstm(layer.backward_lstm, x.flip(0)).flip(0)
        x = torch.cat((run_lstm(layer.forward_lstm, x), backward), dim=-1)
    return x


def encode(encoder: Factored | SelfAttention, x: Tensor) -> Tensor:
    """Encode a sentence, [length, input size]."""
    length = len(x)
    ends = {length - 2, length - 1} if encoder.stop else {length - 1}
    free = {0, 1, *ends} if encoder.relaxed else set()

    def allowed(i: int, j: int) -> bool:
        return not encoder.window or abs(i - j) <= encoder.window or i in free or j in free

    if encoder.positions is None:
        positions = sinusoids(length, x.shape[1])
    else:
        last = encoder.positions.num_embeddings - 1
        positions = torch.stack([encoder.positions.weight[min(i, last)] for i in range(length)])
    if isinstance(encoder, Factored):
        x = torch.cat((x, positions), dim=-1)
    elif encoder.concatenates:
        x = torch.cat((x, positions), dim=-1)
        positions = torch.cat((torch.zeros_like(positions), positions), dim=-1)
    elif not encoder.rotary_base:
        x = x + positions
    if isinstance(encoder.input_norm, nn.LayerNorm):
        x = normalise(encoder.input_norm, x)
    attends_by_position = getattr(encoder, "position_attention", False)
    query_key_input = positions.to(x.dtype) if attends_by_position else None
    options = allowed, getattr(encoder, "rotary_base", 0.0), query_key_input
    for layer in encoder.layers:
        if layer.convolution is not None:
            x = x + convolve(layer.convolution, x)
        if layer.norm_first:
            x = x + attend(layer.attention, normalise(layer.attention_norm, x), *options)
            x = x + feed_forward(layer, normalise(layer.feedforward_norm, x))
        else:
            x = normalise(layer.attention_norm, x + attend(layer.attention, x, *options))
            x = normalise(layer.feedforward_norm, x + feed_forward(layer, x))
    return normalise(encoder.norm, x) if encoder.layers[0].norm_first else x


def randomise(network: nn.Module) -> None:
    """Replace initial zeros and ones (of biases, LayerNorms), which would hide errors."""
    torch.manual_seed(2)
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() == 1 or not weights.any():
                weights.copy_(torch.randn_like(weights))


def check(encoder: Factored | SelfAttention) -> None:
    """Check that a padded batch and its gradients equal the formulas, sentence by sentence."""
    randomise(encoder)
    x = sentences()
    batch = encoder(x, LENGTHS)
    assert batch.shape == (*x.shape[:2], encoder.output_size)
    assert batch.isfinite().all()
    lengths = LENGTHS.tolist()
    result = torch.cat([batch[row, :length] for row, length in enumerate(lengths)])
    expected = torch.cat([encode(encoder, x[row, :length]) for row, length in enumerate(lengths)])
    torch.testing.assert_close(result, expected)
    inputs = [x, *encoder.parameters()]
    weight = torch.randn_like(result)
    torch.testing.assert_close(
        *(
            torch.autograd.grad((output * weight).sum(), inputs, materialize_grads=True)
            for output in (result, expected)
        )
    )


def find_relation(graph, query, key):
    """Return the relation of a query to a key; graph: the head of each position, without cycles."""
    if graph[query] == key:
        return TO_HEAD
    return TO_DEPENDENT if graph[key] == query else NO_RELATION
