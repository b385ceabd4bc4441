"""Means of the probabilities of several networks (Li et al. 2019, section 3.2)."""

import math
from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor

MIN_PROBABILITY = 1e-10  # the probability of a value that a network does not know


def log_mean(scores: Iterable[Tensor], mean: Literal["arithmetic", "geometric"]) -> Tensor:
    """Compute the normalised logarithm of the mean of softmax(scores) over the last dimension.

    The geometric mean is a renormalised product of experts (Hinton 2002).

    scores: the logits of each network, all [..., choice]; -inf is an impossible choice.
    """
    combined: Tensor | None = None
    count = 0
    for network_scores in scores:
        log_probabilities = network_scores.log_softmax(-1)
        if combined is None:
            combined = log_probabilities
        else:  # logaddexp, because probabilities can underflow to 0
            combined = (
                combined.logaddexp(log_probabilities)
                if mean == "arithmetic"
                else combined + log_probabilities
            )
        count += 1
    assert combined is not None
    return (combined if mean == "arithmetic" else combined / count).log_softmax(-1)


def align_values(scores: Tensor, indices: Tensor, size: int) -> Tensor:
    """Convert logits over the values of a network to log-probabilities over more values.

    Args:
        scores: [..., values of the network].
        indices: [values of the network], the index of each among all values.
        size: The number of all values.

    Returns:
        [..., size]; values that the network does not know have the logarithm of MIN_PROBABILITY.
    """
    log_probabilities = scores.log_softmax(-1)
    shape = (*log_probabilities.shape[:-1], size)
    aligned = torch.full(shape, math.log(MIN_PROBABILITY), device=log_probabilities.device)
    aligned[..., indices] = log_probabilities
    return aligned
