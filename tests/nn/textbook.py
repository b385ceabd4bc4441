"""Self-attention encoders by the formulas of their papers, word by word and without padding."""

import math

import torch
from torch import Tensor, nn

from depkit.nn.factored import Factored, FactoredLinear
from depkit.nn.selfattention import ResidualLayer, SelfAttention, sinusoids

# The sizes of each half; a whole head has size 10, which is not a multiple of 8.
INPUT_SIZE, HEADS, SIZE, FEEDFORWARD = 6, 3, 5, 10
LENGTHS = torch.tensor([6, 2, 1, 4])
# The indices of the halves whose queries and keys are compared.
COMPARED = {"both": (0, 1), "content": (0,), "position": (1,)}


def make(kind: type, layers: int = 2, **options):
    """Return an encoder in evaluation mode with four different dropout rates."""
    torch.manual_seed(0)
    dropouts = (0.1, 0.2, 0.4, 0.3)
    encoder = kind(INPUT_SIZE, layers, HEADS, SIZE, FEEDFORWARD, *dropouts, **options)
    return encoder.double().eval()


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


def attend(layer: nn.Module, x: Tensor, allowed) -> Tensor:
    """Attend within a sentence, [length, width], head by head and word by word."""
    compared = COMPARED[layer.attend] if hasattr(layer, "attend") else (0,)
    matrices = (
        linear.weight.view(3, HEADS, SIZE, -1) for linear in linear_layers(layer.query_key_value)
    )
    query, key, value = zip(*matrices, strict=True)  # one matrix for each half
    outputs = linear_layers(layer.output)
    halves = x.chunk(len(outputs), dim=-1)
    rows = []
    for i in range(len(x)):
        keys = [j for j in range(len(x)) if allowed(i, j)]
        heads: list[list[Tensor]] = [[] for _ in outputs]
        for h in range(HEADS):
            logits = [
                sum((query[p][h] @ halves[p][i]) @ (key[p][h] @ halves[p][j]) for p in compared)
                for j in keys
            ]
            weights = (torch.stack(logits) / math.sqrt(len(outputs) * SIZE)).softmax(0)
            for p, half in enumerate(halves):
                heads[p].append(weights @ torch.stack([value[p][h] @ half[j] for j in keys]))
        pairs = zip(outputs, heads, strict=True)
        rows.append(torch.cat([output.weight @ torch.cat(half) for output, half in pairs]))
    return torch.stack(rows)


def feed_forward(layer: ResidualLayer, x: Tensor) -> Tensor:
    ups, downs = linear_layers(layer.up), linear_layers(layer.down)
    results = []
    for up, down, half in zip(ups, downs, x.chunk(len(ups), dim=-1), strict=True):
        hidden = [(up.weight @ row + up.bias).clamp(min=0) for row in half]
        results.append(torch.stack([down.weight @ row + down.bias for row in hidden]))
    return torch.cat(results, dim=-1)


def encode(encoder: Factored | SelfAttention, x: Tensor) -> Tensor:
    """Encode a sentence, [length, INPUT_SIZE]."""
    length = len(x)
    free = {0, 1, length - 1} if encoder.relaxed else set()

    def allowed(i: int, j: int) -> bool:
        return not encoder.window or abs(i - j) <= encoder.window or i in free or j in free

    if encoder.positions is None:
        positions = sinusoids(length, INPUT_SIZE)
    else:
        last = encoder.positions.num_embeddings - 1
        positions = torch.stack([encoder.positions.weight[min(i, last)] for i in range(length)])
    if isinstance(encoder, Factored):
        x = normalise(encoder.input_norm, torch.cat((x, positions), dim=-1))
    else:
        x = x + positions
    for layer in encoder.layers:
        if layer.norm_first:
            x = x + attend(layer.attention, normalise(layer.attention_norm, x), allowed)
            x = x + feed_forward(layer, normalise(layer.feedforward_norm, x))
        else:
            x = normalise(layer.attention_norm, x + attend(layer.attention, x, allowed))
            x = normalise(layer.feedforward_norm, x + feed_forward(layer, x))
    return normalise(encoder.norm, x) if encoder.layers[0].norm_first else x


def check(encoder: Factored | SelfAttention) -> None:
    """Check that a padded batch and its gradients equal the formulas, sentence by sentence."""
    torch.manual_seed(2)
    with torch.no_grad():  # initial zeros (biases) and ones (LayerNorms) would hide errors
        for weights in encoder.parameters():
            if weights.dim() == 1:
                weights.copy_(torch.randn_like(weights))
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
