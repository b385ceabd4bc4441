from fractions import Fraction

import numpy as np
import pytest
from random_parses import Word, compared_values, random_parses, sentences

from depkit.score.attachment import Data, read_data
from depkit.score.calibration import (
    Reliability,
    accuracy_intervals,
    calibration_errors,
    calibration_rows,
    measure_calibration,
)

GOLD = [[Word(2, "a"), Word(0, "b"), Word(2, "c")], [Word(0, "d")]]
# The head and the label of the first and of the last word are correct, and the head of the second.
SYSTEM = [
    [Word(2, "a", 1.0, 0.9), Word(0, "x", 0.5, 0.5), Word(1, "c", 0.4, 0.5)],
    [Word(0, "d", 0.8, 0.875)],
]


def read(gold: list[list[Word]], *systems: list[list[Word]], **options: str) -> Data:
    parses = [sentences(system) for system in systems]
    return read_data(sentences(gold), parses, probabilities=True, **options)  # type: ignore[arg-type]


def test_calibration_equals_values_computed_by_hand() -> None:
    # The confidences are 0.9 (correct), 0.25 and 0.2 (wrong) and 0.7 (correct); 0.2 and 0.7 are
    # the upper ends of their bins.
    rows = calibration_rows(measure_calibration(read(GOLD, SYSTEM)))
    assert [row["bin"] for row in rows] == ["10-20", "20-30", "60-70", "80-90", "all"]
    assert [row["words"] for row in rows] == [1, 1, 1, 1, 4]
    assert [row["correct"] for row in rows] == [0, 0, 1, 1, 2]
    assert [row["confidence"] for row in rows] == pytest.approx([20, 25, 70, 90, 51.25])
    assert [row["accuracy"] for row in rows] == [0, 0, 100, 100, 50]
    assert [row["gap"] for row in rows] == pytest.approx([-20, -25, 30, 10, -1.25])
    assert [row["ece"] for row in rows[:-1]] == [row["mce"] for row in rows[:-1]] == [None] * 4
    assert rows[-1]["ece"] == pytest.approx((20 + 25 + 30 + 10) / 4)
    assert rows[-1]["mce"] == pytest.approx(30)
    assert rows[-1]["brier"] == pytest.approx((0.04 + 0.0625 + 0.09 + 0.01) / 4)


def test_calibration_of_heads_equals_values_computed_by_hand() -> None:
    # The confidences are 1, 0.5 and 0.8 (correct) and 0.4 (wrong), in two bins.
    rows = calibration_rows(measure_calibration(read(GOLD, SYSTEM), "UAS", 2))
    assert [(row["bin"], row["words"], row["correct"]) for row in rows] == [
        ("0-50", 2, 1), ("50-100", 2, 2), ("all", 4, 3),
    ]  # fmt: skip
    assert [row["gap"] for row in rows] == pytest.approx([5, 10, 7.5])
    assert (rows[-1]["ece"], rows[-1]["mce"]) == pytest.approx((7.5, 10))


def calibrate_by_definition(
    gold: list[list[Word]],
    system: list[list[Word]],
    metric: str,
    bins: int,
    punct: bool,
    subtypes: str,
) -> tuple[float, float, float, int]:
    """Return ECE and MCE in points, Brier score and the number of scored words."""
    words_by_bin: list[list[tuple[Fraction, bool]]] = [[] for _ in range(bins)]
    for tree, parse in zip(gold, system, strict=True):
        for gold_word, word in zip(tree, parse, strict=True):
            if punct and gold_word.deprel == "punct":
                continue
            confidence = Fraction(str(word.arc))
            confidence *= Fraction(str(word.label)) if metric == "LAS" else 1
            correct = compared_values(gold_word, metric, subtypes) == compared_values(
                word, metric, subtypes
            )
            for m in range(bins):
                if Fraction(m, bins) < confidence <= Fraction(m + 1, bins) or m == confidence == 0:
                    words_by_bin[m].append((confidence, correct))
    words = sum(map(len, words_by_bin))
    gaps = [
        abs(
            sum(correct for _, correct in words_in_bin)
            - sum(confidence for confidence, _ in words_in_bin)
        )
        for words_in_bin in words_by_bin
    ]
    brier = sum(
        (confidence - correct) ** 2
        for words_in_bin in words_by_bin
        for confidence, correct in words_in_bin
    )
    maximum_gap = max(
        gap / len(words_in_bin)
        for gap, words_in_bin in zip(gaps, words_by_bin, strict=True)
        if words_in_bin
    )
    return 100 * float(sum(gaps) / words), 100 * float(maximum_gap), float(brier / words), words


@pytest.mark.parametrize("seed", range(40))
def test_calibration_of_random_parses_equals_the_definitions(seed: int) -> None:
    gold, systems = random_parses(seed, 2)
    metric, bins = ("UAS", "LAS")[seed % 2], (10, 15, 1, 7)[seed // 2 % 4]
    punct, subtypes = seed % 3 == 0, ("keep", "drop")[seed % 5 == 0]
    punct &= any(word.deprel != "punct" for tree in gold for word in tree)
    data = read(gold, *systems, punct="deprel" if punct else "keep", subtypes=subtypes)
    rows = calibration_rows(measure_calibration(data, metric, bins))
    for row, system, evaluation in zip(rows[-2:], systems, data.evaluations, strict=True):
        scores = (row["ece"], row["mce"], row["brier"], row["words"])
        assert scores == pytest.approx(
            calibrate_by_definition(gold, system, metric, bins, punct, subtypes)
        )
        assert row["accuracy"] == pytest.approx(evaluation.scores[metric])


def test_intervals_resample_whole_sentences() -> None:
    # All words are in the bin 50-100. Both heads of the first sentence are correct, and the head of
    # the second is wrong.
    gold = [[Word(0, "a"), Word(1, "a")], [Word(0, "a")]]
    system = [[Word(0, "a"), Word(1, "a")], [Word(-1, "a")]]
    calibration = measure_calibration(read(gold, system), "UAS", 2)
    intervals = accuracy_intervals(calibration, 0)
    assert np.isnan(intervals[:, 0]).all()
    assert intervals[:, 1:].tolist() == [[0, 0], [100, 100]]
    row = calibration_rows(calibration, confidence=True)[0]
    assert (row["accuracy_low"], row["accuracy"], row["accuracy_high"]) == pytest.approx(
        (0, 200 / 3, 100)
    )


def test_a_bin_without_words_has_no_error() -> None:
    totals = np.array([[0.0, 0, 0, 0], [4, 3, 2, 1]])
    assert calibration_errors(totals).tolist() == [25, 25]


def test_other_metrics_and_missing_probabilities_are_an_error() -> None:
    data = read(GOLD, SYSTEM)
    with pytest.raises(ValueError, match="calibration is measured for UAS or LAS, not for LA"):
        measure_calibration(data, "LA")
    with pytest.raises(ValueError, match="at least one bin, not 0"):
        measure_calibration(data, bins=0)
    with pytest.raises(ValueError, match="read with probabilities"):
        measure_calibration(read_data(sentences(GOLD), [sentences(SYSTEM)]))


def test_bins_are_labelled_by_their_percentages() -> None:
    labels = Reliability(read(GOLD, SYSTEM), "LAS", 15, []).labels
    assert (labels[0], labels[1], labels[-1]) == ("0-6.667", "6.667-13.33", "93.33-100")
