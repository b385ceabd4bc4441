"""Properties of all encoders: padding and positions outside a window have no effect."""

from dataclasses import replace

import pytest
import torch

from depkit.nn import settings
from depkit.nn.factored import Factored
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from depkit.nn.stacked import Stacked
from tests.nn.textbook import LENGTHS, make

STACKED = settings.Stacked(
    lstm_layers=2, lstm_size=5, lstm_dropout=0.33, layers=2, heads=2, head_size=3, feedforward=8
)
WINDOWS = [
    {}, {"window": 1}, {"window": 1, "relaxed": True}, {"window": 2, "relaxed": True},
    {"window": 1, "relaxed": True, "stop": True},
]  # fmt: skip

MAKERS = [
    lambda: BiLSTM(6, settings.BiLSTM(layers=3, size=5)).double().eval(),
    lambda: make(SelfAttention, positions="learned", max_positions=4),
    *(lambda options=options: make(SelfAttention, **options) for options in WINDOWS),
    *(lambda options=options: make(Factored, **options) for options in WINDOWS),
    *(
        lambda options=options: make(
            SelfAttention, size=4, positions="rotary", convolution=5, norm_first=True, **options
        )
        for options in WINDOWS
    ),
    *(lambda options=options: make_stacked(**options).double().eval() for options in WINDOWS),
]


def make_stacked(size: int = 4, stop=False, **options) -> Stacked:
    torch.manual_seed(0)
    return Stacked(6, replace(STACKED, size=size, **options), stop=stop)


def test_a_stacked_encoder_is_self_attention_over_a_bilstm():
    for size in (4, 10):  # 10 is the width of the BiLSTM's output, which is then not projected
        encoder = make_stacked(size).eval()
        x = torch.randn(len(LENGTHS), 6, 6)
        vectors = encoder.lstm(x, LENGTHS)
        if size == 4:
            vectors = vectors @ encoder.projection.weight.T + encoder.projection.bias
        assert vectors.shape[-1] == encoder.output_size == size
        torch.testing.assert_close(encoder(x, LENGTHS), encoder.selfattention(vectors, LENGTHS))


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
