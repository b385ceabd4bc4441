"""Whether a difference between systems is more than chance, and how far a score can be trusted.

Intervals by the bootstrap (Efron 1979; Koehn 2004); p values by approximate randomisation
(Noreen 1989; Yeh 2000), the paired bootstrap (Koehn 2004; Berg-Kirkpatrick et al. 2012) or
McNemar's test (McNemar 1947; Dietterich 1998), adjusted by Holm's method (Holm 1979). Sentences
are resampled, for the words of a sentence are not independent; random numbers are the raw ones
of PCG64, the same in every version of numpy.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from depkit.score.evaluation import Evaluation, percentages

TESTS = ("ar", "bootstrap", "mcnemar")
DEFAULT_SEED = 1
TRIALS, RESAMPLES = 10_000, 1000  # of tests, of intervals
TOLERANCE = 1e-9  # differences this close are ties, so that floating point never breaks one
CHUNK = 2**19  # the most random weights of sentences held at a time, at about 40 bytes each
OF_SENTENCES = ("UEM", "LEM", "RA")  # the metrics that McNemar's test takes over sentences

Statistic = Callable[[np.ndarray], np.ndarray]  # totals [..., count] -> [..., value]
Weights = Callable[[np.random.PCG64, int, int], np.ndarray]  # -> [trial, sentence]


class Difference(NamedTuple):
    """A metric of a system minus the baseline's in percentage points; p, and p by Holm's method."""

    difference: float
    p: float
    adjusted: float


def bootstrap_totals(counts: np.ndarray, trials: int, seed: int = DEFAULT_SEED) -> np.ndarray:
    """[trial, count] float64, sums over as many sentences drawn with replacement; exact.

    counts: [sentence, count] int64. Raises ValueError where there is no trial or no sentence.
    """
    return _weighted_sums(counts, trials, seed, _draws)


def interval_of(
    counts: np.ndarray,
    statistic: Statistic,
    trials: int = RESAMPLES,
    seed: int = DEFAULT_SEED,
    level: float = 95,
) -> np.ndarray:
    """[2, value], the percentile bootstrap interval of each value of a statistic, low and high.

    counts: [sentence, count] int64; statistic: [..., count] -> [..., value]; trials in which a
    value is not a number are left out, NaN if it never is one; level: in percent. Raises
    ValueError as `bootstrap_totals`, and for a level that is not between 0 and 100.
    """
    if not 0 < level < 100:
        raise ValueError(f"a level of confidence is between 0 and 100 percent, not {level}")
    values = statistic(bootstrap_totals(counts, trials, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no trial has a value: the ends are NaN
        return np.nanpercentile(values, [50 - level / 2, 50 + level / 2], axis=0)


def intervals(
    evaluation: Evaluation, trials: int = RESAMPLES, seed: int = DEFAULT_SEED, level: float = 95
) -> dict[str, tuple[float, float]]:
    """The bootstrap interval of every metric that is defined, in percent; see `interval_of`."""
    names = list(evaluation.scores)
    statistic = _scores(evaluation, names)
    low, high = interval_of(evaluation.counts, statistic, trials, seed, level).tolist()
    return {name: (low[i], high[i]) for i, name in enumerate(names)}


def p_values(
    first: np.ndarray,
    second: np.ndarray,
    statistic: Statistic,
    test: str = "ar",
    trials: int = TRIALS,
    seed: int = DEFAULT_SEED,
) -> np.ndarray:
    """[value], two-sided p of the difference of two systems in each value of a statistic.

    first, second: [sentence, count] int64, the same sentences and columns; statistic: [..., count]
    -> [..., value]; test: "ar" swaps a sentence's counts between the systems with probability 1/2
    and counts |difference*| >= |difference|, "bootstrap" draws sentences and counts |difference*
    - difference| >= |difference|; p = (1 + count) / (1 + trials). Raises ValueError for another
    test, for arrays of different shapes and as `bootstrap_totals`.
    """
    return _p_values([first, second], statistic, test, trials, seed)[0]


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Two-sided p of McNemar's test: the exact binomial over the words that one system has right.

    first, second: [word] bool, whether each system is right; p is 1 where they never disagree and
    0 where it is smaller than any float. Raises ValueError for arrays of different shapes.
    """
    if first.shape != second.shape:
        raise ValueError("McNemar's test needs two systems over the same words")
    one, other = int((first & ~second).sum()), int((second & ~first).sum())
    n, k = one + other, min(one, other)
    log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    # (n choose k - 1), (n choose k - 2), ... as shares of (n choose k): none is above 1.
    smaller = np.cumprod(np.arange(k, 0, -1) / np.arange(n - k + 1, n + 1)).sum()
    return min(1.0, 2 * math.exp(log_choose - n * math.log(2)) * (1 + float(smaller)))


