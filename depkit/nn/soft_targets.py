"""The loss of soft targets: a teacher's distributions (Hinton et al. 2015)."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SoftColumn:
    """The distributions of one column in a batch, [batch, length, values] each.

    The probabilities of a word sum to 1, or are all 0 if its distribution is unknown.
    """

    indices: Tensor  # of the values
    probabilities: Tensor
    weight: float  # see `soft_cross_entropy`

    @property
    def known(self) -> Tensor:
        """The mask of words with a distribution, [batch, length]."""
        return self.probabilities.sum(-1) > 0.5


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
