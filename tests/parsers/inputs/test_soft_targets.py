"""What a row keeps of a distribution, and the loss that is made of it, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from depkit.parsers.inputs.batches import IGNORED, encode, make_batch
from depkit.parsers.inputs.soft_targets import (
    LARGEST,
    MOST,
    Soft,
    SoftTargets,
    pack,
    places,
    soft_cross_entropy,
    unpack,
)
from tests.parsers.graph.test_ensemble import other

CPU = torch.device("cpu")


def one_word(numbers, probabilities, weight):
    numbers, probabilities = torch.tensor([[numbers]]), torch.tensor([[probabilities]])
    return Soft(numbers, probabilities, weight)


def test_the_most_probable_values_are_kept():
    random = torch.Generator().manual_seed(1)
    heads, tags = torch.rand(3, 5, 7, generator=random), torch.rand(3, 5, 90, generator=random)
    distributions = [heads.softmax(-1), (9 * tags).softmax(-1)]
    label_head = torch.arange(15).view(3, 5)
    rows = pack(label_head, distributions)
    assert rows.shape == (3, 5, 1 + 2 * MOST * 2) and 0 <= rows.min() and rows.max() <= LARGEST
    kept = unpack(rows.to(torch.uint16).to(torch.int32), ["head", "upos"], 0.5)
    assert torch.equal(kept.label_head, label_head)
    for name, whole in zip(("head", "upos"), distributions, strict=True):
        order = whole.sort(-1, descending=True)
        assert torch.equal(kept.columns[name].numbers, order.indices[..., :MOST])
        best = order.values[..., :MOST]
        # each is off by half a step at most, and so is, by two, their sum
        error = (kept.columns[name].probabilities - best / best.sum(-1, keepdim=True)).abs()
        assert (error <= (0.5 + MOST / 2) / LARGEST / best.sum(-1, keepdim=True)).all()


def test_fewer_values_than_places_and_values_that_cannot_be():
    few = torch.tensor([[[0.75, 0.25]]])
    heads = torch.tensor([[[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]])
    rows = pack(torch.tensor([[1]]), [heads, few])
    numbers, probabilities = places(0)
    assert rows[0, 0, numbers].tolist() == [1, 0, 0, 0]  # never one of padding
    assert rows[0, 0, probabilities].tolist() == [LARGEST, 0, 0, 0]
    numbers, probabilities = places(1)
    assert rows[0, 0, numbers].tolist() == [0, 1, 0, 0]
    assert rows[0, 0, probabilities].tolist() == [round(0.75 * LARGEST), 16384, 0, 0]


def test_a_row_of_zeros_is_known_nothing_of():
    rows = torch.zeros(1, 2, 1 + 2 * MOST, dtype=torch.int32)
    assert not unpack(rows, ["head"], 0.5).columns["head"].known.any()


def test_the_loss_of_a_word_by_hand():
    scores = torch.tensor([[[1.0, 2.0, float("-inf"), 0.0]]])
    total = math.e + math.e**2 + 1
    logs = [1 - math.log(total), 2 - math.log(total), None, -math.log(total)]
    soft = one_word([1, 3, 0, 0], [0.75, 0.25, 0.0, 0.0], 0.3)
    own, taught = -logs[0], -(0.75 * logs[1] + 0.25 * logs[3])
    nobody = one_word([0] * 4, [0.0] * 4, 0.3)
    for target, known, expected in (
        (0, soft, 0.7 * own + 0.3 * taught), (0, nobody, own),
        (IGNORED, soft, taught), (IGNORED, nobody, 0.0),
    ):  # fmt: skip
        found = soft_cross_entropy(scores, torch.tensor([[target]]), known, IGNORED)
        assert float(found) == pytest.approx(expected, abs=1e-6)


def test_the_mean_is_over_words_that_anybody_knows():
    scores = torch.zeros(1, 4, 8)
    probabilities = torch.tensor([[[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0.0] * 4, [0.0] * 4]])
    soft = Soft(torch.zeros(1, 4, MOST, dtype=torch.int64), probabilities, 0.5)
    target = torch.tensor([[3, IGNORED, 4, IGNORED]])
    found = soft_cross_entropy(scores, target, soft, IGNORED)
    assert float(found) == pytest.approx(math.log(8))


def test_gradients_stay_finite_where_there_can_be_no_arc():
    scores = torch.tensor([[[float("-inf"), 1.0], [2.0, float("-inf")]]], requires_grad=True)
    soft = Soft(
        torch.zeros(1, 2, MOST, dtype=torch.int64), torch.tensor([[[0.0] * 4, [1.0, 0, 0, 0]]]), 0.5
    )
    soft_cross_entropy(scores, torch.tensor([[IGNORED, 0]]), soft, IGNORED).backward()
    assert torch.isfinite(scores.grad).all()


def certain(data, names):
    """Rows of a teacher that is certain of all gold targets."""
    rows = np.zeros((len(data.form), 1 + 2 * MOST * len(names)), dtype=np.uint16)
    rows[:, 0] = data.head.clamp(min=0)
    for i, name in enumerate(names):
        target = data.head if name == "head" else data.targets[name]
        numbers, probabilities = places(i)
        rows[:, numbers.start] = target.clamp(min=0)
        rows[:, probabilities.start] = (target >= 0) * LARGEST
    return rows


def test_a_teacher_who_is_certain_and_right_changes_nothing(tiny):
    parser = other(tiny, 3)
    parser.network.eval()
    data = encode(tiny, parser.vocabulary, parser.config, CPU)
    everything = np.arange(len(tiny))
    gold = parser.network.loss(make_batch(data, everything))
    names = ["head", *data.targets]
    soft = SoftTargets(certain(data, names), names, 0.3)
    both = parser.network.loss(make_batch(replace(data, soft=soft), everything))
    torch.testing.assert_close(both, gold)
    for targets in (data.head, *data.targets.values()):
        targets[:] = IGNORED
    alone = parser.network.loss(make_batch(replace(data, soft=soft), everything))
    torch.testing.assert_close(alone, gold)
    assert parser.network.loss(make_batch(data, everything)).item() == 0.0


def test_columns_that_the_teacher_lacks_have_their_gold_loss(tiny):
    parser = other(tiny, 3)
    parser.network.eval()
    data = encode(tiny, parser.vocabulary, parser.config, CPU)
    everything = np.arange(len(tiny))
    gold = parser.network.loss(make_batch(data, everything))
    soft = SoftTargets(certain(data, ["head", "deprel"]), ["head", "deprel"], 1.0)
    found = parser.network.loss(make_batch(replace(data, soft=soft), everything))
    torch.testing.assert_close(found, gold)


def test_relations_are_learnt_at_the_teachers_heads(tiny):
    parser = other(tiny, 3)
    parser.network.eval()
    data = encode(tiny[:1], parser.vocabulary, parser.config, CPU)
    rows = certain(data, ["head", "deprel"])
    rows[2:, 0] = [3, 1, 2, 2]  # The, cat, sleeps and the full stop
    for targets in (data.head, *data.targets.values()):
        targets[:] = IGNORED
    soft = SoftTargets(rows, ["head", "deprel"])
    batch = make_batch(replace(data, soft=soft), np.array([0]))
    scores = parser.network.score(batch)
    label = scores.label_at(batch.soft.label_head).log_softmax(-1)
    words = range(1, 5)
    expected = -sum(
        scores.arc.log_softmax(-1)[0, i, int(rows[i + 1, 1])]
        + label[0, i, int(rows[i + 1, places(1)[0].start])]
        for i in words
    )
    torch.testing.assert_close(parser.network.loss(batch), expected / 4)
