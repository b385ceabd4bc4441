"""The marginal probabilities of predicted heads.

Logits are divided by the temperatures in `Calibration`, so that the mean probability is close to
the accuracy (Guo et al. 2017, section 4.2).
"""

import numpy as np

from depkit.trees.marginals import batch_marginals


def head_marginals(
    arc: np.ndarray,
    heads: np.ndarray,
    lengths: np.ndarray,
    single_root: bool,
    *,
    temperature: float,
) -> np.ndarray:
    """Compute the marginal probabilities of heads over all trees.

    The marginal probability of a head is the sum of the probabilities of all trees that have the
    arc. The probability of a tree is proportional to exp(sum of the scores of its arcs /
    temperature); see `trees.marginals`.

    Args:
        arc: Arc scores, [batch, dependent, head].
        heads: The chosen heads, [batch, length].
        lengths: The number of words of each sentence, [batch].
        single_root: Whether the root of a tree has only one child.
        temperature: The temperature of the arc scores.

    Returns:
        The marginal probabilities of the chosen heads, [batch, length].
    """
    marginals = batch_marginals(arc.astype(np.float64) / temperature, lengths, single_root)
    return np.take_along_axis(marginals, heads[..., None], -1)[..., 0]
