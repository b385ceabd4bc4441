"""Self-attention against the paper's equations, written out."""

import math

import pytest

from depkit.nn import selfattention
from depkit.nn.selfattention import SelfAttention, sinusoids
from tests.nn.textbook import check, make


def test_sinusoids_are_equation_8():
    table = sinusoids(7, 10)
    for i in range(7):
        for j in range(5):
            angle = i / 10000 ** (2 * j / 10)
            assert table[i, 2 * j].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[i, 2 * j + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("multiple", [1, 8])  # heads are padded to a multiple of this number
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_encoder_equals_the_equations(positions, norm_first, multiple, monkeypatch):
    monkeypatch.setitem(selfattention._HEAD_MULTIPLE, "cpu", multiple)
    check(make(SelfAttention, positions=positions, norm_first=norm_first, longest=4))


def test_names_of_weights_are_those_in_saved_models():
    encoder = SelfAttention(12, 1, 3, 4, 20, 0.0, 0.0, 0.0, 0.0, "learned", norm_first=True)
    assert list(encoder.state_dict()) == [
        "layers.0.attention.query_key_value.weight", "layers.0.attention.output.weight",
        "layers.0.attention_norm.weight", "layers.0.attention_norm.bias",
        "layers.0.up.weight", "layers.0.up.bias", "layers.0.down.weight", "layers.0.down.bias",
        "layers.0.feedforward_norm.weight", "layers.0.feedforward_norm.bias",
        "norm.weight", "norm.bias", "positions.weight",
    ]  # fmt: skip
