"""The factored encoder against the paper's formulas."""

import math

import pytest
import torch

from depkit.nn import selfattention, settings
from depkit.nn.factored import Factored, FactoredAttention
from depkit.nn.selfattention import PositionInfo
from tests.nn import textbook
from tests.nn.textbook import HEADS, INPUT_SIZE, LENGTHS, SIZE, check, sentences


def make(**options) -> Factored:
    return textbook.make(Factored, **options)


POSITIONS, HALVES = ("learned", "sinusoidal"), ("content", "position", "both")
OPTIONS = [
    *({"positions": kind, "norm_first": first} for kind in POSITIONS for first in (False, True)),
    *({"max_positions": size} for size in (1, 3, 5)),  # later positions share the last row
    *({"attend": [half]} for half in HALVES),
    {"attend": ["content", "position"]},
    # A window of 5 covers the longest sentence.
    *({"window": size, "relaxed": free} for size in (1, 2, 3, 5, 9) for free in (False, True)),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_encoder_equals_the_textbook(options):
    check(make(**options))


@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True}, {"window": 2}, {"attend": ["content", "both"]}]
)
def test_padded_heads_equal_the_textbook(options, monkeypatch):
    sizes = []
    original = torch.nn.functional.scaled_dot_product_attention

    def record_sizes(query, key, value, **options):
        sizes.append(query.shape[-1])
        return original(query, key, value, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", record_sizes)
    monkeypatch.setitem(selfattention._HEAD_MULTIPLE, "cpu", 8)
    monkeypatch.setattr(selfattention, "_PLAIN_DEVICES", ())
    check(make(**options))
    assert set(sizes) == {16}  # two halves of 5, padded


def test_gradients_reach_all_weights_through_padding_and_windows():
    encoder = make(window=1).train()
    encoder(sentences(), LENGTHS).square().sum().backward()
    for name, weights in encoder.named_parameters():
        assert weights.grad.isfinite().all(), name
        assert weights.grad.abs().max() > 0, name


def test_input_dropout_drops_columns_of_the_content_only():
    encoder = make().train()
    inputs = []
    encoder.input_norm.register_forward_pre_hook(lambda module, args: inputs.append(args[0]))
    x = sentences()
    encoder(x, LENGTHS)
    content, position = inputs[0].chunk(2, dim=-1)
    assert torch.equal(position, encoder.positions.weight[:6].expand(len(LENGTHS), -1, -1))
    scale = content / x
    assert torch.equal(scale != 0, (scale != 0)[:, :1].expand_as(scale))
    assert 0 < (scale != 0).double().mean() < 1
    torch.testing.assert_close(scale[scale != 0], torch.full_like(scale[scale != 0], 1 / 0.7))


def test_every_dropout_rate_is_used_in_its_module():
    (layer,) = make(layers=1).layers
    dropouts = (layer.attention.dropout, layer.feedforward_dropout.p, layer.residual_dropout.p)
    assert dropouts == (0.1, 0.2, 0.4)


def test_attention_drops_weights_in_training_only():
    torch.manual_seed(0)
    attention = FactoredAttention(
        INPUT_SIZE, settings.Factored(heads=HEADS, head_size=SIZE, attention_dropout=0.5)
    )
    x = torch.randn(1, 6, 2 * INPUT_SIZE)
    ones = torch.ones(1, 1, 1, 6, dtype=torch.bool)
    positions = PositionInfo(ones, ones)
    assert not torch.equal(attention(x, positions), attention(x, positions))
    attention.eval()
    assert torch.equal(attention(x, positions), attention(x, positions))


def test_the_halves_are_initialised_separately():
    sizes = settings.Factored(layers=1, heads=2, head_size=4, feedforward=16)
    (layer,) = Factored(8, sizes).layers
    for half in ("content", "position"):
        output, up, down = (
            getattr(module, half).weight
            for module in (layer.attention.output, layer.up, layer.down)
        )
        for rows in (output, up.T, down):
            torch.testing.assert_close(rows @ rows.T, torch.eye(8), atol=1e-5, rtol=0)
        assert getattr(layer.up, half).bias.eq(0).all()
        bound = math.sqrt(6 / (8 + 3 * 2 * 4))
        largest = getattr(layer.attention.query_key_value, half).weight.abs().max().item()
        assert 0.9 * bound < largest <= bound
    assert not torch.equal(layer.up.content.weight, layer.up.position.weight)


@pytest.mark.parametrize(
    ("attend", "expected"),
    [([], ["both", "both"]), (["content"], ["content", "content"]), (["position", "both"],) * 2],
)
def test_each_layer_has_an_entry_of_attend(attend, expected):
    assert [layer.attention.attend for layer in make(attend=attend).layers] == expected


@pytest.mark.parametrize("positions", POSITIONS)
def test_positions_can_be_added_to_whole_vectors(positions):
    """Only the matrices are factored then, which is the control in section 3 of the paper."""
    encoder = textbook.make(Factored, positions=positions, combine_positions="sum")
    assert encoder.input_size == encoder.output_size == INPUT_SIZE
    assert encoder.layers[0].attention.query_key_value.content.in_features == INPUT_SIZE // 2
    x = sentences()
    added = x + encoder.position_vectors(x)
    expected = encoder.run_layers(added, LENGTHS)
    torch.testing.assert_close(encoder(x, LENGTHS), expected)
    assert settings.Factored(size=7, combine_positions="sum").input_size == 14
