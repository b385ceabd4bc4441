"""Self-attention encoders as their papers' formulas say, word by word and without padding."""

import math

import torch
from torch import Tensor, nn

from depkit.nn.factored import Factored, FactoredLinear
from depkit.nn.selfattention import ResidualLayer, SelfAttention, sinusoids

FEATURES, HEADS, SIZE, FEEDFORWARD = 6, 3, 5, 10  # each half's; a head is 10, no multiple of 8
LENGTHS = torch.tensor([6, 2, 1, 4])
COMPARED = {"both": (0, 1), "content": (0,), "position": (1,)}


def make(kind: type, layers: int = 2, **options):
    """An encoder whose four dropouts differ, in evaluation."""
    torch.manual_seed(0)
    dropouts = (0.1, 0.2, 0.4, 0.3)
    encoder = kind(FEATURES, layers, HEADS, SIZE, FEEDFORWARD, *dropouts, **options)
    return encoder.double().eval()


def sentences() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(len(LENGTHS), 6, FEATURES, dtype=torch.float64, requires_grad=True)


def parts(linear: nn.Linear | FactoredLinear) -> list[nn.Linear]:
    """A linear layer, or those of both halves."""
    return [linear.content, linear.position] if isinstance(linear, FactoredLinear) else [linear]


def normed(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt()
    return centred / deviation * norm.weight + norm.bias


def attended(layer: nn.Module, x: Tensor, allowed) -> Tensor:
    """One sentence, [length, width], head by head and word by word, one softmax."""
    compared = COMPARED[layer.attend] if hasattr(layer, "attend") else (0,)
    matrices = (part.weight.view(3, HEADS, SIZE, -1) for part in parts(layer.query_key_value))
    query, key, value = zip(*matrices, strict=True)  # of contents and of positions
    outputs = parts(layer.output)
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
        of_halves = zip(outputs, heads, strict=True)
        rows.append(torch.cat([output.weight @ torch.cat(each) for output, each in of_halves]))
    return torch.stack(rows)


def fed_forward(layer: ResidualLayer, x: Tensor) -> Tensor:
    ups, downs = parts(layer.up), parts(layer.down)
    results = []
    for up, down, half in zip(ups, downs, x.chunk(len(ups), dim=-1), strict=True):
        hidden = [(up.weight @ row + up.bias).clamp(min=0) for row in half]
        results.append(torch.stack([down.weight @ row + down.bias for row in hidden]))
    return torch.cat(results, dim=-1)


def encoded(encoder: Factored | SelfAttention, x: Tensor) -> Tensor:
    """One sentence, [length, features] -> [length, encoder.features]."""
    length = len(x)
    free = {0, 1, length - 1} if encoder.relaxed else set()

    def allowed(i: int, j: int) -> bool:
        return not encoder.window or abs(i - j) <= encoder.window or i in free or j in free

    if encoder.positions is None:
        place = sinusoids(length, FEATURES)
    else:
        last = encoder.positions.num_embeddings - 1
        place = torch.stack([encoder.positions.weight[min(i, last)] for i in range(length)])
    if isinstance(encoder, Factored):
        x = normed(encoder.input_norm, torch.cat((x, place), dim=-1))
    else:
        x = x + place
    for layer in encoder.layers:
        if layer.norm_first:
            x = x + attended(layer.attention, normed(layer.attention_norm, x), allowed)
            x = x + fed_forward(layer, normed(layer.feedforward_norm, x))
        else:
            x = normed(layer.attention_norm, x + attended(layer.attention, x, allowed))
            x = normed(layer.feedforward_norm, x + fed_forward(layer, x))
    return normed(encoder.norm, x) if encoder.layers[0].norm_first else x


def check(encoder: Factored | SelfAttention) -> None:
    """A padded batch equals the formulas, sentence by sentence; so do its gradients."""
    torch.manual_seed(2)
    with torch.no_grad():  # biases start as zeros, LayerNorms as ones, and would hide mistakes
        for weights in encoder.parameters():
            if weights.dim() == 1:
                weights.copy_(torch.randn_like(weights))
    x = sentences()
    batch = encoder(x, LENGTHS)
    assert batch.shape == (*x.shape[:2], encoder.features)
    assert batch.isfinite().all()
    lengths = LENGTHS.tolist()
    got = torch.cat([batch[row, :length] for row, length in enumerate(lengths)])
    expected = torch.cat([encoded(encoder, x[row, :length]) for row, length in enumerate(lengths)])
    torch.testing.assert_close(got, expected)
    wanted = [x, *encoder.parameters()]
    weight = torch.randn_like(got)
    torch.testing.assert_close(
        *(
            torch.autograd.grad((each * weight).sum(), wanted, materialize_grads=True)
            for each in (got, expected)
        )
    )
