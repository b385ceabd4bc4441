"""Turning sequences round instead of packing them is exact."""

import torch
from torch import nn

from depkit.nn.charlstm import CharLSTM
from depkit.nn.lstm import BiLSTM, BiLSTMLayer, reversal, turn

LENGTHS = torch.tensor([5, 1, 3])


def test_reversal_turns_words_and_leaves_padding():
    x = torch.arange(15).view(3, 5, 1)
    expected = [[4, 3, 2, 1, 0], [5, 6, 7, 8, 9], [12, 11, 10, 13, 14]]
    assert turn(x, reversal(LENGTHS, 5)).squeeze(-1).tolist() == expected


def test_layer_equals_a_packed_bidirectional_lstm():
    torch.manual_seed(0)
    layer = BiLSTMLayer(4, 6)
    packed_lstm = nn.LSTM(4, 6, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, weights in layer.forward_lstm.named_parameters():
            weights.normal_()
            getattr(packed_lstm, name).copy_(weights)
        for name, weights in layer.backward_lstm.named_parameters():
            weights.normal_()
            getattr(packed_lstm, f"{name}_reverse").copy_(weights)
    x = torch.randn(3, 5, 4)
    packed = nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = nn.utils.rnn.pad_packed_sequence(packed_lstm(packed)[0], batch_first=True)
    got = layer(x, reversal(LENGTHS, 5))
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(got[row, :length], expected[row, :length])


def test_padding_changes_nothing():
    torch.manual_seed(0)
    encoder = BiLSTM(4, 6, 3, 0.33).eval()
    x = torch.randn(3, 5, 4)
    batch = encoder(x, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(x[row : row + 1, :length], LENGTHS[row : row + 1])
        torch.testing.assert_close(batch[row, :length], alone[0])


def test_characters_in_groups_equal_words_one_by_one():
    torch.manual_seed(0)
    layer = CharLSTM(10, 5, 7, 0.0)
    characters = torch.tensor([[3, 0, 0, 0], [4, 5, 0, 0], [6, 7, 8, 0], [9, 3, 4, 5]])
    lengths = torch.tensor([1, 2, 3, 4])
    got = layer(characters, lengths, [(2, 2), (4, 4)])
    assert got.shape == (4, 7)
    for word, length in enumerate(lengths.tolist()):
        alone = layer(characters[word : word + 1, :length], lengths[word : word + 1], [(1, length)])
        torch.testing.assert_close(got[word], alone[0])
