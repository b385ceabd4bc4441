"""Calibration of probabilities: of all arcs with a probability of 90%, 90% should be correct.

Reliability diagrams, ECE and MCE follow Guo et al. (2017, Eqs. 2 to 5); Brier score: Brier (1950).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from depkit.score.attachment import Data
from depkit.score.significance import DEFAULT_SEED, RESAMPLES, bootstrap_interval

# For each metric, how many probabilities of a word are multiplied: the probability of the arc and,
# for LAS, the probability of the label given the arc.
CALIBRATED_METRICS = {"UAS": 1, "LAS": 2}
BINS = 10
# The sums of a bin over its words: 1, 1 if correct, confidence, (confidence - 1 if correct)^2.
COUNTS = ("words", "correct", "confidence", "squared")
# Confidences are rounded to this number of decimals, so that 0.8 * 0.875 is exactly 0.7 and falls
# into the bin that ends there.
_DECIMALS = 12


@dataclass(frozen=True, eq=False)
class Reliability:
    """The confidence and the accuracy of systems in confidence bins of equal width.

    metric: one of CALIBRATED_METRICS; bins: the number of bins; counts: for each system,
    [sentence, bin * count] float64, sums over the scored words, with columns as in COUNTS.
    """

    data: Data
    metric: str
    bins: int
    counts: list[np.ndarray]

    @property
    def names(self) -> list[str]:
        return [system.name for system in self.data.words.systems]

    @property
    def labels(self) -> list[str]:
        """The names of the bins: both ends in percent; the lower end is excluded, except 0."""
        ends = [f"{100 * i / self.bins:.4g}" for i in range(self.bins + 1)]
        return [f"{low}-{high}" for low, high in pairwise(ends)]

    @property
    def totals(self) -> np.ndarray:
        """The sums over all sentences: [system, bin, count] float64."""
        return np.stack([self.unflatten(counts.sum(axis=0)) for counts in self.counts])

    def unflatten(self, sums: np.ndarray) -> np.ndarray:
        """Reshape [..., bin * count] to [..., bin, count]."""
        return sums.reshape(*sums.shape[:-1], self.bins, len(COUNTS))


def measure_calibration(data: Data, metric: str = "LAS", bins: int = BINS) -> Reliability:
    """Sort the scored words of each system into bins by confidence.

    For "UAS" the confidence of a word is the probability of its arc, for "LAS" the product of the
    probabilities of arc and label.

    Raises ValueError if `metric` is not one of CALIBRATED_METRICS, `bins` is less than 1, or the
    data were read without probabilities.
    """
    if metric not in CALIBRATED_METRICS:
        raise ValueError(
            f"calibration is measured for {' or '.join(CALIBRATED_METRICS)}, not for {metric}"
        )
    if bins < 1:
        raise ValueError(f"calibration needs at least one bin, not {bins}")
    words, scored = data.words, data.scored
    counts = []
    for system, correct in zip(words.systems, data.correct, strict=True):
        if system.probability is None:
            raise ValueError("calibration needs data that were read with probabilities")
        confidence = system.probability[scored, : CALIBRATED_METRICS[metric]].prod(axis=1)
        is_correct = correct[metric][scored].astype(float)
        cells = words.sentence_index[scored] * bins + assign_bins(confidence, bins)
        size = len(words.lengths) * bins
        values = (np.ones(len(is_correct)), is_correct, confidence, (confidence - is_correct) ** 2)
        sums = [np.bincount(cells, value, minlength=size) for value in values]
        counts.append(np.stack(sums, axis=1).reshape(-1, bins * len(COUNTS)))
    return Reliability(data, metric, bins, counts)


def assign_bins(confidence: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each confidence, among this number of bins of equal width.

    A confidence on the boundary of two bins is in the lower one.
    """
    return np.searchsorted(np.arange(1, bins) / bins, confidence.round(_DECIMALS))


def reliability_scores(totals: np.ndarray) -> np.ndarray:
    """Compute mean confidence, accuracy, gap and Brier score: [..., count] -> [..., 4].

    The first three are in percent. The gap is accuracy - confidence, negative for an overconfident
    system. All are NaN where there are no words.
    """
    words, correct, confidence, squared = np.moveaxis(totals, -1, 0)
    with np.errstate(invalid="ignore"):
        shares = 100.0 * np.stack([confidence, correct, correct - confidence], axis=-1)
        return np.concatenate([shares, squared[..., None]], axis=-1) / words[..., None]


def calibration_errors(totals: np.ndarray) -> np.ndarray:
    """Compute ECE and MCE in percentage points: [..., bin, count] -> [..., 2].

    The expected calibration error is the mean absolute gap of the bins, weighted by their words
    (Eq. 3); the maximum calibration error is the largest absolute gap (Eq. 5).
    """
    words, correct, confidence, _ = np.moveaxis(totals, -1, 0)
    gaps = 100.0 * np.abs(correct - confidence)  # summed over the words of each bin
    expected = gaps.sum(axis=-1) / words.sum(axis=-1)
    maximum = (gaps / np.maximum(words, 1)).max(axis=-1)
    return np.stack([expected, maximum], axis=-1)


def accuracy_intervals(
    reliability: Reliability, system: int, seed: int = DEFAULT_SEED
) -> np.ndarray:
    """Compute 95% bootstrap intervals of accuracy in each bin and over all bins: [2, bin + 1].

    There are no intervals of ECE, because ECE grows with noise: the ECE of a resample tends to be
    larger than that of the file. system: an index.
    """

    def statistic(sums: np.ndarray) -> np.ndarray:
        return reliability_scores(_append_sum(reliability.unflatten(sums)))[..., 1]

    return bootstrap_interval(reliability.counts[system], statistic, trials=RESAMPLES, seed=seed)


def calibration_rows(
    reliability: Reliability, confidence: bool = False, seed: int = DEFAULT_SEED
) -> list[dict[str, Any]]:
    """Return the scores of every system in every bin with words, and those of all bins together.

    A dict for each system and bin, bin by bin; the last bin is "all". Scores are in percent or
    percentage points, except the Brier score. `ece` and `mce` are None in single bins. confidence:
    whether to add 95% bootstrap intervals of accuracy.
    """
    names = reliability.names
    totals = _append_sum(reliability.totals)
    scores = reliability_scores(totals)
    errors = calibration_errors(reliability.totals)
    intervals = [
        accuracy_intervals(reliability, system, seed=seed)
        for system in range(len(names) if confidence else 0)
    ]
    labels = [*reliability.labels, "all"]
    rows = []
    for b, i in zip(*totals[:, :, 0].T.nonzero(), strict=True):
        row: dict[str, Any] = {"system": names[i], "metric": reliability.metric, "bin": labels[b]}
        row |= zip(COUNTS[:2], totals[i, b, :2].astype(int).tolist(), strict=True)
        row |= zip(("confidence", "accuracy", "gap", "brier"), scores[i, b].tolist(), strict=True)
        ece_mce = errors[i].tolist() if b == reliability.bins else (None, None)
        row |= zip(("ece", "mce"), ece_mce, strict=True)
        if confidence:
            row |= zip(("accuracy_low", "accuracy_high"), intervals[i][:, b].tolist(), strict=True)
        rows.append(row)
    return rows


def _append_sum(totals: np.ndarray) -> np.ndarray:
    """Append the sums over all bins as a last bin: [..., bin, count] -> [..., bin + 1, count]."""
    return np.concatenate([totals, totals.sum(axis=-2, keepdims=True)], axis=-2)
