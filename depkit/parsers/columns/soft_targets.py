"""Soft targets: a teacher's distributions over a word's heads, relations and tags.

A student learns them beside the gold targets (Hinton et al. 2015). Only the most probable values
of a distribution are stored; all distributions of a word are packed into a row of small integers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from depkit.parsers.inputs.batching import Batch

MAX_VALUES = 4  # the number of stored values of a distribution; others have probability 0
MAX_INTEGER = 65_535  # the integer that represents probability 1
LABEL_HEAD = "soft.label_head"  # the array of the heads that the relations' distributions are for
WEIGHT = "soft.weight"  # what all batches share: see `soft_cross_entropy`


@dataclass(frozen=True)
class SoftColumn:
    """The distributions of one column in a batch, [batch, length, MAX_VALUES] each.

    The probabilities of a word sum to 1, or are all 0 if its distribution is unknown.
    """

    indices: Tensor  # of the values
    probabilities: Tensor
    weight: float  # see `soft_cross_entropy`

    @property
    def known(self) -> Tensor:
        """The mask of words with a distribution, [batch, length]."""
        return self.probabilities.sum(-1) > 0.5


def pack(label_head: Tensor, distributions: Iterable[Tensor]) -> Tensor:
    """Pack distributions into rows of small integers, [batch, length, width].

    `label_head` has the heads that the relations' distributions are for, [batch, length].
    `distributions` are those of the heads, the relations and further columns, [batch, length,
    values] each. Probabilities are rounded to multiples of 1 / MAX_INTEGER.
    """
    parts = [label_head[..., None]]
    for distribution in distributions:
        probabilities, indices = distribution.float().topk(min(MAX_VALUES, distribution.shape[-1]))
        padding = (0, MAX_VALUES - indices.shape[-1])
        rounded = (probabilities * MAX_INTEGER).round().long()
        # A value of probability 0 may be padding that a shorter batch does not have.
        indices = indices.masked_fill(rounded == 0, 0)
        parts += [functional.pad(indices, padding), functional.pad(rounded, padding)]
    return torch.cat(parts, -1)


def column_slices(column: int) -> tuple[slice, slice]:
    """Return the slices of a row that have the indices and the probabilities of a column."""
    start = 1 + 2 * MAX_VALUES * column
    return slice(start, start + MAX_VALUES), slice(start + MAX_VALUES, start + 2 * MAX_VALUES)


def soft_arrays(rows: np.ndarray, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Name the parts of packed rows as arrays of a Dataset, one row a word.

    rows: [total, 1 + 2 * MAX_VALUES * columns] uint16, made by `pack`; zeros if unknown. columns:
    "head", "deprel", "upos", ... in the order of a row.
    """
    arrays = {LABEL_HEAD: rows[:, 0]}
    for i, name in enumerate(columns):
        values, probabilities = column_slices(i)
        arrays[f"soft.{name}.values"] = rows[:, values]
        arrays[f"soft.{name}.probabilities"] = rows[:, probabilities]
    return arrays


def soft_column(batch: Batch, name: str) -> SoftColumn | None:
    """Unpack and renormalise the distributions of a column; None if the batch has none."""
    if f"soft.{name}.values" not in batch:
        return None
    probabilities = batch[f"soft.{name}.probabilities"]
    total = probabilities.sum(-1, keepdim=True).clamp(min=1)
    indices = batch[f"soft.{name}.values"].long()
    return SoftColumn(indices, probabilities / total, batch[WEIGHT])


def soft_cross_entropy(scores: Tensor, target: Tensor, soft: SoftColumn, ignored: int) -> Tensor:
    """Compute the mean cross-entropy with gold targets and with the distributions of a teacher.

    This is the loss of Hinton et al. (2015, section 2) at temperature 1. If a word has both kinds
    of target, the teacher's cross-entropy has the weight `soft.weight`, and that of gold has
    1 - `soft.weight`. If it has only one kind, the weight is 1; words with neither do not count.

    Args:
        scores: [batch, length, values].
        target: The indices of the gold values, [batch, length].
        soft: The teacher's distributions.
        ignored: The value of `target` where there is no gold target.
    """
    log_probabilities = scores.float().log_softmax(-1)
    has_gold, known = target != ignored, soft.known
    teacher_weight = (known * torch.where(has_gold, soft.weight, 1.0)).float()
    gold_loss = -log_probabilities.gather(-1, target.clamp(min=0)[..., None])[..., 0]
    # An impossible value has the log-probability -inf; it must not enter the sum as 0 * -inf.
    possible = soft.probabilities > 0
    soft_log_probabilities = log_probabilities.gather(-1, soft.indices).masked_fill(~possible, 0.0)
    soft_loss = -(soft.probabilities * soft_log_probabilities).sum(-1)
    gold_loss = gold_loss.masked_fill(~has_gold, 0.0)
    loss = (1 - teacher_weight) * gold_loss + teacher_weight * soft_loss
    return loss.sum() / (has_gold | known).sum().clamp(min=1)
