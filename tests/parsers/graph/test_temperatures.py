"""Temperatures and what they are worth: against grids, definitions, and halves made to differ."""

from dataclasses import astuple

import numpy as np
import pytest
import torch

from depkit.parsers.config import Calibration
from depkit.parsers.graph import temperatures
from depkit.parsers.graph.temperatures import (
    BINS,
    BOUNDS,
    Choices,
    Errors,
    Marginals,
    Report,
    Scored,
    calibration_error,
    fit_temperature,
    kept,
    measure,
    minimum,
    spread,
)
from tests.trees.test_marginals import marginals

GRID = np.exp(np.linspace(*np.log(BOUNDS), 1200))


def some_choices(random, sharpness=1.0):
    """Scores of words with 2 to 9 choices, some of them none; what is meant, mostly the best."""
    scores, meant = [], []
    for size in range(2, 10):
        rows = random.normal(size=(6, size)) * sharpness
        rows[:, 0] = -np.inf
        rows[0, 1] = 7.0
        scores.append(rows)
        meant.append(np.where(random.random(6) < 0.7, rows.argmax(1), size - 1))
    return scores, meant


def softmax(rows, temperature):
    return torch.tensor(rows / temperature).softmax(-1).numpy()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sharpness", [0.5, 3.0, 15.0])
def test_the_fit_is_the_best_of_a_fine_grid(seed, sharpness):
    scores, meant = some_choices(np.random.default_rng(seed), sharpness)

    def loss(temperature):
        losses = [
            -np.log(softmax(rows, temperature)[np.arange(len(one)), one])
            for rows, one in zip(scores, meant, strict=True)
        ]
        return np.concatenate(losses).mean()

    with np.errstate(divide="ignore"):
        losses = [loss(temperature) for temperature in GRID]
    found = fit_temperature(Choices(scores, meant))
    assert loss(found) <= min(losses) + 1e-6
    assert found == pytest.approx(GRID[np.argmin(losses)], rel=0.01)


def test_a_minimum_at_a_bound():
    assert minimum(lambda temperature: temperature) == pytest.approx(BOUNDS[0], rel=0.01)
    assert minimum(lambda temperature: -temperature) == pytest.approx(BOUNDS[1], rel=0.01)


@pytest.mark.parametrize("bins", [1, 2, BINS])
def test_calibration_error_by_definition(bins):
    random = np.random.default_rng(bins)
    # the bounds of bins among them
    confidence = np.concatenate((random.random(300), np.arange(bins + 1) / bins))
    right = random.random(len(confidence)) < confidence**2
    expected = 0.0
    for m in range(1, bins + 1):
        inside = [i for i, c in enumerate(confidence) if (m - 1) / bins < c <= m / bins]
        inside += [i for i, c in enumerate(confidence) if c == 0 and m == 1]
        if inside:
            accuracy = sum(map(bool, right[inside])) / len(inside)
            mean = sum(confidence[inside].tolist()) / len(inside)
            expected += len(inside) / len(confidence) * abs(accuracy - mean)
    assert calibration_error(confidence, right, bins) == pytest.approx(100 * expected)


def test_calibration_error_by_hand():
    confidence, right = np.array([0.9, 0.95, 0.2]), np.array([1, 0, 1])
    # bins of 1/15: 0.9 and 0.95 lie in different ones
    assert calibration_error(confidence, right) == pytest.approx(100 * (0.1 + 0.95 + 0.8) / 3)
    assert calibration_error(confidence, right, 1) == pytest.approx(100 * (2.05 - 2) / 3)
    assert calibration_error(np.empty(0), np.empty(0)) == 0


def test_spread():
    assert spread("abcdefgh", 3) == ["a", "c", "f"]
    assert spread("abc", 3) == spread("abc", 5) == list("abc")


def scored(random, size, sharpness, share):
    """A sentence whose arc scores say more, or less, than they know; gold is as often the best."""
    arc = random.normal(size=(size + 1, size + 1))
    np.fill_diagonal(arc, -np.inf)
    chosen = arc[1:].argmax(1)
    arc *= sharpness
    words = np.arange(1, size + 1)
    others = np.where(words == 1, 2, 1)
    gold = np.where(random.random(size) < share, chosen, others)
    label = random.normal(size=(size, 4)) * sharpness
    best = label.argmax(1)
    gold_label = np.where(random.random(size) < share, best, 0)
    return Scored(arc, words, gold, chosen, label, best, best == gold_label, label, gold_label)


