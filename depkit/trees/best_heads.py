"""The best heads of a batch of sentences, and whether they are trees.

These are the functions of `nn.trees` for arrays on the host.
"""

import numpy as np


def best_heads(
    scores: np.ndarray, lengths: np.ndarray, algorithm: str = "mst", single_root: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best head of each word, and check whether `decode.decode` returns these heads.

    Args:
        scores: [batch, dependent, head], -inf at padding and on the diagonal.
        lengths: The number of words of each sentence plus one for w0, [batch].
        algorithm: As for `decode.decode`.
        single_root: As for `decode.decode`.

    Returns:
        The heads, [batch, length] int32, 0 for w0 and for padding; and a mask of sentences, [batch]
        bool. The mask is False if the heads are not the kind of tree that the algorithm returns, if
        a score is NaN or +inf, or if all heads of a word are forbidden.
    """
    is_word = _mask_words(lengths, scores.shape[1])
    heads = np.where(is_word, scores.argmax(-1), 0).astype(np.int32)
    best = scores.max(-1)  # NaN counts as the maximum
    are_decoded = (np.isfinite(best) | ~is_word).all(1)
    if algorithm != "argmax":
        are_decoded &= are_trees(heads, lengths, single_root)
    if algorithm == "eisner":
        are_decoded &= ~are_crossing(heads, lengths)
    return heads, are_decoded


def are_trees(heads: np.ndarray, lengths: np.ndarray, single_root: bool = False) -> np.ndarray:
    """Return whether the heads of each sentence are a tree, like `shape.is_tree`, [batch].

    Each word is assigned its head, then the head of its head, and so on in doubling steps ("pointer
    jumping", Wyllie 1979). The heads are a tree if all words arrive at the root.

    Args:
        heads: [batch, length], from 0 to length - 1, 0 for w0 and for padding.
        lengths: The number of words of each sentence plus one for w0, [batch].
        single_root: Whether the root may have only one child.
    """
    ancestor = heads
    for _ in range((heads.shape[1] - 1).bit_length()):
        ancestor = np.take_along_axis(ancestor, ancestor, 1)
    rooted: np.ndarray = (ancestor == 0).all(1)
    if single_root:
        is_root_child = (heads == 0) & _mask_words(lengths, heads.shape[1])
        rooted &= is_root_child.sum(1) <= 1
    return rooted


def are_crossing(heads: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return whether each sentence has crossing arcs, like `shape.has_crossing_arcs`, [batch].

    The arguments are those of `are_trees`.
    """
    is_word = _mask_words(lengths, heads.shape[1])
    position = np.arange(heads.shape[1])
    # Padding has an arc from 0 to 0, which crosses no arc.
    low = np.where(is_word, np.minimum(heads, position), 0)
    high = np.where(is_word, np.maximum(heads, position), 0)
    left, right = low[:, None], high[:, None]
    low, high = low[..., None], high[..., None]
    crosses = (low < left) & (left < high) & (high < right)  # [batch, arc, arc]
    return np.any(crosses, axis=(1, 2))


def _mask_words(lengths: np.ndarray, length: int) -> np.ndarray:
    """Return a mask of the words, [batch, length], False at w0 and at padding."""
    position = np.arange(length)
    return (position > 0) & (position < lengths[:, None])
