"""Temperatures that make a parser's probabilities true: nine of ten arcs with 0.9 are then right.

Scores are divided by a number that is fitted on dev by likelihood (Guo et al. 2017, "On Calibration
of Modern Neural Networks", section 4.2). No more is learnt than one for arcs, one for labels and
one for arcs over all trees; what is best stays best.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from depkit.parsers.config import Calibration
from depkit.score.calibration import bin_of
from depkit.trees.marginals import batch_marginals

BINS = 15
BOUNDS = (0.2, 20.0)  # of a temperature
PRECISION = 2e-3  # of its logarithm
SAMPLE, SHORT = 600, 60  # marginals take cubic time: of so many sentences, of so many words at most
LEAST = np.finfo(np.float64).tiny  # of a probability, before its logarithm is taken

T = TypeVar("T")


@dataclass(frozen=True)
class Scored:
    """A parser's scores of a sentence, for its words that count: not those without a head in the
    treebank, or their own heads.

    arc: [n + 1, n + 1] (dependent, head), of all; words, gold, chosen: [words], numbers of the
    words, of their gold heads and of the decoded ones. label: [words, label] at the decoded heads,
    chosen_label: [words]; right: [words] bool, whether that is the gold label. label_at_gold: [some
    words, label] at the gold heads, gold_label: [some words]; where the parser could choose it.
    """

    arc: np.ndarray
    words: np.ndarray
    gold: np.ndarray
    chosen: np.ndarray
    label: np.ndarray
    chosen_label: np.ndarray
    right: np.ndarray
    label_at_gold: np.ndarray
    gold_label: np.ndarray


@dataclass(frozen=True)
class Errors:
    """Expected calibration errors in percent (Guo et al. 2017, Eq. 3): of decoded arcs, and of arcs
    with their labels; the same with the arcs' probabilities over all trees."""

    arc: float
    labelled: float
    marginal: float
    labelled_marginal: float


@dataclass(frozen=True)
class Report:
    """What calibration is worth: the errors with temperatures of 1, and those of each half of the
    sentences with temperatures fitted on the other half, pooled.

    words: how many were measured on; sampled: how many for marginals. Where these sentences chose
    the epoch, too, the parser is better on them than elsewhere.
    """

    before: Errors
    after: Errors
    words: int
    sampled: int


