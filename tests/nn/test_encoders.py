"""Properties of all encoders: padding and positions outside a window have no effect."""

import pytest
import torch

from depkit.nn.factored import Factored
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from tests.nn.textbook import LENGTHS, make

WINDOWS = [{}, {"window": 1}, {"window": 1, "relaxed": True}, {"window": 2, "relaxed": True}]

MAKERS = [
    lambda: BiLSTM(6, 5, 3, 0.33).double().eval(),
    lambda: make(SelfAttention, positions="learned", longest=4),
    *(lambda options=options: make(SelfAttention, **options) for options in WINDOWS),
    *(lambda options=options: make(Factored, **options) for options in WINDOWS),
]


@pytest.mark.parametrize("make_encoder", MAKERS)
def test_padding_changes_nothing(make_encoder):
    encoder = make_encoder()
    x = torch.randn(len(LENGTHS), 6, 6, dtype=torch.float64)
    batch = encoder(x, LENGTHS)
    assert batch.isfinite().all()
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(batch[row, :length], alone[0])


@pytest.mark.parametrize("set_later", [False, True])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("kind", [SelfAttention, Factored])
def test_a_layer_reads_exactly_its_window(kind, relaxed, set_later):
    length, window = 10, {"window": 2, "relaxed": relaxed}
    encoder = make(kind, 1, **({} if set_later else window))
    for name, value in window.items():
        setattr(encoder, name, value)
    x = torch.randn(1, length, 6, dtype=torch.float64, requires_grad=True)
    free = {0, 1, length - 1} if relaxed else set()
    for i in range(length):
        gradient = torch.autograd.grad(encoder(x, torch.tensor([length]))[0, i, 0], x)[0]
        visible = {j for j in range(length) if gradient[0, j].abs().max() > 0}
        assert visible == {j for j in range(length) if abs(i - j) <= 2 or i in free or j in free}
