"""What holds of every encoder: sentences do not see padding, nor what is outside of a window."""

import pytest
import torch

from depkit.nn.factored import Factored
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from tests.nn.textbook import LENGTHS, make

WINDOWS = [{}, {"window": 1}, {"window": 1, "relaxed": True}, {"window": 2, "relaxed": True}]


MADE = [
    lambda: BiLSTM(6, 5, 3, 0.33).double().eval(),
    lambda: make(SelfAttention, positions="learned", longest=4),
    *(lambda o=o: make(SelfAttention, **o) for o in WINDOWS),
    *(lambda o=o: make(Factored, **o) for o in WINDOWS),
]


@pytest.mark.parametrize("made", MADE)
def test_padding_changes_nothing(made):
    encoder = made()
    x = torch.randn(len(LENGTHS), 6, 6, dtype=torch.float64)
    batch = encoder(x, LENGTHS)
    assert batch.isfinite().all()
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(batch[row, :length], alone[0])


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("kind", [SelfAttention, Factored])
def test_a_layer_sees_its_window_and_nothing_else(kind, relaxed, late):
    length, window = 10, {"window": 2, "relaxed": relaxed}
    encoder = make(kind, 1, **({} if late else window))
    for name, value in window.items():
        setattr(encoder, name, value)
    x = torch.randn(1, length, 6, dtype=torch.float64, requires_grad=True)
    free = {0, 1, length - 1} if relaxed else set()
    for i in range(length):
        gradient = torch.autograd.grad(encoder(x, torch.tensor([length]))[0, i, 0], x)[0]
        seen = {j for j in range(length) if gradient[0, j].abs().max() > 0}
        assert seen == {j for j in range(length) if abs(i - j) <= 2 or i in free or j in free}
