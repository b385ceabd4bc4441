"""Attention masks against their definition, position by position."""

import itertools

import pytest
import torch

from depkit.nn.attention_mask import attention_mask

MAX_LENGTH = 7


def may_attend(query: int, key: int, length: int, window: int, relaxed: bool, stop: bool) -> bool:
    """Return whether query may attend to key, by the definition; the window must not be 0."""
    if query == key:
        return True
    if key >= length:
        return False
    if abs(query - key) <= window:
        return True
    w0, first_word = 0, 1
    ends = [length - 2, length - 1] if stop else [length - 1]  # last word, stop position
    free = [position for position in (w0, first_word, *ends) if position < length]
    return relaxed and (query in free or key in free)


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("window", range(1, MAX_LENGTH + 2))
def test_windows_agree_with_the_definition(window, relaxed, stop):
    lengths = torch.arange(1, MAX_LENGTH + 1)
    mask = attention_mask(lengths, MAX_LENGTH, window=window, relaxed=relaxed, stop=stop)
    assert mask.shape == (MAX_LENGTH, 1, MAX_LENGTH, MAX_LENGTH)
    assert mask.dtype == torch.bool
    for row, length in enumerate(lengths.tolist()):
        for query, key in itertools.product(range(MAX_LENGTH), repeat=2):
            expected = may_attend(query, key, length, window, relaxed, stop)
            assert mask[row, 0, query, key].item() == expected, (length, query, key)


@pytest.mark.parametrize("relaxed", [False, True])
def test_without_a_window_all_real_positions_are_keys(relaxed):
    mask = attention_mask(torch.tensor([3, 1, 5]), 5, relaxed=relaxed)
    assert mask.shape == (3, 1, 1, 5)
    assert mask.dtype == torch.bool
    assert mask[:, 0, 0].long().tolist() == [[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]]
