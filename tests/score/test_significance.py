import math
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product, starmap
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from depkit.score import significance
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.significance import (
    Difference,
    Test,
    bootstrap_interval,
    bootstrap_totals,
    compare_systems,
    describe_test,
    holm,
    intervals,
    mcnemar,
    p_values,
    small_sample_warnings,
)

COLUMNS = ("sentences", "scored", "heads", "both", "complete_heads", "tags")
METRICS = {
    "UAS": Metric("heads", "scored", "scored"),
    "LAS": Metric("both", "scored", "scored"),
    "UEM": Metric("complete_heads", "sentences", "sentences"),
    "UPOS": Metric("tags", "scored", "scored"),
}
RESAMPLING = ("ar", "bootstrap")
LENGTHS = np.array([3, 1, 7, 2, 9, 4, 5, 8])


def accuracy(totals: np.ndarray) -> np.ndarray:
    """Map [..., 3] to [..., 2]: the percentages of two kinds of correct words."""
    return 100 * totals[..., :2] / totals[..., 2:]


def random_counts(lengths: np.ndarray, seed: int, share: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    correct = [rng.binomial(lengths, share), rng.binomial(lengths, share)]
    return np.stack([*correct, lengths], axis=1)


def random_system(
    share: float, seed: int, sentences: int = 40, undefined: Sequence[str] = ()
) -> Evaluation:
    rng = np.random.default_rng(seed)
    lengths = np.arange(sentences) % 9 + 1
    correct = {name: rng.random(lengths.sum()) < share for name in ("UAS", "LAS", "UPOS")}
    starts = np.cumsum(lengths) - lengths
    heads, both, tags = (np.add.reduceat(mask, starts, dtype=np.int64) for mask in correct.values())
    counts = np.stack([np.ones_like(lengths), lengths, heads, both, heads == lengths, tags], axis=1)
    return Evaluation(
        "system", counts, COLUMNS, METRICS, undefined=dict.fromkeys(undefined, ""), correct=correct
    )


def monte_carlo_error(p: float, trials: int) -> float:
    """Return four standard deviations, and the error of adding 1 to the counts."""
    return 4 * math.sqrt(p * (1 - p) / trials) + 1 / trials


# Approximate randomisation and the bootstrap, compared with all swaps and all resamples


def all_swaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the differences for all ways to swap sentences between the systems."""
    swaps = np.array(list(product([False, True], repeat=len(first))))[:, :, None]
    swapped_first, swapped_second = np.where(swaps, second, first), np.where(swaps, first, second)
    return accuracy(swapped_second.sum(axis=1)) - accuracy(swapped_first.sum(axis=1))


def all_resamples(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return, for all samples of sentences, how far the difference is from the observed one."""
    drawn = np.array(list(product(range(len(first)), repeat=len(first))))
    differences = accuracy(second[drawn].sum(axis=1)) - accuracy(first[drawn].sum(axis=1))
    return differences - (accuracy(second.sum(axis=0)) - accuracy(first.sum(axis=0)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("test", "differences", "sentences"), [("ar", all_swaps, 8), ("bootstrap", all_resamples, 4)]
)
def test_p_equals_the_exact_probability(
    test: str, differences: Callable[..., np.ndarray], sentences: int, seed: int
) -> None:
    lengths = LENGTHS[:sentences]
    first, second = random_counts(lengths, seed, 0.8), random_counts(lengths, seed + 50, 0.6)
    observed = np.abs(accuracy(second.sum(axis=0)) - accuracy(first.sum(axis=0)))
    exact = (np.abs(differences(first, second)) >= observed - 1e-9).mean(axis=0)
    result = p_values(first, second, accuracy, test, trials=20_000, seed=seed)
    for p, expected in zip(result, exact, strict=True):
        assert p == pytest.approx(expected, abs=monte_carlo_error(expected, 20_000))


def test_all_resamples_are_equally_likely() -> None:
    """The counts are powers of five, so the total shows how often each sentence was drawn."""
    counts = np.array([[1], [5], [25], [125]])
    frequencies = Counter(bootstrap_totals(counts, 20_000).ravel().tolist())
    expected = Counter(counts[list(drawn), 0].sum() for drawn in product(range(4), repeat=4))
    assert frequencies.keys() == expected.keys()
    for total, count in expected.items():
        share = count / 256
        assert frequencies[total] / 20_000 == pytest.approx(
            share, abs=monte_carlo_error(share, 20_000)
        )


# The random numbers


def test_sums_equal_those_of_python_integers() -> None:
    """The counts are large, so a sum in single precision would be wrong."""
    counts = np.random.default_rng(5).integers(0, 10**12, (70, 2))
    numbers = np.random.PCG64(3).random_raw(70 * 4).tolist()
    drawn = [(number >> 32) * 70 >> 32 for number in numbers]
    rows = counts.tolist()
    expected = [
        [sum(rows[i][column] for i in drawn[start : start + 70]) for column in (0, 1)]
        for start in range(0, 280, 70)
    ]
    assert bootstrap_totals(counts, 4, seed=3).tolist() == expected


def test_results_are_the_same_on_every_machine() -> None:
    """The p values of a paper can be reproduced with any version of numpy, on any machine."""
    first = np.array([[i % 3, i % 4, 5] for i in range(20)])
    second = np.array([[i % 5, i * i % 5, 5] for i in range(20)])
    assert bootstrap_totals(first, 3, seed=1)[:, 0].tolist() == [18, 15, 21]
    thousandths = [
        1000 * p_values(first, second, accuracy, test, trials=999, seed=1) for test in RESAMPLING
    ]
    assert np.rint(thousandths).tolist() == [[11, 321], [6, 303]]


@pytest.mark.parametrize("test", RESAMPLING)
def test_results_depend_on_the_seed_only(test: str) -> None:
    first, second = random_counts(LENGTHS, 1, 0.8), random_counts(LENGTHS, 2, 0.7)
    first_p, first_again, other_p = (
        p_values(first, second, accuracy, test, trials=500, seed=seed) for seed in (1, 1, 2)
    )
    assert first_p.tolist() == first_again.tolist() != other_p.tolist()


@pytest.mark.parametrize("weights", [1, 150, 700])
def test_the_number_of_weights_in_memory_makes_no_difference(
    weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = np.arange(70) % 9 + 1  # more than the 64 bits of a random number
    first, second = random_counts(lengths, 1, 0.8), random_counts(lengths, 2, 0.75)

    def figures() -> list[object]:
        p = [p_values(first, second, accuracy, test, trials=99).tolist() for test in RESAMPLING]
        return [bootstrap_totals(first, 13).tolist(), *p]

    expected = figures()
    monkeypatch.setattr(significance, "MAX_WEIGHTS", weights)
    assert figures() == expected


@pytest.mark.parametrize("test", RESAMPLING)
def test_memory_is_bounded(test: str) -> None:
    """A hundred thousand words need ten million weights, which would take 80 MB all at once."""
    lengths = np.full(10_000, 10)
    first, second = random_counts(lengths, 1, 0.8), random_counts(lengths, 2, 0.8)
    tracemalloc.start()
    p_values(first, second, accuracy, test, trials=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


# p values


@pytest.mark.parametrize("test", get_args(Test))
def test_a_system_does_not_differ_from_itself(test: str) -> None:
    system = random_system(0.7, 1)
    (differences,) = compare_systems([system, system], test, 300)
    assert differences
    assert set(differences.values()) == {Difference(0, 1, 1)}


@pytest.mark.parametrize("test", RESAMPLING)
def test_equal_scores_from_different_sentences_are_not_significant(test: str) -> None:
    """A difference of zero is never significant, whatever the rounding of the scores."""
    first = np.array([[1, 0, 3], [0, 2, 3], [2, 1, 3]])
    assert p_values(first, first[[1, 2, 0]], accuracy, test, trials=300).tolist() == [1, 1]


@pytest.mark.parametrize("test", get_args(Test))
def test_the_order_of_systems_does_not_matter(test: str) -> None:
    first, second = random_system(0.75, 1), random_system(0.7, 2)
    (differences,), (reverse,) = (
        compare_systems(x, test, 300) for x in ([first, second], [second, first])
    )
    assert {name: (-x.difference, x.p, x.adjusted) for name, x in differences.items()} == reverse
    assert 0 < differences["UAS"].p < 1


@pytest.mark.parametrize("test", RESAMPLING)
def test_rounding_errors_break_no_ties(test: str) -> None:
    """The systems differ in one of two sentences: all swaps and half of the resamples are ties."""
    first, second = np.array([[1, 1, 3], [2, 2, 3]]), np.array([[2, 0, 3], [2, 2, 3]])

    def with_rounding_errors(totals: np.ndarray) -> np.ndarray:
        scores = accuracy(totals)
        return scores * (1 + 1e-13 * (np.arange(scores.size).reshape(scores.shape) % 7))

    p = p_values(first, second, accuracy, test, trials=300).tolist()
    assert p_values(first, second, with_rounding_errors, test, trials=300).tolist() == p
    assert p == [1, 1] if test == "ar" else p == pytest.approx([0.5, 0.5], abs=0.1)


@pytest.mark.parametrize("test", RESAMPLING)
def test_undefined_scores_are_not_significant(test: str) -> None:
    def compute_nan(totals: np.ndarray) -> np.ndarray:
        return np.full_like(totals, np.nan, dtype=np.float64)

    counts = random_counts(LENGTHS, 1, 0.5)
    assert p_values(counts, counts[::-1], compute_nan, test, trials=10).tolist() == [1, 1, 1]


@given(st.integers(0, 99), st.sampled_from(RESAMPLING), st.integers(1, 50), st.integers(1, 200))
@settings(max_examples=50, deadline=None)
def test_p_is_a_share_of_trials(seed: int, test: str, sentences: int, trials: int) -> None:
    lengths = np.arange(sentences) % 9 + 1
    first, second = random_counts(lengths, seed, 0.8), random_counts(lengths, seed + 1, 0.6)
    for p in p_values(first, second, accuracy, test, trials=trials, seed=seed):
        count = p * (1 + trials)
        assert count == pytest.approx(round(count), abs=1e-9)
        assert 1 <= round(count) <= 1 + trials


@pytest.mark.parametrize("test", RESAMPLING)
def test_p_is_uniform_where_nothing_differs(test: str) -> None:
    """Two equally good systems have p <= 0.1 in one case of ten."""
    lengths = np.full(60, 20)
    p = []
    for seed in range(200):
        first, second = random_counts(lengths, seed, 0.8), random_counts(lengths, seed + 1000, 0.8)
        p.append(p_values(first, second, accuracy, test, trials=199, seed=seed))
    assert (np.array(p) <= 0.1).mean() == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / 400))


# McNemar's test


def correct_words(
    only_first: int, only_second: int, both: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Return the correct words of two systems as masks, given the numbers of correct words."""
    kinds = np.repeat([0, 1, 2], [only_first, only_second, both])
    return kinds != 1, kinds != 0


@given(st.integers(0, 300), st.integers(0, 300))
@example(0, 0)
@example(5, 5)
@settings(deadline=None)
def test_mcnemar_equals_the_sum_of_binomial_coefficients(only_first: int, only_second: int) -> None:
    n = only_first + only_second
    tail = sum(math.comb(n, i) for i in range(min(only_first, only_second) + 1))
    p = mcnemar(*correct_words(only_first, only_second))
    assert p == pytest.approx(min(1, 2 * tail / 2**n), rel=1e-11)
    assert 0 < p <= 1


@pytest.mark.parametrize("only_second", [500_000, 501_000, 502_000])
def test_mcnemar_of_a_million_words_equals_the_normal_approximation(only_second: int) -> None:
    # The approximation has a continuity correction.
    only_first = 1_000_000 - only_second
    z = max(0, only_second - only_first - 1) / 1000
    expected = math.erfc(z / math.sqrt(2))
    assert mcnemar(*correct_words(only_first, only_second)) == pytest.approx(expected, rel=1e-4)


def test_mcnemar_needs_the_same_words() -> None:
    with pytest.raises(ValueError, match="the same words"):
        mcnemar(np.ones(1, bool), np.ones(2, bool))


# Holm's method


probabilities = st.floats(0, 1) | st.sampled_from([0.0, 0.2, 0.5])  # with ties


@given(st.lists(probabilities, max_size=8))
@example([])
def test_holm_equals_the_definition(p: list[float]) -> None:
    """The smallest p is multiplied by n, the next by n - 1, and so on; values never decrease."""
    ordered = sorted(p)
    steps = [min(1, (len(p) - i) * x) for i, x in enumerate(ordered)]
    assert holm(p) == pytest.approx([max(steps[: ordered.index(x) + 1]) for x in p])


# Intervals


@pytest.mark.parametrize(("level", "expected"), [(95, [0, 100]), (40, [50, 50])])
def test_interval_equals_that_by_hand(level: float, expected: list[float]) -> None:
    """One of two sentences is correct: samples have 0, 50, 100 with shares of 1/4, 1/2, 1/4."""
    counts = np.array([[0, 4], [4, 4]])
    interval = bootstrap_interval(
        counts,
        lambda totals: 100 * totals[..., :1] / totals[..., 1:],
        trials=1000,
        seed=1,
        level=level,
    )
    assert interval[:, 0].tolist() == expected


def test_interval_equals_that_of_the_standard_error() -> None:
    counts = random_counts(np.full(400, 10), 1, 0.8)
    low, high = bootstrap_interval(counts, accuracy, trials=4000)
    error = 10 * counts[:, :2].std(axis=0) / 20  # of the mean over 400 sentences, in points
    assert low == pytest.approx(accuracy(counts.sum(axis=0)) - 1.96 * error, abs=0.15)
    assert high == pytest.approx(accuracy(counts.sum(axis=0)) + 1.96 * error, abs=0.15)


def test_intervals_of_equal_sentences_have_no_width() -> None:
    counts = np.tile([1, 4, 3, 1, 0, 4], (30, 1))
    system = Evaluation("system", counts, COLUMNS, METRICS, undefined={"UPOS": ""})
    assert intervals(system) == {"UAS": (75, 75), "LAS": (25, 25), "UEM": (0, 0)}


def test_intervals_are_around_the_scores() -> None:
    system = random_system(0.7, 1)
    narrow, wide = intervals(system, level=50), intervals(system, level=99)
    assert list(wide) == list(system.scores)
    for name, score in system.scores.items():
        assert 0 <= wide[name][0] < narrow[name][0] < score < narrow[name][1] < wide[name][1] <= 100


def test_intervals_depend_on_the_seed() -> None:
    system = random_system(0.7, 1)
    assert intervals(system) == intervals(system, seed=1) != intervals(system, seed=2)


@pytest.mark.parametrize("level", [0, 100, -5])
def test_invalid_levels_are_an_error(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        intervals(random_system(0.7, 1), level=level)


# Several systems


@pytest.mark.parametrize("test", RESAMPLING)
def test_systems_are_compared_one_by_one(test: str) -> None:
    """The presence of other systems changes nothing except Holm's adjustment."""
    first, *others = (random_system(share, i) for i, share in enumerate([0.7, 0.75, 0.8]))
    differences = compare_systems([first, *others], test, 500)
    for name in METRICS:
        together = [by_metric[name] for by_metric in differences]
        alone = [compare_systems([first, system], test, 500)[0][name] for system in others]
        assert (
            [difference.p for difference in together]
            == [difference.p for difference in alone]
            == [difference.adjusted for difference in alone]
        )
        assert [difference.adjusted for difference in together] == holm(
            [difference.p for difference in together]
        )
        for difference, system in zip(together, others, strict=True):
            assert difference.difference == system.scores[name] - first.scores[name]


def test_p_of_a_metric_equals_p_of_its_counts() -> None:
    first, second = random_system(0.7, 1), random_system(0.75, 2)

    def uas(totals: np.ndarray) -> np.ndarray:
        return 100 * totals[..., 2:3] / totals[..., 1:2]

    (differences,) = compare_systems([first, second], "ar", 500, 7)
    (p,) = p_values(first.counts, second.counts, uas, "ar", trials=500, seed=7)
    assert differences["UAS"].p == p


def test_mcnemar_compares_the_correct_words_of_each_metric() -> None:
    first, second = random_system(0.7, 1), random_system(0.8, 2)
    (differences,) = compare_systems([first, second], "mcnemar")
    assert list(differences) == ["UAS", "LAS", "UEM", "UPOS"]
    assert differences["LAS"].p == mcnemar(first.correct["LAS"], second.correct["LAS"])
    exact = [system.counts[:, 4] == 1 for system in (first, second)]
    assert differences["UEM"].p == mcnemar(*exact) < 1


@pytest.mark.parametrize("test", get_args(Test))
def test_only_metrics_that_both_systems_have_are_compared(test: str) -> None:
    """Holm's method adjusts for the systems that have the metric."""
    first, second = random_system(0.7, 1), random_system(0.75, 2, undefined=["UPOS"])
    without_tags, with_tags = compare_systems([first, second, random_system(0.72, 3)], test, 100)
    assert "UPOS" not in without_tags
    assert with_tags["UPOS"].p == with_tags["UPOS"].adjusted < 1
    assert "UPOS" not in compare_systems([second, first], test, 100)[0]


@pytest.mark.parametrize("test", get_args(Test))
def test_single_systems_and_different_sentences_are_an_error(test: str) -> None:
    with pytest.raises(ValueError, match="two systems or more"):
        compare_systems([random_system(0.7, 1)], test)
    with pytest.raises(ValueError, match="the same sentences"):
        compare_systems([random_system(0.7, 1), random_system(0.7, 1, sentences=41)], test)


def test_invalid_tests_and_counts_are_an_error() -> None:
    system = random_system(0.7, 1)
    aligned = Evaluation("aligned", system.counts, COLUMNS, METRICS)
    with pytest.raises(ValueError, match="aligned texts"):
        compare_systems([aligned, aligned], "mcnemar")
    with pytest.raises(ValueError, match="'ar' or 'bootstrap', not 't'"):
        compare_systems([system, system], "t")
    with pytest.raises(ValueError, match="at least one trial"):
        compare_systems([system, system], "ar", 0)
    with pytest.raises(ValueError, match="one sentence"):
        bootstrap_totals(np.zeros((0, 2), np.int64), 10)
    with pytest.raises(ValueError, match="the same sentences"):
        p_values(system.counts, system.counts[:1], accuracy)  # would broadcast


def test_describe_test_names_test_and_settings() -> None:
    assert describe_test("ar", trials=10_000, seed=1, comparisons=2) == (
        "Difference from the first system; p: paired approximate randomisation over sentences"
        " (10,000 trials, two-sided, seed 1), adjusted by Holm's method"
        " for 2 comparisons per metric."
    )
    assert describe_test("bootstrap", trials=500, seed=2, comparisons=1) == (
        "Difference from the first system; p: paired bootstrap over sentences"
        " (500 trials, two-sided, seed 2)."
    )
    assert describe_test("mcnemar", trials=500, seed=2, comparisons=1) == (
        "Difference from the first system; p: McNemar's test over words, for UEM, LEM and RA over"
        " sentences (exact, two-sided)."
    )


def test_the_bootstrap_of_few_differences_has_a_warning() -> None:
    first = random_system(0.7, 1)

    def system(num_heads: int, num_tags: int) -> Evaluation:
        counts = first.counts.copy()
        counts[:num_heads, COLUMNS.index("heads")] += 1
        counts[:num_tags, COLUMNS.index("tags")] += 1
        return Evaluation(f"{num_heads}, {num_tags}", counts, COLUMNS, METRICS)

    systems = [first, *starmap(system, [(0, 0), (1, 0), (9, 10), (10, 10), (9, 1)])]
    text = "fewer than 10 sentences differ from those of the first system in"
    assert [x.partition(";")[0] for x in small_sample_warnings(systems, "bootstrap")] == [
        f"1, 0: {text} UAS", f"9, 10: {text} UAS", f"9, 1: {text} UAS, UPOS",
    ]  # fmt: skip
    assert small_sample_warnings(systems, "ar") == small_sample_warnings(systems, None) == []
