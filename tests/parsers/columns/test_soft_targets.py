"""Soft targets: packing keeps the most probable values, and the loss is computed by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from depkit.ensemble.teacher import pack
from depkit.nn.soft_targets import SoftColumn, soft_cross_entropy
from depkit.parsers.columns.network import soft_column
from depkit.parsers.columns.soft_targets import (
    LABEL_HEAD,
    MAX_INTEGER,
    MAX_VALUES,
    WEIGHT,
    column_slices,
    soft_arrays,
)
from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.families import get_family
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import IGNORED
from tests.parsers.batches import cpu_batch
from tests.parsers.small_parsers import make_random_parser


def make_soft_column(probabilities, weight, indices=(0,) * MAX_VALUES):
    """Return soft targets of a sentence whose words have these values and probabilities."""
    probabilities = torch.tensor([probabilities])
    return SoftColumn(torch.tensor(indices).expand(probabilities.shape), probabilities, weight)


def make_batch(rows, columns):
    """Return a batch of packed rows, [batch, length, width]."""
    length = rows.shape[1]
    arrays = soft_arrays(rows.flatten(0, 1).numpy().astype(np.uint16), columns, columns)
    arrays = {name: array.reshape(-1, length, *array.shape[1:]) for name, array in arrays.items()}
    sizes = np.full(len(rows), length)
    return send_batch(Batch(sizes, length, 0, arrays | {WEIGHT: 0.5}), torch.device("cpu"))


def test_the_most_probable_values_are_kept():
    random = torch.Generator().manual_seed(1)
    heads, tags = torch.rand(3, 5, 7, generator=random), torch.rand(3, 5, 90, generator=random)
    distributions = [heads.softmax(-1), (9 * tags).softmax(-1)]
    label_head = torch.arange(15).view(3, 5)
    rows = pack(label_head, distributions)
    assert (
        rows.shape == (3, 5, 1 + 2 * MAX_VALUES * 2)
        and 0 <= rows.min()
        and rows.max() <= MAX_INTEGER
    )
    batch = make_batch(rows, ["head", "upos"])
    assert torch.equal(batch[LABEL_HEAD].long(), label_head)
    for name, whole in zip(("head", "upos"), distributions, strict=True):
        order = whole.sort(-1, descending=True)
        column = soft_column(batch, name)
        assert torch.equal(column.indices, order.indices[..., :MAX_VALUES])
        best = order.values[..., :MAX_VALUES]
        # rounding changes a value by half a step at most, and the sum of the four by two steps
        error = (column.probabilities - best / best.sum(-1, keepdim=True)).abs()
        assert (error <= (0.5 + MAX_VALUES / 2) / MAX_INTEGER / best.sum(-1, keepdim=True)).all()


def test_distributions_with_few_values_are_padded_with_zeros():
    few = torch.tensor([[[0.75, 0.25]]])
    heads = torch.tensor([[[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]])
    rows = pack(torch.tensor([[1]]), [heads, few])
    packed = [rows[0, 0, part].tolist() for i in (0, 1) for part in column_slices(i)]
    # values of probability 0 are packed as 0
    assert packed[:2] == [[1, 0, 0, 0], [MAX_INTEGER, 0, 0, 0]]
    assert packed[2:] == [[0, 1, 0, 0], [round(0.75 * MAX_INTEGER), 16384, 0, 0]]


def test_a_row_of_zeros_has_no_distribution():
    rows = torch.zeros(1, 2, 1 + 2 * MAX_VALUES, dtype=torch.int32)
    batch = make_batch(rows, ["head"])
    assert not soft_column(batch, "head").known.any()
    assert soft_column(batch, "deprel") is None


def test_the_loss_of_a_word_by_hand():
    scores = torch.tensor([[[1.0, 2.0, float("-inf"), 0.0]]])
    total = math.e + math.e**2 + 1
    logs = [1 - math.log(total), 2 - math.log(total), None, -math.log(total)]
    soft = make_soft_column([[0.75, 0.25, 0.0, 0.0]], 0.3, [1, 3, 0, 0])
    gold_loss, soft_loss = -logs[0], -(0.75 * logs[1] + 0.25 * logs[3])
    unknown = make_soft_column([[0.0] * 4], 0.3)
    for target, teacher, expected in (
        (0, soft, 0.7 * gold_loss + 0.3 * soft_loss), (0, unknown, gold_loss),
        (IGNORED, soft, soft_loss), (IGNORED, unknown, 0.0),
    ):  # fmt: skip
        mean = soft_cross_entropy(scores, torch.tensor([[target]]), teacher, IGNORED)
        assert float(mean) == pytest.approx(expected, abs=1e-6)


def test_the_mean_is_over_words_with_a_gold_or_a_soft_target():
    scores = torch.zeros(1, 4, 8)
    soft = make_soft_column([[1.0, 0, 0, 0], [1.0, 0, 0, 0], [0.0] * 4, [0.0] * 4], 0.5)
    target = torch.tensor([[3, IGNORED, 4, IGNORED]])
    mean = soft_cross_entropy(scores, target, soft, IGNORED)
    assert float(mean) == pytest.approx(math.log(8))


def test_gradients_of_impossible_arcs_are_finite():
    scores = torch.tensor([[[float("-inf"), 1.0], [2.0, float("-inf")]]], requires_grad=True)
    soft = make_soft_column([[0.0] * 4, [1.0, 0, 0, 0]], 0.5)
    soft_cross_entropy(scores, torch.tensor([[IGNORED, 0]]), soft, IGNORED).backward()
    assert torch.isfinite(scores.grad).all()


def certain_rows(data, names):
    """Rows of a teacher that is certain of all gold targets."""
    rows = np.zeros((len(data.form), 1 + 2 * MAX_VALUES * len(names)), dtype=np.uint16)
    rows[:, 0] = data.words["target.head"].clip(min=0)
    for i, name in enumerate(names):
        target = data.words[f"target.{name}"]
        indices, probabilities = column_slices(i)
        rows[:, indices.start] = target.clip(min=0)
        rows[:, probabilities.start] = (target >= 0) * MAX_INTEGER
    return rows


@pytest.fixture
def network_and_data(tiny):
    parser = make_random_parser(tiny, 3)
    examples = get_family(parser.config).examples
    return parser.network.eval(), examples(tiny, parser.vocabulary, parser.config)


def target_names(data):
    return [name.removeprefix("target.") for name in data.words if name.startswith("target.")]


def forget_targets(data):
    for name in target_names(data):
        data.words[f"target.{name}"][:] = IGNORED


def add_soft_targets(data, rows, names, weight=0.5):
    words = data.words | soft_arrays(rows, names, names)
    return replace(data, words=words, shared={WEIGHT: weight})


def loss(network, data):
    return network(cpu_batch(data, range(len(data))))


def test_a_certain_and_correct_teacher_does_not_change_the_loss(network_and_data):
    network, data = network_and_data
    gold = loss(network, data)
    names = target_names(data)
    assert names[0] == "head"
    soft = add_soft_targets(data, certain_rows(data, names), names, 0.3)
    torch.testing.assert_close(loss(network, soft), gold)
    # Columns that the teacher does not predict have only the gold loss.
    two_columns = add_soft_targets(data, certain_rows(data, names[:2]), names[:2], 1.0)
    torch.testing.assert_close(loss(network, two_columns), gold)
    forget_targets(data)
    torch.testing.assert_close(loss(network, soft), gold)
    assert loss(network, data).item() == 0.0


def test_the_label_loss_is_computed_at_the_heads_of_the_teacher(network_and_data):
    network, data = network_and_data
    rows = certain_rows(data, ["head", "deprel"])
    rows[2:6, 0] = [3, 1, 2, 2]  # The, cat, sleeps and the full stop
    forget_targets(data)
    batch = cpu_batch(add_soft_targets(data, rows, ["head", "deprel"]), [0])
    scores = network.score(batch)
    label = scores.score_labels(batch[LABEL_HEAD].long()).log_softmax(-1)
    words = range(1, 5)
    expected = -sum(
        scores.arc.log_softmax(-1)[0, i, int(rows[i + 1, 1])]
        + label[0, i, int(rows[i + 1, column_slices(1)[0].start])]
        for i in words
    )
    torch.testing.assert_close(network(batch), expected / 4)
