"""The scores of predicted columns as arrays on the host, see `columns.network.ColumnScores`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from depkit.parsers.columns.lemmas import CANDIDATES


@dataclass(frozen=True)
class Finished:
    """Results that are ready, with the interface of `device.PendingCopies`."""

    arrays: dict[str, np.ndarray]

    def wait(self) -> dict[str, np.ndarray]:
        return self.arrays


class ColumnArrays(dict[str, np.ndarray]):
    """The logits of each predicted column of a batch, [batch, length, value]."""

    def best(self, unknown: np.ndarray | None) -> dict[str, np.ndarray]:
        """Find the best values; the argument and the results are those of `ColumnScores.best`."""
        if "lemma" not in self or unknown is None:
            return {name: logits.argmax(-1) for name, logits in self.items()}
        best = {name: logits.argmax(-1) for name, logits in self.items() if name != "lemma"}
        row, position = unknown
        for name, logits in self.items():
            count = min(CANDIDATES[name], logits.shape[-1])
            indices, scores = best_probabilities(logits[row, position], count)
            best[f"{name}_best"], best[f"{name}_score"] = indices, scores
        return best

    def fetch_best(self, unknown: np.ndarray | None) -> Finished:
        """Return the result of `best`."""
        return Finished(self.best(unknown))


def column_arrays(results: Mapping[str, np.ndarray]) -> ColumnArrays:
    """Take the logits of columns from the results of a graph, "logits.X" for the column X."""
    prefix = "logits."
    return ColumnArrays(
        {name.removeprefix(prefix): x for name, x in results.items() if name.startswith(prefix)}
    )


def log_softmax(scores: np.ndarray, *, is_padded: bool = False) -> np.ndarray:
    """Compute the logarithms of softmax(scores) over the last dimension.

    is_padded: whether rows may end with -inf for padding. The sum is then computed in the order of
    the terms, which is slower, so that the amount of padding does not change how it is rounded.
    """
    shifted: np.ndarray = scores - scores.max(-1, keepdims=True)
    terms = np.exp(shifted)
    if is_padded:
        shifted -= np.log(np.add.accumulate(terms, -1)[..., -1:])
    else:
        shifted -= np.log(terms.sum(-1, keepdims=True))
    return shifted


def best_probabilities(logits: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the highest logits, the highest first, and their log-probabilities.

    logits: [rows, values], which are overwritten. The results are [rows, count].
    """
    rows, best = np.arange(len(logits)), logits.argmax(1)
    highest = logits[rows, best][:, None]
    logarithm = np.log(np.exp(logits - highest).sum(1, keepdims=True))
    indices = np.empty((len(logits), count), dtype=np.int64)
    scores = np.empty((len(logits), count), dtype=logits.dtype)
    for rank in range(count):  # faster than `argpartition` for the few values that are needed
        if rank:
            best = logits.argmax(1)
        indices[:, rank], scores[:, rank] = best, logits[rows, best]
        logits[rows, best] = -np.inf
    return indices, scores - highest - logarithm
