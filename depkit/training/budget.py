"""The batch size with which the required number of updates fits into the time."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from depkit.parsers.inputs.batching import length_batches
from depkit.training.recipe import MIN_BATCH_TOKENS, Training

REPEATS = 3  # number of times that an update is timed; the shortest time counts
UPDATE_SHARE = 0.8  # of the time; the rest is for the optimiser and for scoring dev


def fit_to_time(
    training: Training, sizes: np.ndarray, update: Callable[[np.ndarray], None], seconds: float
) -> Training:
    """Return the settings with the batch size with which `training.updates` updates fit.

    The time of a batch is assumed to be linear in the number of tokens. The batches become as large
    as possible, but not larger than before. They are not made smaller than MIN_BATCH_TOKENS, nor
    than the size at which the fixed cost of a batch, which is high on a GPU, is half of its time:
    smaller ones would read fewer words in hardly more updates.

    sizes: those of the examples of an epoch; update: computes the gradients of a batch of examples.
    """
    large, small = training.batch_tokens, MIN_BATCH_TOKENS
    if large <= small:
        return training
    small_seconds, large_seconds = (
        _time_update(update, sizes, tokens) for tokens in (small, large)
    )
    per_token = max(1e-9, (large_seconds - small_seconds) / (large - small))
    available = UPDATE_SHARE * seconds / (training.updates * training.accumulate)  # for a batch
    tokens = small + int((available - small_seconds) / per_token)
    half_fixed_tokens = int(small_seconds / per_token) - small
    return replace(training, batch_tokens=min(large, max(small, half_fixed_tokens, tokens)))


def _time_update(update: Callable[[np.ndarray], None], sizes: np.ndarray, tokens: int) -> float:
    """Return the seconds that an update with a batch of at most `tokens` tokens takes."""
    batches = length_batches(sizes, tokens, np.random.default_rng(0))
    batch = batches[len(batches) // 2]
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        update(batch)
        times.append(time.perf_counter() - started)
    return min(times)
