"""Attention with a graph against equations 3 and 4, computed by plain loops."""

import math

import pytest
import torch

from depkit.nn.attention_mask import attention_mask
from depkit.nn.graph_attention import (
    GraphAttention,
    heads_of_positions,
)
from depkit.nn.selfattention import SelfAttention
from depkit.nn.settings import SelfAttention as Settings
from tests.nn.textbook import find_relation


def test_w0_and_padding_have_no_heads():
    heads = torch.tensor([[2, 0, -1], [-1, -1, -1]], dtype=torch.int32)
    expected = torch.tensor([[-1, 2, 0, -1, -1], [-1] * 5])
    torch.testing.assert_close(heads_of_positions(heads, 5), expected)


@pytest.mark.parametrize("has_arcs", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_the_result_and_its_gradient_equal_those_of_the_equations(seed, has_arcs):
    torch.manual_seed(seed)
    batch, heads, length, size = 2, 3, 6, 4
    query, key, value = (
        torch.randn(batch, heads, length, size, dtype=torch.double, requires_grad=True)
        for _ in range(3)
    )
    attention = GraphAttention(size).double()
    torch.nn.init.normal_(attention.keys)
    torch.nn.init.normal_(attention.values)
    lengths = torch.tensor([length, 4])
    # The head of each position is an earlier one, or there is none.
    positions = torch.arange(length)
    graph = (torch.rand(batch, length) * (positions + 1)).long() - 1
    mask = attention_mask(lengths, length)
    computed = attention(query, key, value, mask, graph=graph if has_arcs else None, dropout=0.0)
    if not has_arcs:
        graph = torch.full_like(graph, -1)
    expected = torch.zeros(batch, length, heads, size, dtype=torch.double)
    for b in range(batch):
        for h in range(heads):
            for i in range(length):
                attended = range(int(lengths[b]))
                relations = [find_relation(graph[b].tolist(), i, j) for j in attended]
                scores = [
                    query[b, h, i] @ (key[b, h, j] + attention.keys[relations[j]]) for j in attended
                ]
                weights = torch.stack(scores).div(math.sqrt(size)).softmax(0)
                for j in attended:
                    term = value[b, h, j] + attention.values[relations[j]]
                    expected[b, i, h] = expected[b, i, h] + weights[j] * term
    torch.testing.assert_close(computed, expected)
    inputs = [query, key, value, *attention.parameters()]
    weight = torch.randn_like(expected)
    gradients = [
        torch.autograd.grad((x * weight).sum(), inputs, materialize_grads=True)
        for x in (computed, expected)
    ]
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_an_encoder_reads_the_graph_and_none_is_one_without_arcs(positions):
    torch.manual_seed(1)
    settings = Settings(layers=2, heads=2, head_size=4, feedforward=16, positions=positions)
    encoder = SelfAttention(8, settings, reads_graph=True).eval()
    x, lengths = torch.randn(2, 5, 8), torch.tensor([5, 3])
    empty = torch.full((2, 5), -1)
    tree = heads_of_positions(torch.tensor([[2, 0, 2, 3], [2, 0, -1, -1]]), 5)
    torch.testing.assert_close(encoder(x, lengths), encoder(x, lengths, empty))
    assert not torch.allclose(encoder(x, lengths, tree), encoder(x, lengths, empty))
    (alone,) = encoder(x[1:, :3], lengths[1:], tree[1:, :3])
    torch.testing.assert_close(encoder(x, lengths, tree)[1, :3], alone)