def holm(p: Sequence[float]) -> list[float]:
    """The p values of several comparisons adjusted by Holm's step-down method, in their order."""
    order = np.argsort(p)
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(factors * np.asarray(p)[order])
    found: list[float] = np.minimum(adjusted, 1).tolist()
    return found


def compare_systems(
    evaluations: Sequence[Evaluation],
    test: str = "ar",
    trials: int = TRIALS,
    seed: int = DEFAULT_SEED,
) -> list[dict[str, Difference]]:
    """Every system after the first against the first: each metric that is defined in both.

    test: one of TESTS; "mcnemar" has only metrics of words, and UEM, LEM and RA. p values are
    adjusted for the systems compared, metric by metric. Raises ValueError where there is nothing
    to compare: for fewer than two systems, other sentences, aligned texts with "mcnemar"; and as
    `p_values`.
    """
    if len(evaluations) < 2:
        raise ValueError("a test of significance compares two systems or more")
    first, *others = evaluations
    if any((x.columns, x.counts.shape) != (first.columns, first.counts.shape) for x in others):
        raise ValueError("systems are compared on the same sentences, with the same metrics")
    if test == "mcnemar":
        p = [_mcnemar_of_metrics(first, system) for system in others]
    else:
        counts = [system.counts for system in evaluations]
        names = list(first.scores)
        found = _p_values(counts, _scores(first, names), test, trials, seed).tolist()
        p = [dict(zip(names, of, strict=True)) for of in found]
    differences: list[dict[str, Difference]] = [{} for _ in others]
    for name, score in first.scores.items():
        tested = [i for i, x in enumerate(others) if name in x.scores and name in p[i]]
        adjusted = holm([p[i][name] for i in tested])
        for i, of_family in zip(tested, adjusted, strict=True):
            difference = others[i].scores[name] - score
            differences[i][name] = Difference(difference, p[i][name], of_family)
    return differences


def choices(confidence: bool, test: str | None, seed: int) -> tuple[tuple[str, str], ...]:
    """What intervals and tests add to a signature."""
    drawn = confidence or test in ("ar", "bootstrap")
    return (
        *([("bootstrap", str(RESAMPLES))] if confidence else []),
        *([("test", test if test == "mcnemar" else f"{test}-{TRIALS}")] if test else []),
        *([("seed", str(seed))] if drawn else []),
    )


def sentence(test: str, trials: int, seed: int, comparisons: int, family: str = "a metric") -> str:
    """What was tested, in the words of a paper, to stand under the table.

    comparisons: how many p values were adjusted together, for each of what `family` says.
    """
    resampling = f"over sentences ({trials:,} trials, two-sided, seed {seed})"
    tested = {
        "ar": f"paired approximate randomisation {resampling}",
        "bootstrap": f"paired bootstrap {resampling}",
        "mcnemar": "McNemar's test over words, for UEM, LEM and RA over sentences (exact,"
        " two-sided)",
    }[test]
    several = f", adjusted by Holm's method for {comparisons} comparisons {family}"
    return f"Difference from the first system; p: {tested}{several if comparisons > 1 else ''}."


