"""CharConcat against explicit computations."""

import pytest
import torch

from depkit.nn.charconcat import CharConcat
from depkit.nn.charlstm import CharLSTM


def make_words(lengths: list[int], longest: int) -> torch.Tensor:
    """Return words of the characters 1, 2, 3 ..., padded with 0: [words, longest]."""
    position = torch.arange(1, longest + 1).expand(len(lengths), -1)
    return position.masked_fill(position > torch.tensor(lengths)[:, None], 0)


def expected_vector(layer: CharConcat, length: int) -> torch.Tensor:
    """Return the first eight characters, then the last eight in reverse order, padded with 0."""
    word = [*range(1, length + 1)]
    first, last = (word + [0] * 7)[:8], (word[::-1] + [0] * 7)[:8]
    return torch.cat([layer.embedding.weight[character] for character in first + last])


@pytest.mark.parametrize("lengths", [[1, 7, 8, 9, 16, 20], [9, 20, 1, 16, 8, 7]])
@pytest.mark.parametrize("longest", [20, 32])
def test_vectors_of_words_in_any_order_are_exact(lengths, longest):
    torch.manual_seed(0)
    layer = CharConcat(21, 3, 48, 0.0)
    vectors = layer(make_words(lengths, longest), torch.tensor(lengths), [(len(lengths), longest)])
    assert vectors.shape == (len(lengths), 48)
    for row, length in enumerate(lengths):
        assert torch.equal(vectors[row], expected_vector(layer, length))


@pytest.mark.parametrize("longest", range(1, 8))
def test_words_shorter_than_eight_characters_are_padded(longest):
    torch.manual_seed(0)
    layer = CharConcat(21, 3, 48, 0.0)
    vectors = layer(make_words([1, longest], longest), torch.tensor([1, longest]))
    assert torch.equal(vectors[0], expected_vector(layer, 1))
    wide = layer(make_words([longest], 20), torch.tensor([longest]))
    assert torch.equal(vectors[1], wide[0])


def test_gradients_reach_the_characters_that_are_read():
    layer = CharConcat(21, 3, 48, 0.0)
    layer(make_words([20], 20), torch.tensor([20])).sum().backward()
    counts = layer.embedding.weight.grad[:, 0].tolist()
    assert counts == [0.0] + [1.0] * 8 + [0.0] * 4 + [1.0] * 8


def test_dropout_is_elementwise_and_only_in_training():
    torch.manual_seed(0)
    layer = CharConcat(21, 32, 512, 0.5)
    torch.nn.init.ones_(layer.embedding.weight)
    words, lengths = make_words([16] * 50, 16), torch.tensor([16] * 50)
    vectors = layer(words, lengths)
    assert set(vectors.unique().tolist()) == {0.0, 2.0}
    assert vectors.mean().item() == pytest.approx(1.0, abs=0.05)
    assert torch.equal(layer.eval()(words, lengths), torch.ones(50, 512))


def test_the_interface_is_that_of_charlstm():
    words, lengths, groups = make_words([2, 3, 9], 9), torch.tensor([2, 3, 9]), [(2, 3), (3, 9)]
    concat, lstm = CharConcat(21, 4, 64, 0.0), CharLSTM(21, 4, 64, 0.0)
    assert concat(words, lengths, groups).shape == lstm(words, lengths, groups).shape
