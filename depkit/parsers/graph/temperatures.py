"""Fitting temperatures that calibrate the probabilities of a parser, and measuring their effect.

Calibrated means: of the arcs with probability 0.9, nine of ten are correct. Logits are divided by a
temperature that minimises the negative log-likelihood on dev (Guo et al. 2017, "On Calibration of
Modern Neural Networks", section 4.2). There are three temperatures: for heads, for labels, and for
marginal probabilities of arcs. They do not change which head or label is the best.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from depkit.parsers.graph.config import Calibration
from depkit.score.calibration import assign_bins
from depkit.trees.marginals import batch_marginals

BINS = 15
BOUNDS = (0.2, 20.0)  # of a temperature
PRECISION = 2e-3  # of the logarithm of a temperature
# Marginals take cubic time, so they are computed for a sample of short sentences.
MAX_MARGINAL_SENTENCES, MAX_MARGINAL_WORDS = 600, 60
MIN_PROBABILITY = np.finfo(np.float64).tiny  # smaller probabilities are replaced before a logarithm

T = TypeVar("T")


@dataclass(frozen=True)
class ScoredSentence:
    """The scores of a sentence by a parser, and the gold and decoded heads of its words.

    "words" are those that have a gold head other than themselves. "labelled words" are those among
    them whose gold label the parser knows and can choose at the gold head.
    """

    arc: np.ndarray  # arc scores of all words, [n + 1, n + 1] (dependent, head)
    words: np.ndarray  # positions of the words, [words]
    gold: np.ndarray  # gold heads, [words]
    decoded: np.ndarray  # decoded heads, [words]
    label: np.ndarray  # label scores at the decoded heads, [words, label]
    decoded_label: np.ndarray  # indices of the best labels at the decoded heads, [words]
    label_is_correct: np.ndarray  # whether these are the gold labels, [words] bool
    label_at_gold: np.ndarray  # label scores at the gold heads, [labelled words, label]
    gold_label: np.ndarray  # indices of the gold labels, [labelled words]


@dataclass(frozen=True)
class CalibrationErrors:
    """Expected calibration errors in percent (Guo et al. 2017, Eq. 3)."""

    arc: float  # of decoded arcs
    labelled: float  # of decoded arcs with their labels
    marginal: float  # of decoded arcs, by marginal probabilities


@dataclass(frozen=True)
class CalibrationReport:
    """The calibration errors before and after calibration, and the numbers of evaluated words.

    The errors after calibration are cross-fitted: the temperatures for each half of the sentences
    are fitted on the other half. If the same sentences selected the best epoch, the parser is
    better on them than on other sentences, and so may be its calibration.
    """

    before: CalibrationErrors
    after: CalibrationErrors
    words: int
    marginal_words: int  # words in the sample for marginals


def fit_and_report(
    scored: Sequence[ScoredSentence], single_root: bool
) -> tuple[Calibration, CalibrationReport]:
    """Fit temperatures on all sentences, and measure their effect by cross-fitting on two halves.

    The halves are the sentences with even and with odd indices. single_root: whether marginals are
    over trees whose root has only one child.
    """
    halves = [scored[0::2], scored[1::2]]
    samples = [
        sample_evenly(
            [sentence for sentence in half if len(sentence.arc) <= MAX_MARGINAL_WORDS + 1],
            MAX_MARGINAL_SENTENCES // 2,
        )
        for half in halves
    ]
    sample = samples[0] + samples[1]
    marginals = Marginals(sample, single_root)
    middle = len(samples[0])
    full, first, second = slice(0, len(sample)), slice(0, middle), slice(middle, len(sample))
    first_fit = fit_temperatures(halves[0], marginals, first)
    second_fit = fit_temperatures(halves[1], marginals, second)
    before = [_confidences(scored, marginals, full, Calibration())]
    after = [
        _confidences(halves[0], marginals, first, second_fit),
        _confidences(halves[1], marginals, second, first_fit),
    ]
    words, marginal_words = (
        sum(len(sentence.words) for sentence in sentences) for sentences in (scored, sample)
    )
    report = CalibrationReport(pool_errors(before), pool_errors(after), words, marginal_words)
    return fit_temperatures(scored, marginals, full), report


def reset_harmful(calibration: Calibration, report: CalibrationReport) -> Calibration:
    """Reset temperatures to 1 if they do not lower the calibration error."""
    before, after = report.before, report.after
    if after.labelled >= before.labelled:
        calibration = replace(calibration, arc=1.0, label=1.0)
    if after.marginal >= before.marginal:
        calibration = replace(calibration, marginal=1.0)
    return calibration


class Choices:
    """Logits of several choices for each word, with a target among them.

    Args:
        scores: Arrays [words, choice] with any numbers of choices; -inf is an impossible choice.
        targets: The index of the target of each word, an array [words] for each array of scores.
    """

    def __init__(self, scores: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> None:
        pairs = [pair for pair in zip(scores, targets, strict=True) if len(pair[1])]
        shifted = [rows - rows.max(axis=1, keepdims=True) for rows, _ in pairs]
        masks = [np.isfinite(rows) for rows in shifted]
        # The logits of the possible choices of all words, minus the largest logit of the word
        self.values = _concatenate([rows[mask] for rows, mask in zip(shifted, masks, strict=True)])
        counts = _concatenate([mask.sum(axis=1) for mask in masks]).astype(np.int64)
        # The index of each word's first choice in `values`
        self.starts = np.cumsum(counts) - counts
        self.target_values = _concatenate(
            [
                rows[np.arange(len(target)), target]
                for rows, (_, target) in zip(shifted, pairs, strict=True)
            ]
        )

    def __len__(self) -> int:
        return len(self.target_values)

    def log_probability(self, temperature: float) -> np.ndarray:
        """Compute the log-probabilities of targets, log softmax(scores / temperature), [words]."""
        weights = np.exp(self.values / temperature)
        return self.target_values / temperature - np.log(np.add.reduceat(weights, self.starts))


class Marginals:
    """Marginal probabilities of the arcs of sentences, as functions of a temperature."""

    def __init__(self, scored: Sequence[ScoredSentence], single_root: bool) -> None:
        self.scored, self.single_root = scored, single_root
        self.words = np.array([len(sentence.words) for sentence in scored], dtype=np.int64)
        # The loss of each sentence by temperature; several fits use the same temperatures
        self.losses: dict[float, np.ndarray] = {}
        self.sizes = np.array([len(sentence.arc) - 1 for sentence in scored], dtype=np.int64)
        length = self.sizes.max(initial=0) + 1
        self.scores = np.zeros((len(scored), length, length))
        for padded, sentence in zip(self.scores, scored, strict=True):
            padded[: len(sentence.arc), : len(sentence.arc)] = sentence.arc

    def compute(self, temperature: float, part: slice) -> np.ndarray:
        """Compute the marginal probabilities of all arcs, [sentence, dependent, head].

        part: the sentences for which they are computed.
        """
        scores = self.scores[part] / temperature
        return batch_marginals(scores, self.sizes[part], self.single_root)

    def loss(self, temperature: float, part: slice) -> float:
        """Compute the mean negative log-likelihood of the gold heads of a part of the sentences."""
        if temperature not in self.losses:
            pairs = zip(self.compute(temperature, slice(None)), self.scored, strict=True)
            gold = [
                np.maximum(marginals[sentence.words, sentence.gold], MIN_PROBABILITY)
                for marginals, sentence in pairs
            ]
            self.losses[temperature] = np.array([-np.log(values).sum() for values in gold])
        return float(self.losses[temperature][part].sum() / self.words[part].sum())


def fit_temperatures(
    scored: Sequence[ScoredSentence], marginals: Marginals, part: slice
) -> Calibration:
    """Fit the three temperatures, independently of each other.

    Args:
        scored: The sentences for heads and labels.
        marginals: The sample of sentences for marginals.
        part: The part of the sample to fit on.
    """
    arc = Choices(
        [sentence.arc[sentence.words] for sentence in scored],
        [sentence.gold for sentence in scored],
    )
    label = Choices(
        [sentence.label_at_gold for sentence in scored],
        [sentence.gold_label for sentence in scored],
    )
    marginal = 1.0
    if marginals.words[part].any():
        marginal = minimize_loss(lambda temperature: marginals.loss(temperature, part))
    return Calibration(fit_temperature(arc), fit_temperature(label), marginal)


def fit_temperature(choices: Choices) -> float:
    """Fit the temperature that maximises the likelihood of the targets; 1 without words."""
    if not len(choices):
        return 1.0
    return minimize_loss(lambda temperature: -float(choices.log_probability(temperature).mean()))


def minimize_loss(loss: Callable[[float], float]) -> float:
    """Find the temperature with the smallest loss, within BOUNDS.

    This is a golden-section search on the logarithm of the temperature. The loss of a softmax is
    convex in 1 / temperature, so it has one minimum. The loss of marginals need not be convex, but
    has one minimum in practice.
    """
    ratio = (math.sqrt(5) - 1) / 2
    low, high = map(math.log, BOUNDS)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    left_loss, right_loss = loss(math.exp(left)), loss(math.exp(right))
    while high - low > PRECISION:
        if left_loss <= right_loss:
            high, right, right_loss = right, left, left_loss
            left = high - ratio * (high - low)
            left_loss = loss(math.exp(left))
        else:
            low, left, left_loss = left, right, right_loss
            right = low + ratio * (high - low)
            right_loss = loss(math.exp(right))
    return round(math.exp((low + high) / 2), 4)


def pool_errors(parts: Sequence[list[np.ndarray]]) -> CalibrationErrors:
    """Compute the calibration errors of all parts together; parts: results of `_confidences`."""
    pooled = [np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True)]
    return CalibrationErrors(
        *[calibration_error(confidence, correct) for confidence, correct in pooled]
    )


def _confidences(
    scored: Sequence[ScoredSentence], marginals: Marginals, part: slice, calibration: Calibration
) -> list[np.ndarray]:
    """Return the confidences and whether they are correct, for each field of `CalibrationErrors`.

    part: the part of the sentences of `marginals`. Each array is [2, words]: the confidence, and 1
    if the prediction is correct or 0 if not.
    """
    choices = Choices(
        [sentence.arc[sentence.words] for sentence in scored],
        [sentence.decoded for sentence in scored],
    )
    local = np.exp(choices.log_probability(calibration.arc))
    sample = marginals.scored[part]
    pairs = zip(marginals.compute(calibration.marginal, part), sample, strict=True)
    marginal = _concatenate([arcs[sentence.words, sentence.decoded] for arcs, sentence in pairs])
    choices = Choices(
        [sentence.label for sentence in scored],
        [sentence.decoded_label for sentence in scored],
    )
    label = np.exp(choices.log_probability(calibration.label))
    correct, sample_correct = (
        _concatenate([sentence.decoded == sentence.gold for sentence in sentences])
        for sentences in (scored, sample)
    )
    label_correct = _concatenate([sentence.label_is_correct for sentence in scored])
    return [
        np.stack((local, correct)),
        np.stack((local * label, correct * label_correct)),
        np.stack((marginal, sample_correct)),
    ]


def calibration_error(confidence: np.ndarray, correct: np.ndarray, bins: int = BINS) -> float:
    """Compute the expected calibration error in percent (Guo et al. 2017, Eq. 3).

    Args:
        confidence: The probabilities of the predictions, [words].
        correct: Whether the predictions are correct, [words].
        bins: The number of bins, which have equal widths and include their upper bounds.

    Returns:
        The error; 0 if there are no words.
    """
    if not len(confidence):
        return 0.0
    # Eq. 3 multiplies a mean over a bin by the size of the bin, which leaves the sum.
    gaps = np.bincount(assign_bins(confidence, bins), correct - confidence, bins)
    return float(100.0 * np.abs(gaps).sum() / len(confidence))


def sample_evenly(items: Sequence[T], count: int) -> list[T]:
    """Sample `count` items at equal distances; all items if there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[i * len(items) // count] for i in range(count)]


def _concatenate(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate any number of arrays; the result for no arrays is empty."""
    return np.concatenate([np.empty(0), *parts])
