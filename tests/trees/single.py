"""Functions of batches, called for one sentence."""

import numpy as np

from depkit.trees.marginals import batch_marginals


def marginals(score: np.ndarray, single_root: bool = True) -> np.ndarray:
    """Return the arc probabilities of one sentence, [n + 1, n + 1] as its scores."""
    return batch_marginals(score[None], [len(score) - 1], single_root)[0]
