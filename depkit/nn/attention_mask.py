"""Masks that say which positions may attend to which (Kitaev and Klein 2018, section 4.2)."""

import torch
from torch import Tensor


def attention_mask(lengths: Tensor, longest: int, window: int = 0, relaxed: bool = False) -> Tensor:
    """Make a mask that is True where a query may attend to a key.

    Args:
        lengths: [batch], the number of positions of each sentence that are not padding.
        longest: The number of positions including padding.
        window: The greatest distance between a query and a key, or 0 for no limit.
        relaxed: Whether the first two positions (w0 and the first word) and the last word of each
            sentence also attend to all words, and all words to them, in spite of the window.

    Returns:
        bool: [batch, 1, 1, longest] if window is 0, else [batch, 1, query, key]. With a window,
        padding attends at least to itself, because a softmax over no keys is NaN.

    Raises:
        ValueError: If the window is negative.
    """
    if window < 0:
        raise ValueError(f"the attention window must be 0 (no limit) or a distance, not {window}")
    position = torch.arange(longest, device=lengths.device)
    real = position < lengths[:, None]  # [batch, longest]
    if window == 0:
        return real[:, None, None, :]
    distance = (position[:, None] - position).abs()  # [query, key]
    near = (distance <= window)[None]
    if relaxed:
        free = (position <= 1) | (position == lengths[:, None] - 1)  # [batch, longest]
        near = near | free[:, :, None] | free[:, None, :]
    return ((near & real[:, None, :]) | (distance == 0))[:, None]
