"""Masks that say which positions may attend to which (Kitaev and Klein 2018, section 4.2)."""

import torch
from torch import Tensor
from torch.nn import functional

# On a CPU, the softmax of a number of keys that is a multiple of this is up to four times as fast.
_KEY_MULTIPLE = 32


def pad_keys(x: Tensor, dimension: int) -> Tensor:
    """Pad a tensor with zeros, or False, to a number of keys at which attention is fast.

    dimension: the dimension of the keys, negative, counted from the last one.
    """
    padding = -x.shape[dimension] % _KEY_MULTIPLE
    return functional.pad(x, (0, 0) * (-1 - dimension) + (0, padding))


def score_bias(mask: Tensor, queries: int, heads: int, dtype: torch.dtype) -> Tensor:
    """Make a tensor to add to attention scores: 0 where a query may attend to a key, else -inf.

    mask: the result of `attention_mask`. Returns [batch * heads, queries, keys after `pad_keys`].
    """
    mask = pad_keys(mask, -1)
    bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    bias.masked_fill_(~mask, float("-inf"))
    return bias.expand(-1, heads, queries, -1).flatten(0, 1)


def real_positions(lengths: Tensor, longest: int) -> Tensor:
    """Return which positions are not padding, [batch, longest] bool; lengths: [batch]."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def attention_mask(
    lengths: Tensor, longest: int, *, window: int = 0, relaxed: bool = False, stop: bool = False
) -> Tensor:
    """Make a mask that is True where a query may attend to a key.

    Args:
        lengths: [batch], the numbers of positions that are not padding.
        longest: The number of positions including padding.
        window: The greatest distance between a query and a key, or 0 for no limit.
        relaxed: Whether the first two positions (w0 and the first word) and the last word of each
            sentence, and the stop position if there is one, also attend to all positions, and all
            positions to them, in spite of the window.
        stop: Whether the last position of each sentence is the stop position.

    Returns:
        bool: [batch, 1, 1, longest] if window is 0, else [batch, 1, query, key]. With a window,
        padding attends at least to itself, because a softmax over no keys is NaN.
    """
    real = real_positions(lengths, longest)
    if window == 0:
        return real[:, None, None, :]
    position = torch.arange(longest, device=lengths.device)
    distance = (position[:, None] - position).abs()  # [query, key]
    near = (distance <= window)[None]
    if relaxed:
        is_end = real & (position >= lengths[:, None] - (2 if stop else 1))
        free = (position <= 1) | is_end  # [batch, longest]
        near = near | free[:, :, None] | free[:, None, :]
    return ((near & real[:, None, :]) | (distance == 0))[:, None]
