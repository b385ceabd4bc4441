from fractions import Fraction

import numpy as np
import pytest
from random_parses import Word, answer, random_parses, sentences

from depkit.score.analysis import Data, read_data
from depkit.score.calibration import (
    Calibration,
    accuracy_intervals,
    calibrate,
    calibration_errors,
    calibration_rows,
)

GOLD = [[Word(2, "a"), Word(0, "b"), Word(2, "c")], [Word(0, "d")]]
# Right are both of the first word, the head of the second, nothing of the third, both of the last.
SYSTEM = [
    [Word(2, "a", 1.0, 0.9), Word(0, "x", 0.5, 0.5), Word(1, "c", 0.4, 0.5)],
    [Word(0, "d", 0.8, 0.875)],
]


def read(gold: list[list[Word]], *systems: list[list[Word]], **options: str) -> Data:
    parsed = [sentences(system) for system in systems]
    return read_data(sentences(gold), parsed, probabilities=True, **options)  # type: ignore[arg-type]


def test_a_calibration_by_hand() -> None:
    # Confidence 0.9 (right), 0.25, 0.2 (wrong) and 0.7 (right): the last two are at the upper
    # ends of their bins.
    rows = calibration_rows(calibrate(read(GOLD, SYSTEM)))
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


def test_of_heads_alone() -> None:
    # Confidence 1, 0.5, 0.8 (right) and 0.4 (wrong), in two bins.
    rows = calibration_rows(calibrate(read(GOLD, SYSTEM), "UAS", 2))
    assert [(row["bin"], row["words"], row["correct"]) for row in rows] == [
        ("0-50", 2, 1), ("50-100", 2, 2), ("all", 4, 3),
    ]  # fmt: skip
    assert [row["gap"] for row in rows] == pytest.approx([5, 10, 7.5])
    assert (rows[-1]["ece"], rows[-1]["mce"]) == pytest.approx((7.5, 10))


def naive(
    gold: list[list[Word]], system: list[list[Word]], metric: str, bins: int, punct: bool, drop: str
) -> tuple[float, float, float, int]:
    """ECE and MCE in points, the Brier score and the scored words, by the definitions."""
    inside: list[list[tuple[Fraction, bool]]] = [[] for _ in range(bins)]
    for tree, parsed in zip(gold, system, strict=True):
        for one, other in zip(tree, parsed, strict=True):
            if punct and one.deprel == "punct":
                continue
            confidence = Fraction(str(other.arc))
            confidence *= Fraction(str(other.label)) if metric == "LAS" else 1
            right = answer(one, metric, drop) == answer(other, metric, drop)
            for m in range(bins):
                if Fraction(m, bins) < confidence <= Fraction(m + 1, bins) or m == confidence == 0:
                    inside[m].append((confidence, right))
    words = sum(map(len, inside))
    gaps = [abs(sum(r for _, r in some) - sum(c for c, _ in some)) for some in inside]
    brier = sum((c - r) ** 2 for some in inside for c, r in some)
    most = max(gap / len(some) for gap, some in zip(gaps, inside, strict=True) if some)
    return 100 * float(sum(gaps) / words), 100 * float(most), float(brier / words), words


@pytest.mark.parametrize("seed", range(40))
def test_random_parses(seed: int) -> None:
    gold, systems = random_parses(seed, 2)
    metric, bins = ("UAS", "LAS")[seed % 2], (10, 15, 1, 7)[seed // 2 % 4]
    punct, drop = seed % 3 == 0, ("keep", "drop")[seed % 5 == 0]
    punct &= any(word.deprel != "punct" for tree in gold for word in tree)
    data = read(gold, *systems, punct="deprel" if punct else "keep", subtypes=drop)
    rows = calibration_rows(calibrate(data, metric, bins))
    for row, system, evaluation in zip(rows[-2:], systems, data.evaluations, strict=True):
        found = (row["ece"], row["mce"], row["brier"], row["words"])
        assert found == pytest.approx(naive(gold, system, metric, bins, punct, drop))
        assert row["accuracy"] == pytest.approx(evaluation.scores[metric])


def test_whole_sentences_are_drawn_for_the_intervals() -> None:
    # Accuracy in 50-100 is that of heads: in the first sentence all of two, in the second none.
    gold = [[Word(0, "a"), Word(1, "a")], [Word(0, "a")]]
    system = [[Word(0, "a"), Word(1, "a")], [Word(-1, "a")]]
    calibration = calibrate(read(gold, system), "UAS", 2)
    band = accuracy_intervals(calibration, 0)
    assert np.isnan(band[:, 0]).all()
    assert band[:, 1:].tolist() == [[0, 0], [100, 100]]
    row = calibration_rows(calibration, confidence=True)[0]
    assert (row["accuracy_low"], row["accuracy"], row["accuracy_high"]) == pytest.approx(
        (0, 200 / 3, 100)
    )


def test_a_bin_without_words_has_no_error() -> None:
    totals = np.array([[0.0, 0, 0, 0], [4, 3, 2, 1]])
    assert calibration_errors(totals).tolist() == [25, 25]


def test_what_cannot_be_calibrated() -> None:
    data = read(GOLD, SYSTEM)
    with pytest.raises(ValueError, match="calibration is measured for UAS or LAS, not for LA"):
        calibrate(data, "LA")
    with pytest.raises(ValueError, match="one bin at least, not 0"):
        calibrate(data, bins=0)
    with pytest.raises(ValueError, match="read with probabilities"):
        calibrate(read_data(sentences(GOLD), [sentences(SYSTEM)]))


def test_names_of_bins() -> None:
    labels = Calibration(read(GOLD, SYSTEM), "LAS", 15, []).labels
    assert (labels[0], labels[1], labels[-1]) == ("0-6.667", "6.667-13.33", "93.33-100")
