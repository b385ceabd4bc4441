"""What a teacher thinks of a word, for a student to learn (Hinton et al. 2015): the few most
probable heads, relations and tags, packed into a row of small numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

MOST = 4  # values that are kept of a distribution; the others are as if they were not
LARGEST = 65_535  # of the numbers in a row; a probability of 1


@dataclass(frozen=True)
class SoftTargets:
    """The packed distributions of a Dataset's words, as `pack` makes them.

    rows: [total, 1 + 2 * MOST * columns] uint16, on the host, zeros where nothing is known;
    columns: "head", "deprel", "upos", ..., in their order in a row; weight: of their loss for a
    word with gold targets, which has the rest.
    """

    rows: np.ndarray
    columns: Sequence[str]
    weight: float = 0.5


@dataclass(frozen=True)
class Soft:
    """A column's distributions in a batch: the numbers of values, and their probabilities, which
    sum to 1, or to 0 where nothing is known; [batch, length, MOST] each."""

    numbers: Tensor
    probabilities: Tensor
    weight: float

    @property
    def known(self) -> Tensor:
        """[batch, length]."""
        return self.probabilities.sum(-1) > 0.5


@dataclass(frozen=True)
class SoftBatch:
    """label_head: [batch, length], the heads that the relations are for; columns: by name."""

    label_head: Tensor
    columns: dict[str, Soft]


def pack(label_head: Tensor, distributions: Iterable[Tensor]) -> Tensor:
    """Rows of small integers for distributions over values, [batch, length, width].

    label_head: [batch, length], the heads that the relations are for; distributions: of the heads,
    the relations and further columns, [batch, length, values] each. A probability is rounded to
    1 / LARGEST.
    """
    parts = [label_head[..., None]]
    for each in distributions:
        probabilities, numbers = each.float().topk(min(MOST, each.shape[-1]))
        room = (0, MOST - numbers.shape[-1])
        rounded = (probabilities * LARGEST).round().long()
        numbers = numbers.masked_fill(rounded == 0, 0)  # it can be padding of a longer batch
        parts += [functional.pad(numbers, room), functional.pad(rounded, room)]
    return torch.cat(parts, -1)


def places(column: int) -> tuple[slice, slice]:
    """Where the numbers and the probabilities of the column-th distribution lie in a row."""
    start = 1 + 2 * MOST * column
    return slice(start, start + MOST), slice(start + MOST, start + 2 * MOST)


def unpack(rows: Tensor, columns: Sequence[str], weight: float) -> SoftBatch:
    """The distributions of packed rows, [batch, length, width] integers, renormalised."""
    found = {}
    for i, name in enumerate(columns):
        numbers, probabilities = (rows[..., part] for part in places(i))
        total = probabilities.sum(-1, keepdim=True).clamp(min=1)
        found[name] = Soft(numbers.long(), probabilities / total, weight)
    return SoftBatch(rows[..., 0].long(), found)


def soft_cross_entropy(scores: Tensor, target: Tensor, soft: Soft, ignored: int) -> Tensor:
    """Mean cross-entropy with gold and with a teacher's distributions (Hinton et al. 2015,
    section 2, at temperature 1).

    scores: [batch, length, values]; target: [batch, length]. A word with both has the teacher's
    with `soft.weight` and gold's with the rest; a word with one of them has that alone; others
    don't count.
    """
    logs = scores.float().log_softmax(-1)
    gold, known = target != ignored, soft.known
    share = (known * torch.where(gold, soft.weight, 1.0)).float()
    own = -logs.gather(-1, target.clamp(min=0)[..., None])[..., 0]
    # a value that there cannot be has the logarithm -inf, and no part in the sum
    kept = soft.probabilities > 0
    taught = logs.gather(-1, soft.numbers).masked_fill(~kept, 0.0)
    other = -(soft.probabilities * taught).sum(-1)
    loss = (1 - share) * own.masked_fill(~gold, 0.0) + share * other
    return loss.sum() / (gold | known).sum().clamp(min=1)
