"""The factored encoder against the paper's formulas, written out, and its block-sparse form."""

import math

import pytest
import torch
from torch import Tensor

from depkit.nn import selfattention
from depkit.nn.factored import Factored, FactoredAttention, FactoredLayer
from depkit.nn.selfattention import SelfAttentionLayer, sinusoids

FEATURES, HEADS, SIZE, FEEDFORWARD = 6, 3, 5, 10  # each half's; a head is 10, no multiple of 8
LENGTHS = torch.tensor([6, 2, 1, 4])


def make(layers: int = 2, **options) -> Factored:
    torch.manual_seed(0)
    dropout = (0.2, 0.1, 0.2, 0.3)
    return Factored(FEATURES, layers, HEADS, SIZE, FEEDFORWARD, *dropout, **options).double().eval()


def sentences() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(len(LENGTHS), 6, FEATURES, dtype=torch.float64)


def everywhere(query: int, key: int) -> bool:
    return True


def textbook_norm(norm: torch.nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return (
        centred / (centred.square().mean(-1, keepdim=True) + 1e-3).sqrt() * norm.weight + norm.bias
    )


def textbook_attention(layer: FactoredAttention, x: Tensor, attend: str, allowed) -> Tensor:
    """One sentence, [length, 2 * features], head by head and word by word, one softmax."""
    parts = (layer.query_key_value.content, layer.query_key_value.position)
    content, position = (part.weight.view(3, HEADS, SIZE, FEATURES) for part in parts)
    rows = []
    for i in range(len(x)):
        content_heads, position_heads = [], []
        for h in range(HEADS):
            keys = [j for j in range(len(x)) if allowed(i, j)]
            logits = []
            for j in keys:
                of_content = (content[0, h] @ x[i, :FEATURES]) @ (content[1, h] @ x[j, :FEATURES])
                of_position = (position[0, h] @ x[i, FEATURES:]) @ (
                    position[1, h] @ x[j, FEATURES:]
                )
                kept = {
                    "both": of_content + of_position,
                    "content": of_content,
                    "position": of_position,
                }[attend]
                logits.append(kept / math.sqrt(2 * SIZE))
            weights = torch.stack(logits).softmax(0)
            pairs = list(zip(weights, keys, strict=True))
            content_heads.append(sum(w * (content[2, h] @ x[j, :FEATURES]) for w, j in pairs))
            position_heads.append(sum(w * (position[2, h] @ x[j, FEATURES:]) for w, j in pairs))
        of_content = layer.output.content.weight @ torch.cat(content_heads)
        of_position = layer.output.position.weight @ torch.cat(position_heads)
        rows.append(torch.cat((of_content, of_position)))
    return torch.stack(rows)


def textbook_feedforward(layer: FactoredLayer, x: Tensor) -> Tensor:
    rows = []
    for row in x:
        halves = []
        for name, half in (("content", row[:FEATURES]), ("position", row[FEATURES:])):
            up, down = getattr(layer.up, name), getattr(layer.down, name)
            hidden = (up.weight @ half + up.bias).clamp(min=0)
            halves.append(down.weight @ hidden + down.bias)
        rows.append(torch.cat(halves))
    return torch.stack(rows)


def textbook_encoder(encoder: Factored, x: Tensor, allowed=everywhere) -> Tensor:
    """One sentence, [length, features] -> [length, 2 * features]."""
    if encoder.positions is None:
        place = sinusoids(len(x), FEATURES)
    else:
        last = encoder.positions.num_embeddings - 1
        place = torch.stack([encoder.positions.weight[min(i, last)] for i in range(len(x))])
    x = textbook_norm(encoder.input_norm, torch.cat((x, place), dim=-1))
    for layer, attend in zip(encoder.layers, encoder.attend, strict=True):
        if layer.norm_first:
            normed = textbook_norm(layer.attention_norm, x)
            x = x + textbook_attention(layer.attention, normed, attend, allowed)
            x = x + textbook_feedforward(layer, textbook_norm(layer.feedforward_norm, x))
        else:
            attended = textbook_attention(layer.attention, x, attend, allowed)
            x = textbook_norm(layer.attention_norm, x + attended)
            x = textbook_norm(layer.feedforward_norm, x + textbook_feedforward(layer, x))
    return textbook_norm(encoder.norm, x) if encoder.layers[0].norm_first else x


def randomise(encoder: torch.nn.Module) -> None:
    """Biases and the weights of LayerNorms start as zeros and ones, and would hide mistakes."""
    torch.manual_seed(2)
    with torch.no_grad():
        for weights in encoder.parameters():
            if weights.dim() == 1:
                weights.copy_(torch.randn_like(weights))


def check(encoder: Factored, allowed_in=lambda length: everywhere) -> None:
    """A padded batch equals the textbook, sentence by sentence."""
    randomise(encoder)
    x = sentences()
    got = encoder(x, LENGTHS)
    assert got.shape == (len(LENGTHS), 6, encoder.features) == (len(LENGTHS), 6, 2 * FEATURES)
    assert got.isfinite().all()
    for row, length in enumerate(LENGTHS.tolist()):
        expected = textbook_encoder(encoder, x[row, :length], allowed_in(length))
        torch.testing.assert_close(got[row, :length], expected)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_encoder_equals_the_textbook(positions, norm_first):
    check(make(positions=positions, norm_first=norm_first))


@pytest.mark.parametrize("longest", [1, 3, 5])
def test_later_positions_share_the_last(longest):
    check(make(longest=longest))


@pytest.mark.parametrize("attend", [["content"], ["position"], ["both"], ["content", "position"]])
def test_logits_of_one_half_only(attend):
    encoder = make()
    encoder.attend = attend
    assert encoder.attend == tuple(attend * 2 if len(attend) == 1 else attend)
    check(encoder)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_windows_equal_the_textbook(window, relaxed):
    def allowed_in(length):
        free = {0, 1, length - 1} if relaxed else set()
        return lambda i, j: abs(i - j) <= window or i in free or j in free

    encoder = make()
    encoder.window, encoder.relaxed = window, relaxed
    check(encoder, allowed_in)


@pytest.mark.parametrize("options", [{}, {"window": 2}, {"attend": ["content", "both"]}])
def test_padded_heads_equal_the_textbook(options, monkeypatch):
    sizes = []
    real = torch.nn.functional.scaled_dot_product_attention

    def noting_sizes(query, key, value, **others):
        sizes.append(query.shape[-1])
        return real(query, key, value, **others)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", noting_sizes)
    monkeypatch.setitem(selfattention._HEAD_MULTIPLE, "cpu", 8)
    window = options.get("window", 6)
    check(make(**options), lambda length: lambda i, j: abs(i - j) <= window)
    assert set(sizes) == {16}  # two halves of 5, padded


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_layer_is_a_block_sparse_layer(norm_first, padded, monkeypatch):
    """Section 3: as one layer of twice the width whose matrices have two blocks; gradients too."""
    if padded:
        monkeypatch.setitem(selfattention._HEAD_MULTIPLE, "cpu", 8)
    torch.manual_seed(0)
    no_dropout = (0.0, 0.0, 0.0)
    layer = FactoredLayer(FEATURES, HEADS, SIZE, FEEDFORWARD, *no_dropout, norm_first).double()
    dense = SelfAttentionLayer(
        2 * FEATURES, HEADS, 2 * SIZE, 2 * FEEDFORWARD, *no_dropout, norm_first
    ).double()
    randomise(layer)
    with torch.no_grad():
        dense.attention.query_key_value.weight.zero_()
        dense.attention.output.weight.zero_()
        for weights, factored in blocks(dense, layer):
            weights.copy_(factored)
        for name in ("attention_norm", "feedforward_norm"):
            getattr(dense, name).load_state_dict(getattr(layer, name).state_dict())
        dense.up.weight.copy_(torch.block_diag(layer.up.content.weight, layer.up.position.weight))
        dense.up.bias.copy_(torch.cat((layer.up.content.bias, layer.up.position.bias)))
        dense.down.weight.copy_(
            torch.block_diag(layer.down.content.weight, layer.down.position.weight)
        )
        dense.down.bias.copy_(torch.cat((layer.down.content.bias, layer.down.position.bias)))
    mask = (torch.arange(6) < LENGTHS[:, None])[:, None, None, :]
    x = torch.randn(len(LENGTHS), 6, 2 * FEATURES, dtype=torch.float64)
    weight = torch.randn_like(x)
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    got, expected = layer(inputs[0], mask), dense(inputs[1], mask)
    torch.testing.assert_close(got, expected)
    (got * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad)
    for of_dense, of_layer in blocks(dense, layer, gradient=True):
        torch.testing.assert_close(of_layer, of_dense)
    for name in ("up", "down"):
        content, position = getattr(layer, name).content, getattr(layer, name).position
        whole, (rows, columns) = getattr(dense, name).weight.grad, content.weight.shape
        torch.testing.assert_close(content.weight.grad, whole[:rows, :columns])
        torch.testing.assert_close(position.weight.grad, whole[rows:, columns:])
        bias = torch.cat((content.bias.grad, position.bias.grad))
        torch.testing.assert_close(bias, getattr(dense, name).bias.grad)


def blocks(
    dense: SelfAttentionLayer, layer: FactoredLayer, gradient: bool = False
) -> list[tuple[Tensor, Tensor]]:
    """Views of the attention's blocks in the dense matrices, each with its factored matrix."""

    def of(linear: torch.nn.Linear) -> Tensor:
        return linear.weight.grad if gradient else linear.weight.data

    inward = of(dense.attention.query_key_value).view(3, HEADS, 2, SIZE, 2, FEATURES)
    outward = of(dense.attention.output).view(2, FEATURES, HEADS, 2, SIZE)
    pairs = []
    for half, name in enumerate(("content", "position")):
        projection = of(getattr(layer.attention.query_key_value, name))
        pairs.append((inward[:, :, half, :, half], projection.view(3, HEADS, SIZE, FEATURES)))
        output = of(getattr(layer.attention.output, name))
        pairs.append((outward[half, :, :, half], output.view(FEATURES, HEADS, SIZE)))
    return pairs


@pytest.mark.parametrize("options", [{}, {"window": 1}, {"window": 2, "relaxed": True}])
def test_padding_changes_nothing(options):
    encoder = make(**options)
    x = sentences()
    batch = encoder(x, LENGTHS)
    assert batch.isfinite().all()
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(batch[row, :length], alone[0])


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_window_wider_than_the_sentence_is_none(relaxed):
    encoder = make()
    x = sentences()
    without = encoder(x, LENGTHS)
    encoder.window, encoder.relaxed = 5, relaxed
    within = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(within[row, :length], without[row, :length])


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_layer_sees_its_window_and_nothing_else(relaxed):
    encoder = make(layers=1, window=2, relaxed=relaxed)
    length = 10
    torch.manual_seed(1)
    x = torch.randn(1, length, FEATURES, dtype=torch.float64, requires_grad=True)
    free = {0, 1, length - 1} if relaxed else set()
    for i in range(length):
        gradient = torch.autograd.grad(encoder(x, torch.tensor([length]))[0, i, 0], x)[0]
        seen = {j for j in range(length) if gradient[0, j].abs().max() > 0}
        expected = {j for j in range(length) if abs(i - j) <= 2 or i in free or j in free}
        assert seen == expected


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
    layer = FactoredLayer(FEATURES, HEADS, SIZE, FEEDFORWARD, 0.1, 0.2, 0.3)
    assert layer.attention.dropout == 0.1
    assert layer.feedforward_dropout.p == 0.2
    assert layer.residual_dropout.p == 0.3


def test_attention_drops_weights_in_training_only():
    torch.manual_seed(0)
    attention = FactoredAttention(FEATURES, HEADS, SIZE, 0.5)
    x, mask = torch.randn(1, 6, 2 * FEATURES), torch.ones(1, 1, 1, 6, dtype=torch.bool)
    assert not torch.equal(attention(x, mask), attention(x, mask))
    attention.eval()
    assert torch.equal(attention(x, mask), attention(x, mask))


def test_each_half_is_initialised_as_a_layer_of_its_own():
    layer = FactoredLayer(8, 2, 4, 16, 0.0, 0.0, 0.0)
    identity = torch.eye(8)
    for half in ("content", "position"):
        output, up, down = (
            getattr(part, half).weight for part in (layer.attention.output, layer.up, layer.down)
        )
        torch.testing.assert_close(output @ output.T, identity, atol=1e-5, rtol=0)
        torch.testing.assert_close(up.T @ up, identity, atol=1e-5, rtol=0)
        torch.testing.assert_close(down @ down.T, identity, atol=1e-5, rtol=0)
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


def test_no_attend_is_both_everywhere():
    assert make().attend == ("both", "both")
    encoder = make(attend=["content"])
    encoder.attend = ()
    assert encoder.attend == ("both", "both")
