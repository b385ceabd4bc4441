"""The means of the scores of several exported networks.

The functions are those of `nn.means` for arrays.
"""

import math
from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from depkit.parsers.columns.arrays import ColumnArrays, log_softmax
from depkit.parsers.columns.mean_scores import MeanScores
from depkit.parsers.ensemble_config import Mean

if TYPE_CHECKING:
    from depkit.parsers.base import Parser

MIN_PROBABILITY = 1e-10  # as in `nn.means`


def log_mean(scores: Iterable[np.ndarray], mean: Mean, *, is_padded: bool = False) -> np.ndarray:
    """Compute the normalised logarithm of the mean of softmax(scores), as `nn.means.log_mean`.

    is_padded: as for `log_softmax`.
    """
    combine = np.logaddexp if mean == "arithmetic" else np.add
    logarithms = [log_softmax(network_scores, is_padded=is_padded) for network_scores in scores]
    combined = reduce(combine, logarithms)
    if mean == "geometric":
        combined = combined / len(logarithms)
    return log_softmax(combined, is_padded=is_padded)


def align_values(scores: np.ndarray, indices: np.ndarray, size: int) -> np.ndarray:
    """Convert logits of some values to logarithms of probabilities, as `nn.means.align_values`."""
    shape = (*scores.shape[:-1], size)
    aligned = np.full(shape, math.log(MIN_PROBABILITY), dtype=np.float32)
    aligned[..., indices] = log_softmax(scores)
    return aligned


class MeanArrays(MeanScores):
    """The exported networks of several parsers."""

    column_scores = ColumnArrays

    def make_indices(self, indices: list[int], member: "Parser") -> np.ndarray:
        return np.array(indices, dtype=np.int64)

    def align(self, scores: np.ndarray, indices: np.ndarray, size: int) -> np.ndarray:
        return align_values(scores, indices, size)

    def average(self, scores: Iterable[np.ndarray]) -> np.ndarray:
        return log_mean(scores, self.mean)
