"""Attention with a graph against equations 3 and 4, computed by plain loops."""

import math

import pytest
import torch

from depkit.nn.attention_mask import attention_mask
from depkit.nn.graph_attention import (
    NO_RELATION,
    TO_DEPENDENT,
    TO_HEAD,
    GraphAttention,
    arc_relations,
    relation_masks,
)
from depkit.nn.selfattention import SelfAttention


def test_relations_are_those_of_the_arcs_in_both_directions():
    heads = torch.tensor([[2, 0, -1], [-1, -1, -1]])
    relations = arc_relations(heads, 5)
    assert relations.dtype == torch.int8 and relations.shape == (2, 5, 5)
    expected = {(0, 2, 1): TO_DEPENDENT, (0, 1, 2): TO_HEAD,
                (0, 0, 2): TO_DEPENDENT, (0, 2, 0): TO_HEAD}  # fmt: skip
    for index in relations.nonzero().tolist():
        assert relations[tuple(index)] == expected.pop(tuple(index))
    assert not expected and NO_RELATION == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_result_and_its_gradient_equal_those_of_the_equations(seed):
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
    relations = torch.randint(0, 3, (batch, length, length), dtype=torch.int8)
    mask = attention_mask(lengths, length)
    masks = relation_masks(relations, torch.double)
    computed = attention(query, key, value, mask, masks, 0.0)
    expected = torch.zeros(batch, length, heads, size, dtype=torch.double)
    for b in range(batch):
        for h in range(heads):
            for i in range(length):
                attended = range(int(lengths[b]))
                scores = [
                    query[b, h, i] @ (key[b, h, j] + attention.keys[int(relations[b, i, j])])
                    for j in attended
                ]
                weights = torch.stack(scores).div(math.sqrt(size)).softmax(0)
                for j in attended:
                    term = value[b, h, j] + attention.values[int(relations[b, i, j])]
                    expected[b, i, h] = expected[b, i, h] + weights[j] * term
    torch.testing.assert_close(computed, expected)
    inputs = [query, key, value, *attention.parameters()]
    weight = torch.randn_like(expected)
    gradients = [torch.autograd.grad((x * weight).sum(), inputs) for x in (computed, expected)]
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second)


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_an_encoder_reads_the_graph_and_none_is_one_without_arcs(positions):
    torch.manual_seed(1)
    encoder = SelfAttention(
        8, 2, 2, 4, 16, 0.0, 0.0, 0.0, 0.0, positions=positions, reads_graph=True
    ).eval()
    x, lengths = torch.randn(2, 5, 8), torch.tensor([5, 3])
    empty = arc_relations(torch.full((2, 4), -1), 5)
    tree = arc_relations(torch.tensor([[2, 0, 2, 3], [2, 0, -1, -1]]), 5)
    torch.testing.assert_close(encoder(x, lengths), encoder(x, lengths, empty))
    assert not torch.allclose(encoder(x, lengths, tree), encoder(x, lengths, empty))
    (alone,) = encoder(x[1:, :3], lengths[1:], tree[1:, :3, :3])
    torch.testing.assert_close(encoder(x, lengths, tree)[1, :3], alone)
