"""Outputs that share weights equal sums over their attributes."""

import torch

from depkit.nn.attributes import AttributeLinear

VALUES = [["a=1", "b=1"], ["a=1", "b=2"], ["b=2"], ["c"]]


def test_weights_are_sums_over_attributes():
    layer = AttributeLinear(5, VALUES)
    torch.nn.init.normal_(layer.weight)
    torch.nn.init.normal_(layer.bias)
    names = ["a=1", "b=1", "b=2", "c"]
    x = torch.randn(2, 3, 5)
    result = layer(x)
    assert result.shape == (2, 3, 4)
    for i, value in enumerate(VALUES):
        weight = layer.weight[i] + sum(layer.shared[names.index(name)] for name in value)
        torch.testing.assert_close(result[..., i], x @ weight + layer.bias[i])


def test_a_value_that_was_never_gold_is_learned_from_its_attributes():
    """a=2, b=1 is predicted where a=2 and b=1 are, though no training example has both."""
    torch.manual_seed(1)
    values = [["a=1", "b=1"], ["a=1", "b=2"], ["a=2", "b=2"], ["a=2", "b=1"]]
    inputs = torch.tensor([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])
    layer = AttributeLinear(2, values)
    optimizer = torch.optim.Adam([layer.shared], 0.1)
    for _ in range(100):
        loss = torch.nn.functional.cross_entropy(layer(inputs[:3]), torch.arange(3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert layer(inputs).argmax(-1).tolist() == [0, 1, 2, 3]
