"""Confidence intervals of scores, and tests of significance for differences between systems.

Intervals are computed by the bootstrap (Efron 1979; Koehn 2004), p values by approximate
randomisation (Noreen 1989; Yeh 2000), the paired bootstrap (Koehn 2004; Berg-Kirkpatrick et al.
2012) or McNemar's test (McNemar 1947; Dietterich 1998). They are adjusted by Holm's method (Holm
1979). Whole sentences are resampled, because the words of a sentence are not independent. The
random numbers are the raw numbers of PCG64, which are the same in every version of numpy.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from depkit.files.errors import ArgumentError
from depkit.score.evaluation import Evaluation, Metric, f1_scores

Test = Literal["ar", "bootstrap", "mcnemar"]
DEFAULT_SEED = 1
TRIALS = 10_000  # of a test
RESAMPLES = 1000  # bootstrap samples for an interval
MIN_DIFFERING = 10  # sentences that differ, below which the p values of the bootstrap are too small
TOLERANCE = 1e-9  # differences this close are ties, whatever the rounding of floating point
MAX_WEIGHTS = 2**19  # random weights in memory at a time, of about 40 bytes each
SENTENCE_METRICS = ("UEM", "LEM", "RA")  # metrics whose McNemar's test counts sentences, not words

Statistic = Callable[[np.ndarray], np.ndarray]  # totals [..., count] -> [..., value]
# (generator, trials, sentences) -> [trial, sentence]
DrawWeights = Callable[[np.random.PCG64, int, int], np.ndarray]


class Difference(NamedTuple):
    """The difference of a metric from the first system, in percentage points, and its p values.

    adjusted: by Holm's method.
    """

    difference: float
    p: float
    adjusted: float


def bootstrap_totals(counts: np.ndarray, trials: int, seed: int = DEFAULT_SEED) -> np.ndarray:
    """Sum the counts of bootstrap samples of sentences, each as large as the treebank.

    counts: [sentence, count] int64. Returns [trial, count] float64, exact integers. Raises
    ValueError if there is no trial or no sentence, or the seed is negative.
    """
    return _weighted_sums(counts, trials, seed, _draw_samples)


def bootstrap_interval(
    counts: np.ndarray,
    statistic: Statistic,
    *,
    trials: int = RESAMPLES,
    seed: int = DEFAULT_SEED,
    level: float = 95,
) -> np.ndarray:
    """Compute the percentile bootstrap interval of each value of a statistic.

    counts: [sentence, count] int64; statistic: maps summed counts [..., count] to values [...,
    value]; level: the confidence level in percent.

    Returns [2, value], lower and upper ends. Samples in which a value is NaN are ignored; the ends
    are NaN if the value is NaN in all samples. Raises ValueError as `bootstrap_totals`, and for a
    level that is not between 0 and 100.
    """
    if not 0 < level < 100:
        raise ValueError(f"a confidence level must be between 0 and 100 percent, not {level}")
    values = statistic(bootstrap_totals(counts, trials, seed))
    with warnings.catch_warnings():
        # Numpy warns about values that are NaN in all samples; NaN is the intended result.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanpercentile(values, [50 - level / 2, 50 + level / 2], axis=0)


def intervals(
    evaluation: Evaluation, trials: int = RESAMPLES, seed: int = DEFAULT_SEED, level: float = 95
) -> dict[str, tuple[float, float]]:
    """Return both ends of the bootstrap interval of each defined metric, in percent."""
    names = list(evaluation.scores)
    statistic = _metrics_statistic(evaluation, names)
    low, high = bootstrap_interval(
        evaluation.counts, statistic, trials=trials, seed=seed, level=level
    ).tolist()
    return {name: (low[i], high[i]) for i, name in enumerate(names)}


def p_values(
    first: np.ndarray,
    second: np.ndarray,
    statistic: Statistic,
    test: str = "ar",
    *,
    trials: int = TRIALS,
    seed: int = DEFAULT_SEED,
) -> np.ndarray:
    """Compute the two-sided p value of the difference of two systems in values of a statistic.

    The test "ar" swaps the counts of each sentence between the systems with probability 1/2, and
    counts the trials with |difference*| >= |difference|. The test "bootstrap" draws sentences with
    replacement, and counts the trials with |difference* - difference| >= |difference|. The p value
    is (1 + count) / (1 + trials).

    Args:
        first: [sentence, count] int64, the counts of one system.
        second: Those of the other system for the same sentences.
        statistic: Maps summed counts [..., count] to values [..., value].
        test: "ar" or "bootstrap".
        trials: The number of trials.
        seed: Their seed.

    Returns:
        [value], a p value for each value of the statistic.

    Raises:
        ValueError: The test is unknown, the shapes of the counts differ, or `bootstrap_totals`
            fails.
    """
    return _p_values([first, second], statistic, test=test, trials=trials, seed=seed)[0]


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the two-sided p value of McNemar's exact test.

    first, second: [word] bool, whether each system has the word correct. The p value is 1 if the
    systems never disagree. Raises ValueError if the shapes differ.
    """
    if first.shape != second.shape:
        raise ValueError("McNemar's test needs two systems over the same words")
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    n, k = only_first + only_second, min(only_first, only_second)
    log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    # The sum of (n choose k - 1), (n choose k - 2), ..., each divided by (n choose k), so that no
    # term is greater than 1.
    smaller = np.cumprod(np.arange(k, 0, -1) / np.arange(n - k + 1, n + 1)).sum()
    return min(1.0, 2 * math.exp(log_choose - n * math.log(2)) * (1 + float(smaller)))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values by Holm's step-down method; the result is in the order of `p`."""
    order = np.argsort(p)
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(factors * np.asarray(p)[order])
    result: list[float] = np.minimum(adjusted, 1).tolist()
    return result


