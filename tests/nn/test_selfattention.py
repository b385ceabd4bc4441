"""Self-attention against the paper's equations, written out."""

import math

import pytest
import torch

from depkit.nn import attention_mask, selfattention
from depkit.nn.positions import rotary_angles, rotate, sinusoids
from depkit.nn.selfattention import SelfAttention
from tests.nn.textbook import LENGTHS, check, make, sentences


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
    monkeypatch.setattr(selfattention, "_PLAIN_DEVICES", ())
    check(make(SelfAttention, positions=positions, norm_first=norm_first, max_positions=4))


OPTIONS = [
    {"positions": "rotary", "size": 4},
    {"positions": "rotary", "size": 6, "rotary_base": 50.0, "norm_first": True},
    {"positions": "rotary", "size": 4, "window": 2},
    {"positions": "rotary", "size": 4, "window": 1, "relaxed": True, "convolution": 3},
    {"window": 1, "relaxed": True, "stop": True},
    *({"convolution": kernel, "norm_first": True} for kernel in (1, 2, 3, 5, 8)),
    {"convolution": 3},
    {"activation": "silu"},
    {"zero_init": True, "convolution": 5, "activation": "silu", "positions": "rotary", "size": 4},
    {"input_norm": True},
    {"input_norm": True, "drop_positions": False, "positions": "learned"},
    {"combine_positions": "concat", "positions": "learned", "max_positions": 4},
    {"combine_positions": "concat", "input_norm": True},
    {"position_attention": True},
    {"position_attention": True, "combine_positions": "concat", "input_norm": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_equals_its_formula(options):
    check(make(SelfAttention, **options))


def test_rotary_attention_depends_on_distances_only():
    encoder = make(SelfAttention, positions="rotary", size=4)
    x = torch.randn(1, 6, 6, dtype=torch.float64)
    lengths = torch.tensor([6])
    reversed_words = encoder(x.flip(1), lengths).flip(1)
    moved = rotary_angles(26, 4, encoder.rotary_base)
    query, key = torch.randn(2, 3, 6, 4, dtype=torch.float64)
    for start in (0, 20):
        angles = [angle[start : start + 6] for angle in moved]
        products = rotate(query, *angles) @ rotate(key, *angles).transpose(1, 2)
        if start == 0:
            expected = products
    torch.testing.assert_close(products, expected, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(encoder(x, lengths), reversed_words)  # but on their direction, too


def test_zero_init_makes_a_layer_the_identity():
    encoder = make(
        SelfAttention, positions="rotary", size=4, zero_init=True, norm_first=True, convolution=3
    )
    x = sentences()
    normalised = torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-3)
    torch.testing.assert_close(encoder(x, LENGTHS), normalised)


@pytest.mark.parametrize("drop_positions", [False, True])
def test_input_dropout_drops_position_vectors_or_not(drop_positions):
    encoder = make(SelfAttention, drop_positions=drop_positions, layers=1).train()
    inputs = []
    encoder.layers[0].register_forward_pre_hook(lambda module, args: inputs.append(args[0]))
    encoder(torch.zeros(4, 6, 6, dtype=torch.float64), LENGTHS)
    vectors = sinusoids(6, 6).double()
    is_same = torch.isclose(inputs[0], vectors.expand_as(inputs[0])) | (vectors == 0)
    assert is_same.all() == (not drop_positions)
    assert bool((inputs[0][:, 1:] == 0).any()) == drop_positions


def test_names_of_weights_are_those_in_saved_models():
    encoder = make(SelfAttention, layers=1, positions="learned", norm_first=True)
    assert list(encoder.state_dict()) == [
        "layers.0.attention.query_key_value.weight", "layers.0.attention.output.weight",
        "layers.0.attention_norm.weight", "layers.0.attention_norm.bias",
        "layers.0.up.weight", "layers.0.up.bias", "layers.0.down.weight", "layers.0.down.bias",
        "layers.0.feedforward_norm.weight", "layers.0.feedforward_norm.bias",
        "norm.weight", "norm.bias", "positions.weight",
    ]  # fmt: skip


@pytest.mark.parametrize("window", [0, 2])
@pytest.mark.parametrize("multiple", [1, 3, 32])  # keys are padded to a multiple of this number
def test_attention_by_products_equals_fused_attention(multiple, window, monkeypatch):
    monkeypatch.setattr(attention_mask, "_KEY_MULTIPLE", multiple)
    encoder = make(SelfAttention, positions="rotary", size=4, window=window)
    x = sentences()
    by_products = encoder(x, LENGTHS)
    with torch.no_grad():
        monkeypatch.setattr(selfattention, "_MAX_STORED_QUERIES", 4)
        torch.testing.assert_close(encoder(x, LENGTHS), by_products)


@pytest.mark.parametrize("window", [0, 2])
def test_attention_of_many_queries_is_computed_in_parts(window, monkeypatch):
    encoder = make(SelfAttention, positions="rotary", size=4, window=window)
    encoder.eval()
    results = []
    for limit in (1024, 4):
        monkeypatch.setattr(selfattention, "_MAX_STORED_QUERIES", limit)
        x = sentences().requires_grad_()
        encoded = encoder(x, LENGTHS)
        encoded.square().sum().backward()
        results.append((encoded.detach(), x.grad))
    torch.testing.assert_close(*results)
