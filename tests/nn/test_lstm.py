"""Reversing sequences instead of packing them is exact, and so is recurrent dropout."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from depkit.nn.charlstm import CharLSTM
from depkit.nn.lstm import BiLSTM, BiLSTMLayer, reorder, reversal_indices, run_lstm
from depkit.nn.settings import BiLSTM as Settings

LENGTHS = torch.tensor([5, 1, 3])


def test_reversal_leaves_padding_at_the_end():
    x = torch.arange(15).view(3, 5, 1)
    expected = [[4, 3, 2, 1, 0], [5, 6, 7, 8, 9], [12, 11, 10, 13, 14]]
    assert reorder(x, reversal_indices(LENGTHS, 5)).squeeze(-1).tolist() == expected


def test_characters_in_groups_equal_words_one_by_one():
    torch.manual_seed(0)
    layer = CharLSTM(10, 5, 7, 0.0)
    characters = torch.tensor([[3, 0, 0, 0], [4, 5, 0, 0], [6, 7, 8, 0], [9, 3, 4, 5]])
    lengths = torch.tensor([1, 2, 3, 4])
    vectors = layer(characters, lengths, [(2, 2), (4, 4)])
    assert vectors.shape == (4, 7)
    for word, length in enumerate(lengths.tolist()):
        alone = layer(characters[word : word + 1, :length], lengths[word : word + 1], [(1, length)])
        torch.testing.assert_close(vectors[word], alone[0])


def record_recurrent_weights(encoder, monkeypatch):
    """Return the LSTM and the recurrent weights of each call of `run_lstm` in one pass.

    There is a call for each layer and direction.
    """
    calls = []

    def record(lstm, x, recurrent=None):
        calls.append((lstm, recurrent))
        return run_lstm(lstm, x, recurrent)

    with monkeypatch.context() as patch:
        patch.setattr("depkit.nn.lstm.run_lstm", record)
        encoder(torch.ones(3, 5, 4), LENGTHS)
    return calls


@pytest.mark.parametrize("training", [False, True])
def test_layer_equals_a_loop_that_drops_the_recurrent_state(training):
    torch.manual_seed(0)
    layer = BiLSTMLayer(4, 6, 0.5).train(training)
    for weights in layer.parameters():
        nn.init.normal_(weights)  # biases start as zeros
    x = torch.randn(3, 5, 4, requires_grad=True)
    torch.manual_seed(1)
    result = layer(x, reversal_indices(LENGTHS, 5))

    torch.manual_seed(1)  # draw the same masks again, that of the forward LSTM first
    forward_mask, backward_mask = (torch.empty(6).bernoulli_(0.5) / 0.5 for _ in range(2))
    assert 0 < forward_mask.count_nonzero() < 6 and 0 < backward_mask.count_nonzero() < 6
    if not training:
        forward_mask, backward_mask = torch.ones(2, 6)
    expected = torch.zeros(3, 5, 12)
    for lstm, mask, half in (
        (layer.forward_lstm, forward_mask, slice(0, 6)),
        (layer.backward_lstm, backward_mask, slice(6, 12)),
    ):
        for row, length in enumerate(LENGTHS.tolist()):
            state, cell = torch.zeros(6), torch.zeros(6)
            steps = range(length) if half.start == 0 else reversed(range(length))
            for step in steps:
                gates = (
                    lstm.weight_ih_l0 @ x[row, step] + lstm.bias_ih_l0
                    + lstm.weight_hh_l0 @ (mask * state) + lstm.bias_hh_l0
                )  # fmt: skip
                input_gate, forget_gate, candidate, output_gate = gates.chunk(4)
                cell = forget_gate.sigmoid() * cell + input_gate.sigmoid() * candidate.tanh()
                state = output_gate.sigmoid() * cell.tanh()
                expected[row, step, half] = state
    real = torch.arange(5) < LENGTHS[:, None]
    torch.testing.assert_close(result[real], expected[real])

    inputs = [x, *layer.parameters()]
    weight = torch.randn(int(real.sum()), 12)
    gradients = torch.autograd.grad((result[real] * weight).sum(), inputs)
    expected_gradients = torch.autograd.grad((expected[real] * weight).sum(), inputs)
    torch.testing.assert_close(gradients, expected_gradients)
    recurrent = gradients[2]  # of the forward LSTM's weight_hh; 0 for dropped states
    assert recurrent[:, forward_mask == 0].count_nonzero() == 0
    assert recurrent[:, forward_mask != 0].count_nonzero() > 0


def test_recurrent_dropout_differs_by_layer_direction_and_batch(monkeypatch):
    torch.manual_seed(0)
    encoder = BiLSTM(4, Settings(layers=2, size=64, dropout=0.0, recurrent_dropout=0.4))
    calls = [call for _ in range(2) for call in record_recurrent_weights(encoder, monkeypatch)]
    masks = [recurrent / lstm.weight_hh_l0 for lstm, recurrent in calls]
    assert len(masks) == 8
    for i, mask in enumerate(masks):
        assert set(mask[0].mul(0.6).round(decimals=4).tolist()) == {0.0, 1.0}
        torch.testing.assert_close(mask, mask[:1].expand_as(mask))  # the same for every gate
        assert all(not torch.equal(mask[0] > 0, earlier[0] > 0) for earlier in masks[:i])


@pytest.mark.parametrize("mode", ["a rate of 0", "evaluation"])
def test_without_recurrent_dropout_no_mask_is_drawn(mode, monkeypatch):
    torch.manual_seed(0)
    settings = Settings(layers=2, size=6)
    rate = 0.0 if mode == "a rate of 0" else 0.5
    encoder = BiLSTM(4, replace(settings, recurrent_dropout=rate))
    encoder.train(mode == "a rate of 0")
    plain = BiLSTM(4, settings).train(encoder.training)
    plain.load_state_dict(encoder.state_dict())
    assert all(recurrent is None for _, recurrent in record_recurrent_weights(encoder, monkeypatch))
    x = torch.randn(3, 5, 4)
    results, states = [], []
    for module in (plain, encoder):
        torch.manual_seed(1)
        results.append(module(x, LENGTHS))
        states.append(torch.get_rng_state())
    assert torch.equal(*results) and torch.equal(*states)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_recurrent_weights_as_an_argument_give_the_same_result(precision):
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 6, batch_first=True)
    x = torch.randn(3, 5, 4)
    with torch.autocast("cpu", precision, enabled=precision != torch.float32):
        assert torch.equal(run_lstm(lstm, x, lstm.weight_hh_l0 * 1.0), run_lstm(lstm, x))
