"""The factored encoder against the paper's formulas."""

import math

import pytest
import torch

from depkit.nn import selfattention
from depkit.nn.factored import Factored, FactoredAttention
from tests.nn import textbook
from tests.nn.textbook import FEATURES, HEADS, LENGTHS, SIZE, check, sentences


def make(**options) -> Factored:
    return textbook.make(Factored, **options)


POSITIONS, HALVES = ("learned", "sinusoidal"), ("content", "position", "both")
OPTIONS = [
    *({"positions": kind, "norm_first": first} for kind in POSITIONS for first in (False, True)),
    *({"longest": longest} for longest in (1, 3, 5)),  # later positions share the last
    *({"attend": [half]} for half in HALVES),
    {"attend": ["content", "position"]},
    # 5 is as wide as the longest sentence
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
    real = torch.nn.functional.scaled_dot_product_attention

    def noting_sizes(query, key, value, **others):
        sizes.append(query.shape[-1])
        return real(query, key, value, **others)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", noting_sizes)
    monkeypatch.setitem(selfattention._HEAD_MULTIPLE, "cpu", 8)
    check(make(**options))
    assert set(sizes) == {16}  # two halves of 5, padded


def test_gradients_reach_all_weights_through_padding_and_windows():
    encoder = make(window=1).train()
    encoder(sentences(), LENGTHS).square().sum().backward()
    for name, weights in encoder.named_parameters():
        assert weights.grad.isfinite().all(), name
        assert weights.grad.abs().max() > 0, name


def test_input_dropout_falls_on_content_only_and_is_shared_over_positions():
    encoder = make().train()
    seen = []
    encoder.input_norm.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    x = sentences()
    encoder(x, LENGTHS)
    content, position = seen[0].chunk(2, dim=-1)
    assert torch.equal(position, encoder.positions.weight[:6].expand(len(LENGTHS), -1, -1))
    kept = content / x
    assert torch.equal(kept != 0, (kept != 0)[:, :1].expand_as(kept))
    assert 0 < (kept != 0).double().mean() < 1
    torch.testing.assert_close(kept[kept != 0], torch.full_like(kept[kept != 0], 1 / 0.7))


def test_each_dropout_is_where_it_belongs():
    (layer,) = make(layers=1).layers
    dropouts = (layer.attention.dropout, layer.feedforward_dropout.p, layer.residual_dropout.p)
    assert dropouts == (0.1, 0.2, 0.4)


def test_attention_drops_weights_in_training_only():
    torch.manual_seed(0)
    attention = FactoredAttention(FEATURES, HEADS, SIZE, 0.5)
    x, mask = torch.randn(1, 6, 2 * FEATURES), torch.ones(1, 1, 1, 6, dtype=torch.bool)
    assert not torch.equal(attention(x, mask), attention(x, mask))
    attention.eval()
    assert torch.equal(attention(x, mask), attention(x, mask))


def test_each_half_is_initialised_as_a_layer_of_its_own():
    (layer,) = Factored(8, 1, 2, 4, 16, 0.0, 0.0, 0.0, 0.0).layers
    for half in ("content", "position"):
        output, up, down = (
            getattr(part, half).weight for part in (layer.attention.output, layer.up, layer.down)
        )
        for rows in (output, up.T, down):
            torch.testing.assert_close(rows @ rows.T, torch.eye(8), atol=1e-5, rtol=0)
        assert getattr(layer.up, half).bias.eq(0).all()
        bound = math.sqrt(6 / (8 + 3 * 2 * 4))
        largest = getattr(layer.attention.query_key_value, half).weight.abs().max().item()
        assert 0.9 * bound < largest <= bound
    assert not torch.equal(layer.up.content.weight, layer.up.position.weight)


@pytest.mark.parametrize(
    ("attend", "message"),
    [
        (["content", "none"], "'none' is none of both, content, position"),
        (["both"] * 3, "3 entries for 2 layers"),
        ("content", r"\['content'\] rather than 'content'"),
    ],
)
def test_a_wrong_attend_is_refused_and_changes_nothing(attend, message):
    with pytest.raises(ValueError, match=message):
        make(attend=attend)
    encoder = make(attend=["content", "position"])
    with pytest.raises(ValueError, match=message):
        encoder.attend = attend
    assert encoder.attend == ("content", "position")
    encoder.attend = ["position"]
    assert encoder.attend == ("position", "position")
    encoder.attend = ()
    assert encoder.attend == make().attend == ("both", "both")
