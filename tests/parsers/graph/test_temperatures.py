"""Fitted temperatures and reported errors agree with a grid search and with definitions."""

from dataclasses import astuple

import numpy as np
import pytest
import torch

from depkit.parsers.graph import temperatures
from depkit.parsers.graph.config import Calibration
from depkit.parsers.graph.temperatures import (
    BINS,
    BOUNDS,
    CalibrationErrors,
    CalibrationReport,
    Choices,
    Marginals,
    ScoredSentence,
    calibration_error,
    fit_and_report,
    fit_temperature,
    minimize_loss,
    reset_harmful,
    sample_evenly,
)
from tests.trees.single import marginals

GRID = np.exp(np.linspace(*np.log(BOUNDS), 1200))


def draw_choices(random, sharpness=1.0):
    """Draw scores of 2 to 9 choices, the first impossible; most targets have the best score."""
    scores, targets = [], []
    for size in range(2, 10):
        rows = random.normal(size=(6, size)) * sharpness
        rows[:, 0] = -np.inf
        rows[0, 1] = 7.0
        scores.append(rows)
        targets.append(np.where(random.random(6) < 0.7, rows.argmax(1), size - 1))
    return scores, targets


def softmax(rows, temperature):
    return torch.tensor(rows / temperature).softmax(-1).numpy()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sharpness", [0.5, 3.0, 15.0])
def test_the_fit_is_the_best_of_a_fine_grid(seed, sharpness):
    scores, targets = draw_choices(np.random.default_rng(seed), sharpness)

    def loss(temperature):
        losses = [
            -np.log(softmax(rows, temperature)[np.arange(len(target)), target])
            for rows, target in zip(scores, targets, strict=True)
        ]
        return np.concatenate(losses).mean()

    with np.errstate(divide="ignore"):
        losses = [loss(temperature) for temperature in GRID]
    fitted = fit_temperature(Choices(scores, targets))
    assert loss(fitted) <= min(losses) + 1e-6
    assert fitted == pytest.approx(GRID[np.argmin(losses)], rel=0.01)


def test_a_minimum_at_a_bound_is_returned():
    assert minimize_loss(lambda temperature: temperature) == pytest.approx(BOUNDS[0], rel=0.01)
    assert minimize_loss(lambda temperature: -temperature) == pytest.approx(BOUNDS[1], rel=0.01)


@pytest.mark.parametrize("bins", [1, 2, BINS])
def test_calibration_error_by_definition(bins):
    random = np.random.default_rng(bins)
    # The bounds of the bins are included.
    confidence = np.concatenate((random.random(300), np.arange(bins + 1) / bins))
    correct = random.random(len(confidence)) < confidence**2
    expected = 0.0
    for m in range(1, bins + 1):
        inside = [i for i, c in enumerate(confidence) if (m - 1) / bins < c <= m / bins]
        inside += [i for i, c in enumerate(confidence) if c == 0 and m == 1]
        if inside:
            accuracy = sum(map(bool, correct[inside])) / len(inside)
            mean = sum(confidence[inside].tolist()) / len(inside)
            expected += len(inside) / len(confidence) * abs(accuracy - mean)
    assert calibration_error(confidence, correct, bins) == pytest.approx(100 * expected)


def test_calibration_error_by_hand():
    confidence, correct = np.array([0.9, 0.95, 0.2]), np.array([1, 0, 1])
    # With bins of width 1/15, 0.9 and 0.95 are in different bins.
    assert calibration_error(confidence, correct) == pytest.approx(100 * (0.1 + 0.95 + 0.8) / 3)
    assert calibration_error(confidence, correct, 1) == pytest.approx(100 * (2.05 - 2) / 3)
    assert calibration_error(np.empty(0), np.empty(0)) == 0


def test_sample_evenly_takes_elements_at_equal_distances():
    assert sample_evenly("abcdefgh", 3) == ["a", "c", "f"]
    assert sample_evenly("abc", 3) == sample_evenly("abc", 5) == list("abc")


def draw_sentence(random, size, sharpness, share):
    """Draw a sentence; share: of words whose gold head and label have the best scores."""
    arc = random.normal(size=(size + 1, size + 1))
    np.fill_diagonal(arc, -np.inf)
    decoded = arc[1:].argmax(1)
    arc *= sharpness
    words = np.arange(1, size + 1)
    others = np.where(words == 1, 2, 1)
    gold = np.where(random.random(size) < share, decoded, others)
    label = random.normal(size=(size, 4)) * sharpness
    best = label.argmax(1)
    gold_label = np.where(random.random(size) < share, best, 0)
    is_correct = best == gold_label
    return ScoredSentence(arc, words, gold, decoded, label, best, is_correct, label, gold_label)


