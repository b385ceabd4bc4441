"""Which positions may attend to which: real ones, in a window (Kitaev and Klein 2018, 4.2)."""

import torch
from torch import Tensor


def attention_mask(lengths: Tensor, longest: int, window: int = 0, relaxed: bool = False) -> Tensor:
    """True where a query (second to last dimension) may attend to a key (last dimension).

    lengths: [batch] -> bool, [batch, 1, 1, longest] if window is 0, all real positions, else
    [batch, 1, longest, longest]: the real keys at most `window` away. relaxed: w0, the first
    word and the last word of each sentence also attend everywhere and are attended to by all.
    Padding attends at least to itself there, as a softmax over nothing is not a number.
    ValueError: the window is negative.
    """
    if window < 0:
        raise ValueError(f"a window is 0 (none) or the greatest distance, not {window}")
    place = torch.arange(longest, device=lengths.device)
    real = place < lengths[:, None]  # [batch, longest]
    if window == 0:
        return real[:, None, None, :]
    distance = (place[:, None] - place).abs()  # [query, key]
    near = (distance <= window)[None]
    if relaxed:
        free = (place <= 1) | (place == lengths[:, None] - 1)  # [batch, longest]
        near = near | free[:, :, None] | free[:, None, :]
    return ((near & real[:, None, :]) | (distance == 0))[:, None]
