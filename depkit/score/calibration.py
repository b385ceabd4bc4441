"""Whether probabilities can be trusted: of what is said with 90%, 90% should be right.

Reliability in bins of equal width, ECE and MCE as Guo et al. (2017, Eqs. 2 to 5); Brier (1950).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from depkit.score.analysis import Data
from depkit.score.significance import DEFAULT_SEED, RESAMPLES, interval_of

# What can be right, and how many of a word's probabilities are multiplied for it: the arc's, and
# the label's given the arc.
EVENTS = {"UAS": 1, "LAS": 2}
BINS = 10
# What is summed in a bin: words, the right ones, their confidences, and (confidence - right)^2.
COUNTS = ("words", "correct", "confidence", "squared")
_DIGITS = 12  # of a confidence: 0.8 * 0.875 is 0.7, and in its bin


@dataclass(frozen=True, eq=False)
class Calibration:
    """How sure systems are and how often they are right, in bins of equal width.

    metric: of EVENTS; bins: how many; counts: for each system, [sentence, bin * count] float64,
    columns as in COUNTS, of the scored words.
    """

    data: Data
    metric: str
    bins: int
    counts: list[np.ndarray]

    @property
    def names(self) -> list[str]:
        """The systems'."""
        return [system.name for system in self.data.words.systems]

    @property
    def labels(self) -> list[str]:
        """The bins' names, their ends in percent: the lower is not in the bin, but for 0."""
        ends = [f"{100 * i / self.bins:.4g}" for i in range(self.bins + 1)]
        return [f"{low}-{high}" for low, high in pairwise(ends)]

    @property
    def totals(self) -> np.ndarray:
        """[system, bin, count] float64."""
        return np.stack([self.split(counts.sum(axis=0)) for counts in self.counts])

    def split(self, sums: np.ndarray) -> np.ndarray:
        """[..., bin * count] -> [..., bin, count]."""
        return sums.reshape(*sums.shape[:-1], self.bins, len(COUNTS))


def calibrate(data: Data, metric: str = "LAS", bins: int = BINS) -> Calibration:
    """Sort the scored words of each system into bins by confidence.

    metric: "UAS", the confidence is the arc's probability; "LAS", that times the label's. A
    confidence between two bins is in the lower one. Raises ValueError for another metric, for no
    bin, and for data read without probabilities.
    """
    if metric not in EVENTS:
        raise ValueError(f"calibration is of {' or '.join(EVENTS)}, not {metric}")
    if bins < 1:
        raise ValueError(f"there is one bin at least, not {bins}")
    words, scored = data.words, data.scored
    counts = []
    for system, correct in zip(words.systems, data.correct, strict=True):
        if system.probability is None:
            raise ValueError("calibration needs data that is read with probabilities")
        confidence = system.probability[scored, : EVENTS[metric]].prod(axis=1)
        right = correct[metric][scored].astype(float)
        cell = words.sentence[scored] * bins + bin_of(confidence, bins)
        size = len(words.lengths) * bins
        values = (np.ones(len(right)), right, confidence, (confidence - right) ** 2)
        sums = [np.bincount(cell, value, minlength=size) for value in values]
        counts.append(np.stack(sums, axis=1).reshape(-1, bins * len(COUNTS)))
    return Calibration(data, metric, bins, counts)


def bin_of(confidence: np.ndarray, bins: int) -> np.ndarray:
    """The numbers of confidences' bins of equal width; one between two bins is in the lower one."""
    return np.searchsorted(np.arange(1, bins) / bins, confidence.round(_DIGITS))


def reliability(totals: np.ndarray) -> np.ndarray:
    """[..., 4] of [..., count]: mean confidence, accuracy and the gap in percent, the Brier score.

    The gap is accuracy - confidence: below 0 where a system is too sure. Nothing of nothing is NaN.
    """
    words, correct, confidence, squared = np.moveaxis(totals, -1, 0)
    with np.errstate(invalid="ignore"):
        shares = 100.0 * np.stack([confidence, correct, correct - confidence], axis=-1)
        return np.concatenate([shares, squared[..., None]], axis=-1) / words[..., None]


def calibration_errors(totals: np.ndarray) -> np.ndarray:
    """[..., 2] percentage points of [..., bin, count]: the expected and the maximum error.

    Of the bins' absolute gaps the mean, weighted by their words (Eq. 3), and the largest (Eq. 5).
    """
    words, correct, confidence, _ = np.moveaxis(totals, -1, 0)
    apart = 100.0 * np.abs(correct - confidence)
    expected = apart.sum(axis=-1) / words.sum(axis=-1)
    maximum = (apart / np.maximum(words, 1)).max(axis=-1)
    return np.stack([expected, maximum], axis=-1)


def accuracy_band(
    calibration: Calibration, system: int, resamples: int = RESAMPLES, seed: int = DEFAULT_SEED
) -> np.ndarray:
    """[2, bin + 1] percent, the 95% bootstrap interval of accuracy in each bin and, last, in all.

    There is none of ECE, which grows with noise: the samples' tend to lie above the file's own.
    """

    def statistic(sums: np.ndarray) -> np.ndarray:
        return reliability(_and_all(calibration.split(sums)))[..., 1]

    return interval_of(calibration.counts[system], statistic, resamples, seed)


def calibration_rows(
    calibration: Calibration, confidence: bool = False, seed: int = DEFAULT_SEED
) -> list[dict[str, Any]]:
    """A row for every system and bin with words in it, bin by bin; last, of each system, `all`.

    Percent and percentage points but for the Brier score; ece and mce are None but in `all`.
    confidence: also the 95% intervals of accuracy.
    """
    names = calibration.names
    totals = _and_all(calibration.totals)
    scores = reliability(totals)
    errors = calibration_errors(calibration.totals)
    bands = [
        accuracy_band(calibration, system, seed=seed)
        for system in range(len(names) if confidence else 0)
    ]
    labels = [*calibration.labels, "all"]
    found = []
    for b, i in zip(*totals[:, :, 0].T.nonzero(), strict=True):
        row: dict[str, Any] = {"system": names[i], "metric": calibration.metric, "bin": labels[b]}
        row |= zip(COUNTS[:2], totals[i, b, :2].astype(int).tolist(), strict=True)
        row |= zip(("confidence", "accuracy", "gap", "brier"), scores[i, b].tolist(), strict=True)
        whole = errors[i].tolist() if b == calibration.bins else (None, None)
        row |= zip(("ece", "mce"), whole, strict=True)
        if confidence:
            row |= zip(("accuracy_low", "accuracy_high"), bands[i][:, b].tolist(), strict=True)
        found.append(row)
    return found


def _and_all(totals: np.ndarray) -> np.ndarray:
    """[..., bin, count] -> [..., bin + 1, count]: last, the sums over all bins."""
    return np.concatenate([totals, totals.sum(axis=-2, keepdims=True)], axis=-2)