@pytest.fixture
def halves():
    """Two halves of a treebank: one is overconfident, the other underconfident."""
    random = np.random.default_rng(3)
    overconfident = [draw_sentence(random, size, 9.0, 0.5) for size in (3, 5, 8, 5, 2, 7, 6, 4) * 4]
    underconfident = [
        draw_sentence(random, size, 0.2, 0.95) for size in (6, 2, 7, 5, 8, 3, 4, 5) * 4
    ]
    return overconfident, underconfident


def fit(half):
    marginals = Marginals(half, False)
    return temperatures.fit_temperatures(half, marginals, slice(0, len(half)))


def confidences(half, calibration):
    """The confidence of arcs and of labelled arcs, and whether they are correct, word by word."""
    pairs = {"arc": [], "labelled": [], "marginal": []}
    for sentence in half:
        arcs = marginals(sentence.arc / calibration.marginal, False)
        for i, word in enumerate(sentence.words):
            head = sentence.decoded[i]
            correct = head == sentence.gold[i]
            label = softmax(sentence.label[i], calibration.label)[sentence.decoded_label[i]]
            local = softmax(sentence.arc[word], calibration.arc)[head]
            pairs["arc"].append((local, correct))
            pairs["labelled"].append((local * label, correct and sentence.label_is_correct[i]))
            pairs["marginal"].append((arcs[word, head], correct))
    return pairs


def interleave(halves):
    return [sentence for pair in zip(*halves, strict=True) for sentence in pair]


def test_reported_errors_are_of_temperatures_fitted_on_the_other_half(halves):
    first, second = halves
    sentences = interleave(halves)
    calibration, report = fit_and_report(sentences, single_root=False)
    assert fit(first).arc > 3 > 0.6 > fit(second).arc
    cross_fitted = [confidences(first, fit(second)), confidences(second, fit(first))]
    self_fitted = [confidences(first, fit(first)), confidences(second, fit(second))]
    uncalibrated = [confidences(sentences, Calibration())]
    for name in cross_fitted[0]:
        expected, wrong, before = (
            calibration_error(*np.array([pair for part in parts for pair in part[name]], float).T)
            for parts in (cross_fitted, self_fitted, uncalibrated)
        )
        assert getattr(report.after, name) == pytest.approx(expected)
        assert getattr(report.before, name) == pytest.approx(before)
        assert expected > 1.5 * wrong  # the halves differ
    full = fit(sentences)
    assert (calibration.arc, calibration.label) == (full.arc, full.label)
    assert calibration.marginal == pytest.approx(full.marginal, rel=0.01)
    assert report.words == report.marginal_words == sum(len(s.words) for s in sentences)


def test_marginals_are_of_a_sample_of_short_sentences(halves, monkeypatch):
    monkeypatch.setattr(temperatures, "MAX_MARGINAL_WORDS", 6)
    monkeypatch.setattr(temperatures, "MAX_MARGINAL_SENTENCES", 10)
    _, report = fit_and_report(interleave(halves), single_root=True)
    short = [[sentence for sentence in half if len(sentence.words) <= 6] for half in halves]
    expected = sum(len(sentence.words) for half in short for sentence in sample_evenly(half, 5))
    assert report.marginal_words == expected < report.words


@pytest.mark.parametrize("single_root", [False, True])
def test_the_loss_of_marginals_agrees_with_its_definition(halves, single_root):
    half, _ = halves
    sample = Marginals(half, single_root)
    gold = [
        probability
        for sentence in half[2:9]
        for probability in marginals(sentence.arc / 2.5, single_root)[sentence.words, sentence.gold]
    ]
    for _ in range(2):  # the second time, the loss is cached
        assert sample.loss(2.5, slice(2, 9)) == pytest.approx(-np.log(gold).mean())


@pytest.mark.parametrize("count", [0, 1])
def test_the_errors_of_one_or_no_sentence_do_not_change(halves, count):
    calibration, report = fit_and_report(halves[0][:count], single_root=False)
    if not count:
        assert calibration == Calibration()
    assert report.words == report.marginal_words == 3 * count
    assert report.after == report.before  # fitted on the other half, which is empty


@pytest.mark.parametrize(
    ("labelled", "marginal", "expected"),
    [
        (1.9, 2.9, (2.0, 3.0, 4.0)),
        (2.0, 2.9, (1.0, 1.0, 4.0)),
        (1.9, 3.1, (2.0, 3.0, 1.0)),
        (2.1, 3.0, (1.0, 1.0, 1.0)),
    ],
)
def test_temperatures_that_do_not_lower_the_error_are_reset(labelled, marginal, expected):
    before = CalibrationErrors(9.0, 2.0, 3.0)
    after = CalibrationErrors(0.0, labelled, marginal)
    report = CalibrationReport(before, after, 100, 100)
    assert astuple(reset_harmful(Calibration(2.0, 3.0, 4.0), report)) == expected
