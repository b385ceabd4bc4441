"""Self-attention against the paper's equations, written out."""

import math

import pytest
import torch
from torch import Tensor

from depkit.nn import selfattention
from depkit.nn.selfattention import MultiHeadAttention, SelfAttention, SelfAttentionLayer, sinusoids

LENGTHS = torch.tensor([5, 2])
MASK = (torch.arange(5) < LENGTHS[:, None])[:, None, None, :]


def textbook_attention(layer: MultiHeadAttention, x: Tensor, length: int) -> Tensor:
    """Eqs. 9 to 12 for one sentence, [length, features], head by head and word by word."""
    size, heads = layer.head_size, layer.heads
    query, key, value = layer.query_key_value.weight.view(3, heads, size, -1)
    rows = []
    for i in range(length):
        parts = []
        for h in range(heads):
            score = [(query[h] @ x[i]) @ (key[h] @ x[j]) / math.sqrt(size) for j in range(length)]
            weight = torch.stack(score).softmax(0)
            parts.append(sum(weight[j] * (value[h] @ x[j]) for j in range(length)))
        rows.append(layer.output.weight @ torch.cat(parts))
    return torch.stack(rows)


def test_sinusoids_are_equation_8():
    table = sinusoids(7, 10)
    for i in range(7):
        for j in range(5):
            angle = i / 10000 ** (2 * j / 10)
            assert table[i, 2 * j].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[i, 2 * j + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_attention_equals_the_textbook():
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3, 5, 0.0)
    x = torch.randn(2, 5, 12)
    got = layer(x, MASK)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(
            got[row, :length], textbook_attention(layer, x[row], length), atol=1e-5, rtol=1e-4
        )


@pytest.mark.parametrize("norm_first", [False, True])
def test_layer_is_its_equation(norm_first):
    torch.manual_seed(0)
    layer = SelfAttentionLayer(12, 3, 5, 20, 0.0, 0.0, 0.0, norm_first)
    x = torch.randn(2, 5, 12)
    if norm_first:
        y = x + layer.attention(layer.attention_norm(x), MASK)
        hidden = layer.up(layer.feedforward_norm(y)).clamp(min=0)
        expected = y + layer.down(hidden)
    else:
        y = layer.attention_norm(x + layer.attention(x, MASK))
        expected = layer.feedforward_norm(y + layer.down(layer.up(y).clamp(min=0)))
    torch.testing.assert_close(layer(x, MASK), expected)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_padding_changes_nothing(positions):
    torch.manual_seed(0)
    encoder = SelfAttention(12, 2, 3, 4, 20, 0.1, 0.1, 0.2, 0.33, positions, longest=4).eval()
    x = torch.randn(2, 5, 12)
    batch = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(batch[row, :length], alone[0], atol=1e-5, rtol=1e-4)


def test_padded_heads_equal_the_textbook(monkeypatch):
    monkeypatch.setitem(selfattention._HEAD_MULTIPLE, "cpu", 8)
    test_attention_equals_the_textbook()


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_layer_sees_its_window_and_nothing_else(relaxed):
    torch.manual_seed(0)
    length = 10
    encoder = SelfAttention(12, 1, 3, 4, 20, 0.1, 0.1, 0.2, 0.33).eval()
    encoder.window, encoder.relaxed = 2, relaxed
    x = torch.randn(1, length, 12, requires_grad=True)
    free = {0, 1, length - 1} if relaxed else set()
    for i in range(length):
        gradient = torch.autograd.grad(encoder(x, torch.tensor([length]))[0, i, 0], x)[0]
        seen = {j for j in range(length) if gradient[0, j].abs().max() > 0}
        assert seen == {j for j in range(length) if abs(i - j) <= 2 or i in free or j in free}


@pytest.mark.parametrize("relaxed", [False, True])
def test_padding_changes_nothing_in_a_window(relaxed):
    torch.manual_seed(0)
    encoder = SelfAttention(
        12, 2, 3, 4, 20, 0.1, 0.1, 0.2, 0.33, window=1, relaxed=relaxed
    ).eval()  # fmt: skip
    x = torch.randn(2, 5, 12)
    batch = encoder(x, LENGTHS)
    assert batch.isfinite().all()
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(batch[row, :length], alone[0], atol=1e-5, rtol=1e-4)


def test_names_of_weights_stay_as_saved_models_have_them():
    encoder = SelfAttention(
        12, 1, 3, 4, 20, 0.0, 0.0, 0.0, 0.0, positions="learned", norm_first=True
    )  # fmt: skip
    assert list(encoder.state_dict()) == [
        "layers.0.attention.query_key_value.weight", "layers.0.attention.output.weight",
        "layers.0.attention_norm.weight", "layers.0.attention_norm.bias",
        "layers.0.up.weight", "layers.0.up.bias", "layers.0.down.weight", "layers.0.down.bias",
        "layers.0.feedforward_norm.weight", "layers.0.feedforward_norm.bias",
        "norm.weight", "norm.bias", "positions.weight",
    ]  # fmt: skip
