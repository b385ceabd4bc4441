"""Positions of words for self-attention: vectors that are added, and rotations."""

import math

import torch
from torch import Tensor, nn


def sinusoids(length: int, size: int, device: torch.device | None = None) -> Tensor:
    """Compute position vectors, [length, size], with the sines in the even columns.

    These are Eq. 8 of Li et al. (2019).
    """
    position = torch.arange(length, device=device, dtype=torch.float32)[:, None]
    even = torch.arange(0, size, 2, device=device, dtype=torch.float32)
    angle = position * torch.exp(even * (-math.log(10000.0) / size))
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :size]


def position_vectors(
    table: nn.Embedding | None, length: int, size: int, device: torch.device
) -> Tensor:
    """Make the vectors of the first positions, [length, size].

    table: learned vectors, the last of which serves for all later positions; None for `sinusoids`.
    """
    if table is None:
        return sinusoids(length, size, device)
    position = torch.arange(length, device=device)
    return table(position.clamp(max=table.num_embeddings - 1))


def rotary_angles(
    length: int, size: int, base: float, device: torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """Compute cosines and sines of the angles that `rotate` rotates by.

    The angle of position m and pair i, counted from 0, is m * base**(-2i / size) (Su et al. 2021,
    Eq. 15), so the frequencies fall from 1 to nearly 1 / base. The paper's base is 10,000.

    Returns two tensors, [length, size]. Both halves of the cosines are equal; the first half of the
    sines is negative, as `rotate` needs it.
    """
    exponent = torch.arange(0, size, 2, device=device, dtype=torch.float32) / size
    position = torch.arange(length, device=device, dtype=torch.float32)
    angle = position[:, None] * base**-exponent
    cosine, sine = angle.cos(), angle.sin()
    return torch.cat((cosine, cosine), dim=-1), torch.cat((-sine, sine), dim=-1)


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotate the pairs (i, i + size / 2) of queries or keys by angles that grow with the position.

    The product of a rotated query and a rotated key depends on their contents and their distance,
    not on their positions (Su et al. 2021, RoFormer, section 3.2.2; the paper pairs neighbouring
    dimensions, which differs by a permutation of the weights). x: [..., length, even size].
    """
    rolled = x.roll(x.shape[-1] // 2, -1)
    return torch.addcmul(x * cosine.to(x.dtype), rolled, sine.to(x.dtype))