@pytest.fixture
def halves():
    """Two halves of a treebank: one too sure, the other not sure enough."""
    random = np.random.default_rng(3)
    sure = [scored(random, size, 9.0, 0.5) for size in (3, 5, 8, 5, 2, 7, 6, 4) * 4]
    unsure = [scored(random, size, 0.2, 0.95) for size in (6, 2, 7, 5, 8, 3, 4, 5) * 4]
    return sure, unsure


def fitted(half):
    marginals = Marginals(half, False)
    return temperatures.fit(half, marginals, slice(0, len(half)))


def events(half, calibration):
    """Confidence and whether it is right, of arcs and labelled arcs, one by one."""
    found = {"arc": [], "labelled": [], "marginal": [], "labelled_marginal": []}
    for each in half:
        over_trees = marginals(each.arc / calibration.marginal, False)
        for i, word in enumerate(each.words):
            head = each.chosen[i]
            right = head == each.gold[i]
            label = softmax(each.label[i], calibration.label)[each.chosen_label[i]]
            local = softmax(each.arc[word], calibration.arc)[head]
            for name, arc in (("arc", local), ("marginal", over_trees[word, head])):
                both = f"labelled_{name}" if name == "marginal" else "labelled"
                found[name].append((arc, right))
                found[both].append((arc * label, right and each.right[i]))
    return found


def test_what_is_reported_was_fitted_on_the_other_half(halves):
    sure, unsure = halves
    together = [each for pair in zip(sure, unsure, strict=True) for each in pair]
    calibration, report = measure(together, single_root=False)
    assert fitted(sure).arc > 3 > 0.6 > fitted(unsure).arc
    swapped = [events(sure, fitted(unsure)), events(unsure, fitted(sure))]
    own = [events(sure, fitted(sure)), events(unsure, fitted(unsure))]
    none = [events(together, Calibration())]
    for name in swapped[0]:
        expected, wrong, before = (
            calibration_error(*np.array([pair for part in parts for pair in part[name]], float).T)
            for parts in (swapped, own, none)
        )
        assert getattr(report.after, name) == pytest.approx(expected)
        assert getattr(report.before, name) == pytest.approx(before)
        assert expected > 1.5 * wrong  # each half knows nothing of the other
    whole = fitted(together)
    assert (calibration.arc, calibration.label) == (whole.arc, whole.label)
    assert calibration.marginal == pytest.approx(whole.marginal, rel=0.01)
    assert report.words == report.sampled == sum(len(each.words) for each in together)


def test_marginals_are_of_a_sample_of_short_sentences(halves, monkeypatch):
    sure, unsure = halves
    monkeypatch.setattr(temperatures, "SHORT", 6)
    monkeypatch.setattr(temperatures, "SAMPLE", 10)
    together = [each for pair in zip(sure, unsure, strict=True) for each in pair]
    _, report = measure(together, single_root=True)
    short = [[each for each in half if len(each.words) <= 6] for half in halves]
    expected = sum(len(each.words) for half in short for each in spread(half, 5))
    assert report.sampled == expected < report.words


@pytest.mark.parametrize("single_root", [False, True])
def test_the_loss_over_trees(halves, single_root):
    sure, _ = halves
    some = Marginals(sure, single_root)
    gold = [
        probability
        for each in sure[2:9]
        for probability in marginals(each.arc / 2.5, single_root)[each.words, each.gold]
    ]
    for _ in range(2):  # the second time, it is remembered
        assert some.loss(2.5, slice(2, 9)) == pytest.approx(-np.log(gold).mean())


@pytest.mark.parametrize("count", [0, 1])
def test_next_to_nothing_to_measure(halves, count):
    calibration, report = measure(halves[0][:count], single_root=False)
    if not count:
        assert calibration == Calibration()
    assert report.words == report.sampled == 3 * count
    assert report.after == report.before  # by the other half, which is empty


@pytest.mark.parametrize(
    ("labelled", "marginal", "expected"),
    [
        (1.9, 2.9, (2.0, 3.0, 4.0)),
        (2.0, 2.9, (1.0, 1.0, 4.0)),
        (1.9, 3.1, (2.0, 3.0, 1.0)),
        (2.1, 3.0, (1.0, 1.0, 1.0)),
    ],
)
def test_temperatures_that_do_not_help_on_the_other_half_are_not_kept(labelled, marginal, expected):
    before, after = Errors(9.0, 2.0, 3.0, 9.0), Errors(0.0, labelled, marginal, 0.0)
    found = kept(Calibration(2.0, 3.0, 4.0), Report(before, after, 100, 100))
    assert astuple(found) == expected