def compare_systems(
    evaluations: Sequence[Evaluation],
    test: str = "ar",
    trials: int = TRIALS,
    seed: int = DEFAULT_SEED,
) -> list[dict[str, Difference]]:
    """Test every later system against the first, in each metric that is defined for both.

    The test "mcnemar" is of the metrics of single words, and of UEM, LEM and RA. For each metric,
    the p values of all systems are adjusted together.

    Returns a difference for each metric, for each system after the first. Raises ValueError if
    there are fewer than two systems, their sentences differ, the test is "mcnemar" and texts were
    aligned, or `p_values` fails.
    """
    if len(evaluations) < 2:
        raise ValueError("a test of significance needs two systems or more")
    first, *others = evaluations
    if any((x.columns, x.counts.shape) != (first.columns, first.counts.shape) for x in others):
        raise ValueError("systems can be compared only on the same sentences and metrics")
    if test == "mcnemar":
        p = [_test_by_mcnemar(first, system) for system in others]
    else:
        counts = [system.counts for system in evaluations]
        names = list(first.scores)
        values = _p_values(
            counts, _metrics_statistic(first, names), test=test, trials=trials, seed=seed
        ).tolist()
        p = [dict(zip(names, system_values, strict=True)) for system_values in values]
    differences: list[dict[str, Difference]] = [{} for _ in others]
    for name, score in first.scores.items():
        tested = [i for i, x in enumerate(others) if name in x.scores and name in p[i]]
        adjusted = holm([p[i][name] for i in tested])
        for i, adjusted_p in zip(tested, adjusted, strict=True):
            difference = others[i].scores[name] - score
            differences[i][name] = Difference(difference, p[i][name], adjusted_p)
    return differences


def small_sample_warnings(evaluations: Sequence[Evaluation], test: str | None) -> list[str]:
    """Return a warning for each later system with the metrics that differ in too few sentences.

    This is for the test "bootstrap": if the difference comes from a few sentences that are alike,
    it is about the same in every sample, and p is too small.
    """
    first, *others = evaluations
    warnings = []
    for system in others if test == "bootstrap" else ():
        differs = system.counts != first.counts  # [sentence, column]
        few = [
            name
            for name in first.scores
            if 0 < _count_rows(differs, first, first.metrics[name]) < MIN_DIFFERING
        ]
        if few:
            warnings.append(
                f"{system.system}: fewer than {MIN_DIFFERING} sentences differ from those of the"
                f" first system in {', '.join(few)}; the p values of `test` bootstrap are too small"
                " there"
            )
    return warnings


def _count_rows(differs: np.ndarray, evaluation: Evaluation, metric: Metric) -> int:
    """Count the sentences in which a count of a metric differs; differs: [sentence, column]."""
    names = {metric.correct, metric.gold, metric.predicted}
    return int(differs[:, [evaluation.columns.index(name) for name in names]].any(1).sum())


def choices(confidence: bool, test: str | None, seed: int) -> tuple[tuple[str, str], ...]:
    """Return the settings that intervals (if `confidence`) and a test add to a signature.

    The seed is included only if random numbers are used.
    """
    is_random = confidence or test in ("ar", "bootstrap")
    return (
        *([("bootstrap", str(RESAMPLES))] if confidence else []),
        *([("test", test if test == "mcnemar" else f"{test}-{TRIALS}")] if test else []),
        *([("seed", str(seed))] if is_random else []),
    )


def describe_test(
    test: str, *, trials: int, seed: int, comparisons: int, family: str = "per metric"
) -> str:
    """Describe a test in the words of a paper, as a note below a table.

    comparisons: how many p values were adjusted together; family: what they have in common.
    """
    resampling = f"over sentences ({trials:,} trials, two-sided, seed {seed})"
    description = {
        "ar": f"paired approximate randomisation {resampling}",
        "bootstrap": f"paired bootstrap {resampling}",
        "mcnemar": "McNemar's test over words, for UEM, LEM and RA over sentences (exact,"
        " two-sided)",
    }[test]
    adjustment = f", adjusted by Holm's method for {comparisons} comparisons {family}"
    return (
        "Difference from the first system; p:"
        f" {description}{adjustment if comparisons > 1 else ''}."
    )