def _p_values(
    systems: Sequence[np.ndarray], statistic: Statistic, test: str, trials: int, seed: int
) -> np.ndarray:
    """[system after the first, value]; all of them see the same swaps or draws."""
    if test not in ("ar", "bootstrap"):
        raise ValueError(f"tests over sentences are 'ar' and 'bootstrap', not {test!r}")
    if len({counts.shape for counts in systems}) > 1:
        raise ValueError("systems are compared on the same sentences and counts")
    first, *others = systems
    totals = np.stack([counts.sum(axis=0) for counts in systems])  # [system, count]
    values = statistic(totals)
    observed = values[1:] - values[:1]
    if test == "ar":
        apart = np.hstack([counts - first for counts in others])
        moved = _weighted_sums(apart, trials, seed, _swaps).reshape(trials, *totals[1:].shape)
        by_chance = statistic(totals[1:] - moved) - statistic(totals[:1] + moved)
    else:
        drawn = bootstrap_totals(np.hstack(systems), trials, seed)
        values = statistic(drawn.reshape(trials, *totals.shape))
        by_chance = values[:, 1:] - values[:, :1] - observed
    # Not >=, so that a value that is not a number never makes a difference significant.
    extreme = ~(np.abs(by_chance) < np.abs(observed) - TOLERANCE)
    return (1 + extreme.sum(axis=0)) / (1 + trials)


def _weighted_sums(counts: np.ndarray, trials: int, seed: int, weights: Weights) -> np.ndarray:
    """[trial, count] float64, exact: each trial's sum of [sentence, count] by random weights.

    A trial takes a fixed share of the random numbers, so that chunks do not change the result.
    """
    if trials < 1 or not len(counts):
        raise ValueError("resampling needs a trial and a sentence at least")
    generator = np.random.PCG64(seed)
    of_sentences = counts.astype(np.float64)
    sums = np.empty((trials, counts.shape[1]))
    step = max(1, CHUNK // len(counts))
    for start in range(0, trials, step):
        some = sums[start : start + step]
        some[:] = weights(generator, len(some), len(counts)).astype(np.float64) @ of_sentences
    return sums


def _draws(generator: np.random.PCG64, trials: int, sentences: int) -> np.ndarray:
    """[trial, sentence] int64, how often each is drawn, as many being drawn as there are."""
    numbers = generator.random_raw((trials, sentences)) >> np.uint64(32)
    drawn = (numbers * np.uint64(sentences) >> np.uint64(32)).astype(np.int64)
    drawn += np.arange(trials)[:, None] * sentences
    return np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)


def _swaps(generator: np.random.PCG64, trials: int, sentences: int) -> np.ndarray:
    """[trial, sentence] uint8, 1 with probability 1/2: a random bit each, of 64 a number."""
    numbers = generator.random_raw((trials, -(-sentences // 64))).astype("<u8")
    return np.unpackbits(numbers.view(np.uint8), axis=1, count=sentences)


def _scores(evaluation: Evaluation, names: Sequence[str]) -> Statistic:
    """The statistic of these metrics in percent: [..., count] -> [..., metric]."""
    metrics = {name: evaluation.metrics[name] for name in names}

    def statistic(totals: np.ndarray) -> np.ndarray:
        return np.stack([*percentages(totals, metrics, evaluation.columns).values()], axis=-1)

    return statistic


def _mcnemar_of_metrics(first: Evaluation, second: Evaluation) -> dict[str, float]:
    """p of McNemar's test for every metric of single words or sentences that both have."""
    one, other = _outcomes(first), _outcomes(second)
    return {name: mcnemar(one[name], other[name]) for name in one if name in other}


def _outcomes(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """[word] or, for those of sentences, [sentence] bool by metric."""
    if not evaluation.right:
        raise ValueError(
            "McNemar's test needs the same words in all systems; test aligned texts by 'ar' or"
            " 'bootstrap'"
        )
    outcomes = dict(evaluation.right)
    for name in OF_SENTENCES:
        if name in evaluation.metrics:
            column = evaluation.columns.index(evaluation.metrics[name].correct)
            outcomes[name] = evaluation.counts[:, column].astype(bool)
    return outcomes
