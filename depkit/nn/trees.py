"""The best heads of a batch of sentences, and whether they are trees, by tensor operations."""

import torch
from torch import Tensor


def best_heads(
    scores: Tensor, lengths: Tensor, algorithm: str = "mst", single_root: bool = True
) -> tuple[Tensor, Tensor]:
    """Find the best head of each word, and check whether `trees.decode.decode` returns these heads.

    Args:
        scores: [batch, dependent, head], -inf at padding and on the diagonal.
        lengths: The number of words of each sentence plus one for w0, [batch].
        algorithm: As for `trees.decode.decode`.
        single_root: As for `trees.decode.decode`.

    Returns:
        The heads, [batch, length] int64, 0 for w0 and for padding; and a mask of sentences, [batch]
        bool. The mask is False if the heads are not the kind of tree that the algorithm returns, if
        a score is NaN or +inf, or if all heads of a word are forbidden.
    """
    is_word = _mask_words(lengths, scores.shape[1])
    best, heads = scores.max(-1)  # the first of equal maxima; NaN counts as the maximum
    heads = heads.masked_fill(~is_word, 0)
    are_decoded = (best.isfinite() | ~is_word).all(1)
    if algorithm != "argmax":
        are_decoded = are_decoded & are_trees(heads, lengths, single_root)
    if algorithm == "eisner":
        are_decoded = are_decoded & ~are_crossing(heads, lengths)
    return heads, are_decoded


def are_trees(heads: Tensor, lengths: Tensor, single_root: bool = False) -> Tensor:
    """Return whether the heads of each sentence are a tree, like `trees.shape.is_tree`, [batch].

    Each word is assigned its head, then the head of its head, and so on in doubling steps ("pointer
    jumping", Wyllie 1979). The heads are a tree if all words arrive at the root.

    Args:
        heads: [batch, length] int64, from 0 to length - 1, 0 for w0 and for padding.
        lengths: The number of words of each sentence plus one for w0, [batch].
        single_root: Whether the root may have only one child.
    """
    ancestor = heads
    for _ in range((heads.shape[1] - 1).bit_length()):
        ancestor = ancestor.gather(1, ancestor)
    rooted = (ancestor == 0).all(1)
    if not single_root:
        return rooted
    is_root_child = (heads == 0) & _mask_words(lengths, heads.shape[1])
    return rooted & (is_root_child.sum(1) <= 1)


def are_crossing(heads: Tensor, lengths: Tensor) -> Tensor:
    """Return whether each sentence has crossing arcs, like `trees.shape.has_crossing_arcs`.

    The arguments and the result have the same shapes as those of `are_trees`.
    """
    is_word = _mask_words(lengths, heads.shape[1])
    position = torch.arange(heads.shape[1], device=heads.device)
    # Padding has an arc from 0 to 0, which crosses no arc.
    low = torch.minimum(heads, position).masked_fill(~is_word, 0)
    high = torch.maximum(heads, position).masked_fill(~is_word, 0)
    left, right = low[:, None], high[:, None]
    low, high = low[..., None], high[..., None]
    return ((low < left) & (left < high) & (high < right)).flatten(1).any(1)


def _mask_words(lengths: Tensor, length: int) -> Tensor:
    """Return a mask of the words, [batch, length], False at w0 and at padding."""
    position = torch.arange(length, device=lengths.device)
    return (position > 0) & (position < lengths[:, None])


def mask_root_label(label: Tensor, heads: Tensor, root_label: int | None) -> Tensor:
    """Mask the root's label at words below the root, and all other labels at children of the root.

    Args:
        label: Label scores, [batch, length, label] or [arc, label].
        heads: [batch, length] or [arc]; 0 is the root.
        root_label: The index of the root's label; None masks nothing.

    Returns:
        The scores, with -inf at masked labels.
    """
    if root_label is None:
        return label
    is_root_label = torch.arange(label.shape[-1], device=label.device) == root_label
    return label.masked_fill((heads == 0)[..., None] != is_root_label, float("-inf"))