def _p_values(
    systems: Sequence[np.ndarray], statistic: Statistic, *, test: str, trials: int, seed: int
) -> np.ndarray:
    """Compute [system after the first, value] p values from the same swaps or samples."""
    if test not in ("ar", "bootstrap"):
        raise ValueError(f"a test over sentences must be 'ar' or 'bootstrap', not {test!r}")
    if len({counts.shape for counts in systems}) > 1:
        raise ValueError("systems can be compared only on the same sentences and counts")
    first, *others = systems
    totals = np.stack([counts.sum(axis=0) for counts in systems])  # [system, count]
    values = statistic(totals)
    observed = values[1:] - values[:1]
    if test == "ar":
        excess = np.hstack([counts - first for counts in others])
        swapped = _weighted_sums(excess, trials, seed, _draw_swaps)
        swapped = swapped.reshape(trials, *totals[1:].shape)
        by_chance = statistic(totals[1:] - swapped) - statistic(totals[:1] + swapped)
    else:
        samples = bootstrap_totals(np.hstack(systems), trials, seed)
        values = statistic(samples.reshape(trials, *totals.shape))
        by_chance = values[:, 1:] - values[:, :1] - observed
    # This is not written with >=, because a trial whose value is NaN must count as extreme: NaN
    # then never makes a difference significant.
    extreme = ~(np.abs(by_chance) < np.abs(observed) - TOLERANCE)
    return (1 + extreme.sum(axis=0)) / (1 + trials)


def _weighted_sums(
    counts: np.ndarray, trials: int, seed: int, draw_weights: DrawWeights
) -> np.ndarray:
    """Sum [sentence, count] with random weights in each trial: [trial, count] float64, exact.

    Every trial consumes the same number of random numbers, so the result does not depend on how
    many trials are computed at a time.
    """
    if trials < 1 or not len(counts):
        raise ValueError("resampling needs at least one trial and one sentence")
    if seed < 0:
        raise ArgumentError("seed", f"it must be 0 or more, not {seed}")
    generator = np.random.PCG64(seed)
    float_counts = counts.astype(np.float64)
    sums = np.empty((trials, counts.shape[1]))
    step = max(1, MAX_WEIGHTS // len(counts))
    for start in range(0, trials, step):
        part = sums[start : start + step]
        weights = draw_weights(generator, len(part), len(counts)).astype(np.float64)
        part[:] = weights @ float_counts
    return sums


def _draw_samples(generator: np.random.PCG64, trials: int, sentences: int) -> np.ndarray:
    """Draw sentences with replacement: [trial, sentence] int64, how often each sentence is drawn.

    The upper 32 bits of a random number choose a sentence.
    """
    numbers = generator.random_raw((trials, sentences)) >> np.uint64(32)
    drawn = (numbers * np.uint64(sentences) >> np.uint64(32)).astype(np.int64)
    drawn += np.arange(trials)[:, None] * sentences
    return np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)


def _draw_swaps(generator: np.random.PCG64, trials: int, sentences: int) -> np.ndarray:
    """Draw which sentences are swapped: [trial, sentence] uint8, 1 with probability 1/2.

    A random number has 64 bits, one for each sentence.
    """
    numbers = generator.random_raw((trials, -(-sentences // 64))).astype("<u8")
    return np.unpackbits(numbers.view(np.uint8), axis=1, count=sentences)


def _metrics_statistic(evaluation: Evaluation, names: Sequence[str]) -> Statistic:
    """Return a statistic that computes metrics in percent: [..., count] -> [..., metric]."""
    metrics = {name: evaluation.metrics[name] for name in names}

    def statistic(totals: np.ndarray) -> np.ndarray:
        return np.stack([*f1_scores(totals, metrics, evaluation.columns).values()], axis=-1)

    return statistic


def _test_by_mcnemar(first: Evaluation, second: Evaluation) -> dict[str, float]:
    """Return the p value of every metric of single words or sentences that both systems have."""
    first_correct, second_correct = _correct_by_metric(first), _correct_by_metric(second)
    return {
        name: mcnemar(correct, second_correct[name])
        for name, correct in first_correct.items()
        if name in second_correct
    }


def _correct_by_metric(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """Return which words, or which sentences, are correct: [word] or [sentence] bool by metric."""
    if not evaluation.correct:
        raise ValueError(
            "McNemar's test needs the same words in all systems; test aligned texts by 'ar' or"
            " 'bootstrap'"
        )
    correct = dict(evaluation.correct)
    for name in SENTENCE_METRICS:
        if name in evaluation.metrics:
            column = evaluation.columns.index(evaluation.metrics[name].correct)
            correct[name] = evaluation.counts[:, column].astype(bool)
    return correct
