"""The likelihood of partly annotated trees, under P(tree) ~ exp(the sum of its arc scores).

The probability of the annotation is that of all trees that agree with it: a ratio of two sums over
trees, each by the matrix-tree theorem (Koo et al. 2007; for partial trees, Smith and Eisner 2007).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from depkit.trees.partition import log_partition_and_marginals


class _LogPartition(torch.autograd.Function):
    """`log_partition` of a batch, computed on the host; the gradient consists of the marginals."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lengths: np.ndarray, single_root: bool) -> Tensor:
        on_host = scores.detach().float().cpu().numpy()
        total, marginals = log_partition_and_marginals(on_host, lengths, single_root)
        ctx.save_for_backward(torch.from_numpy(marginals).to(scores))
        return torch.from_numpy(total).to(scores.device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (marginals,) = ctx.saved_tensors
        return marginals * gradient.to(marginals)[:, None, None], None, None


def partial_tree_loss(
    scores: Tensor, heads: Tensor, lengths: Tensor, single_root: bool = True
) -> Tensor:
    """Compute the negative log-likelihood of annotated heads, per annotated word.

    This waits for the device: the sums over trees are computed on the host. Sentences whose
    annotated heads no tree has, because of a cycle or a second root, are left out.

    Args:
        scores: Arc scores, [batch, dependent, head], -inf on the diagonal and at padding.
        heads: [batch, length], below 0 for w0, for padding and for words without a head.
        lengths: The number of words of each sentence plus one for w0, [batch].
        single_root: Whether trees have a single child of the root.

    Returns:
        The loss, a scalar; 0 if no word has a head.
    """
    position = torch.arange(scores.shape[-1], device=scores.device)
    is_annotated = heads >= 0
    excluded = is_annotated[..., None] & (position != heads[..., None])
    agreeing = scores.masked_fill(excluded, float("-inf"))
    num_words = lengths.cpu().numpy() - 1
    totals = _LogPartition.apply(
        torch.cat((scores, agreeing)), np.concatenate((num_words, num_words)), single_root
    )
    all_trees, agreeing_trees = totals.chunk(2)
    has_tree = agreeing_trees.isfinite()
    losses = torch.where(has_tree, all_trees - agreeing_trees, 0.0)
    count = (is_annotated & has_tree[:, None]).sum()
    return losses.sum().to(scores.dtype) / count.clamp(min=1)
