"""What a row keeps of a distribution, and the loss that is made of it, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from depkit.parsers.families import family_of
from depkit.parsers.inputs.batches import IGNORED
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


def soft_of(probabilities, weight, numbers=(0,) * MOST):
    """A sentence whose words have the same values with these probabilities."""
    probabilities = torch.tensor([probabilities])
    return Soft(torch.tensor(numbers).expand(probabilities.shape), probabilities, weight)


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
    found = [rows[0, 0, place].tolist() for i in (0, 1) for place in places(i)]
    assert found[:2] == [[1, 0, 0, 0], [LARGEST, 0, 0, 0]]  # never one of padding
    assert found[2:] == [[0, 1, 0, 0], [round(0.75 * LARGEST), 16384, 0, 0]]


def test_a_row_of_zeros_is_known_nothing_of():
    rows = torch.zeros(1, 2, 1 + 2 * MOST, dtype=torch.int32)
    assert not unpack(rows, ["head"], 0.5).columns["head"].known.any()


def test_the_loss_of_a_word_by_hand():
    scores = torch.tensor([[[1.0, 2.0, float("-inf"), 0.0]]])
    total = math.e + math.e**2 + 1
    logs = [1 - math.log(total), 2 - math.log(total), None, -math.log(total)]
    soft = soft_of([[0.75, 0.25, 0.0, 0.0]], 0.3, [1, 3, 0, 0])
    own, taught = -logs[0], -(0.75 * logs[1] + 0.25 * logs[3])
    nobody = soft_of([[0.0] * 4], 0.3)
    for target, known, expected in (
        (0, soft, 0.7 * own + 0.3 * taught), (0, nobody, own),
        (IGNORED, soft, taught), (IGNORED, nobody, 0.0),
    ):  # fmt: skip
        found = soft_cross_entropy(scores, torch.tensor([[target]]), known, IGNORED)
        assert float(found) == pytest.approx(expected, abs=1e-6)


def test_the_mean_is_over_words_that_anybody_knows():
    scores = torch.zeros(1, 4, 8)
    soft = soft_of([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0.0] * 4, [0.0] * 4], 0.5)
    target = torch.tensor([[3, IGNORED, 4, IGNORED]])
    found = soft_cross_entropy(scores, target, soft, IGNORED)
    assert float(found) == pytest.approx(math.log(8))


def test_gradients_stay_finite_where_there_can_be_no_arc():
    scores = torch.tensor([[[float("-inf"), 1.0], [2.0, float("-inf")]]], requires_grad=True)
    soft = soft_of([[0.0] * 4, [1.0, 0, 0, 0]], 0.5)
    soft_cross_entropy(scores, torch.tensor([[IGNORED, 0]]), soft, IGNORED).backward()
    assert torch.isfinite(scores.grad).all()


def certain(data, names):
    """Rows of a teacher that is certain of all gold targets."""
    rows = np.zeros((len(data.form), 1 + 2 * MOST * len(names)), dtype=np.uint16)
    rows[:, 0] = data.targets["head"].clamp(min=0)
    for i, name in enumerate(names):
        target = data.targets[name]
        numbers, probabilities = places(i)
        rows[:, numbers.start] = target.clamp(min=0)
        rows[:, probabilities.start] = (target >= 0) * LARGEST
    return rows


@pytest.fixture
def network_and_data(tiny):
    parser = other(tiny, 3)
    examples = family_of(parser.config).examples
    return parser.network.eval(), examples(tiny, parser.vocabulary, parser.config, parser.device)


def loss(network, data, soft=None):
    return network(replace(data, soft=soft).batch(np.arange(len(data))))


def test_a_teacher_who_is_certain_and_right_changes_nothing(network_and_data):
    network, data = network_and_data
    gold = loss(network, data)
    names = list(data.targets)
    assert names[0] == "head"
    soft = SoftTargets(certain(data, names), names, 0.3)
    torch.testing.assert_close(loss(network, data, soft), gold)
    # where the teacher has no columns, there is the gold loss
    some = SoftTargets(certain(data, names[:2]), names[:2], 1.0)
    torch.testing.assert_close(loss(network, data, some), gold)
    for targets in data.targets.values():
        targets[:] = IGNORED
    torch.testing.assert_close(loss(network, data, soft), gold)
    assert loss(network, data).item() == 0.0


def test_relations_are_learnt_at_the_teachers_heads(network_and_data):
    network, data = network_and_data
    rows = certain(data, ["head", "deprel"])
    rows[2:6, 0] = [3, 1, 2, 2]  # The, cat, sleeps and the full stop
    for targets in data.targets.values():
        targets[:] = IGNORED
    batch = replace(data, soft=SoftTargets(rows, ["head", "deprel"])).batch(np.array([0]))
    scores = network.score(batch)
    label = scores.label_at(batch.soft.label_head).log_softmax(-1)
    words = range(1, 5)
    expected = -sum(
        scores.arc.log_softmax(-1)[0, i, int(rows[i + 1, 1])]
        + label[0, i, int(rows[i + 1, places(1)[0].start])]
        for i in words
    )
    torch.testing.assert_close(network(batch), expected / 4)