def measure(scored: Sequence[Scored], single_root: bool) -> tuple[Calibration, Report]:
    """The temperatures fitted on all, and what such ones are worth on sentences not fitted on.

    The halves are every other sentence. single_root: what trees marginals are over.
    """
    halves = [scored[0::2], scored[1::2]]
    samples = [
        spread([each for each in half if len(each.arc) <= SHORT + 1], SAMPLE // 2)
        for half in halves
    ]
    sample = samples[0] + samples[1]
    marginals = Marginals(sample, single_root)
    everyone, of_one = slice(0, len(sample)), slice(0, len(samples[0]))
    of_other = slice(len(samples[0]), len(sample))
    one, other = fit(halves[0], marginals, of_one), fit(halves[1], marginals, of_other)
    before = [_events(scored, marginals, everyone, Calibration())]
    after = [
        _events(halves[0], marginals, of_one, other),
        _events(halves[1], marginals, of_other, one),
    ]
    words, sampled = (sum(len(each.words) for each in some) for some in (scored, sample))
    return fit(scored, marginals, everyone), Report(errors(before), errors(after), words, sampled)


def kept(calibration: Calibration, report: Report) -> Calibration:
    """The temperatures, with 1 for those that do not lower the error on held-out sentences."""
    before, after = report.before, report.after
    if after.labelled >= before.labelled:
        calibration = replace(calibration, arc=1.0, label=1.0)
    if after.marginal >= before.marginal:
        calibration = replace(calibration, marginal=1.0)
    return calibration


class Choices:
    """What could be chosen for each of some words, one of which is meant."""

    def __init__(self, scores: Sequence[np.ndarray], meant: Sequence[np.ndarray]) -> None:
        """scores: arrays [words, choice], as many choices as there are in each, -inf is none;
        meant: [words] each, the number of a choice."""
        pairs = [pair for pair in zip(scores, meant, strict=True) if len(pair[1])]
        shifted = [each - each.max(axis=1, keepdims=True) for each, _ in pairs]
        there = [np.isfinite(each) for each in shifted]
        # [total]: the scores of all words' choices, end to end, 0 at most; [words]: their starts
        self.values = _joined([each[is_one] for each, is_one in zip(shifted, there, strict=True)])
        counts = _joined([each.sum(axis=1) for each in there]).astype(np.int64)
        self.starts = np.cumsum(counts) - counts
        self.meant = _joined(
            [each[np.arange(len(one)), one] for each, (_, one) in zip(shifted, pairs, strict=True)]
        )

    def __len__(self) -> int:
        return len(self.meant)

    def log_probability(self, temperature: float) -> np.ndarray:
        """Of what is meant, [words]: log softmax(scores / temperature)."""
        weights = np.exp(self.values / temperature)
        return self.meant / temperature - np.log(np.add.reduceat(weights, self.starts))


class Marginals:
    """Sentences whose arcs' probabilities are over all trees."""

    def __init__(self, scored: Sequence[Scored], single_root: bool) -> None:
        self.scored, self.single_root = scored, single_root
        self.words = np.array([len(each.words) for each in scored], dtype=np.int64)
        self.known: dict[float, np.ndarray] = {}  # halves and the whole ask for the same
        self.sizes = np.array([len(each.arc) - 1 for each in scored], dtype=np.int64)
        longest = self.sizes.max(initial=0) + 1
        self.scores = np.zeros((len(scored), longest, longest))
        for one, each in zip(self.scores, scored, strict=True):
            one[: len(each.arc), : len(each.arc)] = each.arc

    def at(self, temperature: float, some: slice) -> np.ndarray:
        """[sentence, dependent, head], the probability of every arc of some sentences."""
        scores = self.scores[some] / temperature
        return batch_marginals(scores, self.sizes[some], self.single_root)

    def loss(self, temperature: float, some: slice) -> float:
        """The mean negative log-likelihood of some sentences' gold heads."""
        if temperature not in self.known:
            found = zip(self.at(temperature, slice(None)), self.scored, strict=True)
            gold = [np.maximum(arcs[each.words, each.gold], LEAST) for arcs, each in found]
            self.known[temperature] = np.array([-np.log(each).sum() for each in gold])
        return float(self.known[temperature][some].sum() / self.words[some].sum())


def fit(scored: Sequence[Scored], marginals: Marginals, some: slice) -> Calibration:
    """The temperatures of the least loss, each for itself; some: of those for marginals."""
    arc = Choices([each.arc[each.words] for each in scored], [each.gold for each in scored])
    label = Choices([each.label_at_gold for each in scored], [each.gold_label for each in scored])
    over_trees = 1.0
    if marginals.words[some].any():
        over_trees = minimum(lambda temperature: marginals.loss(temperature, some))
    return Calibration(fit_temperature(arc), fit_temperature(label), over_trees)


def fit_temperature(choices: Choices) -> float:
    """The temperature under which what is meant is likeliest; 1 for no words."""
    if not len(choices):
        return 1.0
    return minimum(lambda temperature: -float(choices.log_probability(temperature).mean()))


def minimum(loss: Callable[[float], float]) -> float:
    """The temperature of the least loss, by golden-section search on its logarithm within BOUNDS.

    A softmax's loss is convex in 1 / temperature, so that there is one minimum. Marginals' need
    not be, but falls and rises once in practice.
    """
    ratio = (math.sqrt(5) - 1) / 2
    low, high = map(math.log, BOUNDS)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(math.exp(left)), loss(math.exp(right))
    while high - low > PRECISION:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(math.exp(right))
    return round(math.exp((low + high) / 2), 4)


def errors(events: Sequence[list[np.ndarray]]) -> Errors:
    """The errors of parts of the sentences, as `_events` gives them, pooled."""
    pooled = [np.concatenate(each, axis=1) for each in zip(*events, strict=True)]
    return Errors(*[calibration_error(confidence, right) for confidence, right in pooled])


def _events(
    scored: Sequence[Scored], marginals: Marginals, some: slice, calibration: Calibration
) -> list[np.ndarray]:
    """[2, words] for each kind of `Errors`: the confidence, and 1 where it is right, else 0."""
    choices = Choices([each.arc[each.words] for each in scored], [each.chosen for each in scored])
    arc = np.exp(choices.log_probability(calibration.arc))
    sample = marginals.scored[some]
    found = zip(marginals.at(calibration.marginal, some), sample, strict=True)
    over_trees = _joined([arcs[each.words, each.chosen] for arcs, each in found])
    events = []
    for part, of_arc in ((scored, arc), (sample, over_trees)):
        choices = Choices([each.label for each in part], [each.chosen_label for each in part])
        label = np.exp(choices.log_probability(calibration.label))
        right = _joined([each.chosen == each.gold for each in part])
        label_right = _joined([each.right for each in part])
        events += [np.stack((of_arc, right)), np.stack((of_arc * label, right * label_right))]
    return events


def calibration_error(confidence: np.ndarray, right: np.ndarray, bins: int = BINS) -> float:
    """The expected calibration error in percent (Guo et al. 2017, Eq. 3); 0 for no words.

    confidence, right: [words], a probability and whether it came true. Bins are equally wide, and
    have their upper bounds.
    """
    if not len(confidence):
        return 0.0
    gaps = np.bincount(
        bin_of(confidence, bins), right - confidence, bins
    )  # a bin's size is in numerator and factor
    return float(100.0 * np.abs(gaps).sum() / len(confidence))


def spread(items: Sequence[T], count: int) -> list[T]:
    """So many of the items, evenly spread, or all."""
    if len(items) <= count:
        return list(items)
    return [items[i * len(items) // count] for i in range(count)]


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0), *parts])
