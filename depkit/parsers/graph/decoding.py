"""From a batch's scores to trees, in one function that parsing, calibration and teachers share.

Best heads and the check whether they are trees are tensor operations; only sentences for which they
are not go through the decoders of `trees`, on the host.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.device import fetch, send
from depkit.trees.decode import decode


class Decoding(NamedTuple):
    """How trees are made of scores; probabilities: "", "local" or "marginal", see
    `GraphParser.parse`."""

    algorithm: str
    single_root: bool
    probabilities: str = ""


@torch.inference_mode()
def decode_heads(arc: Tensor, words: np.ndarray, decoding: Decoding) -> np.ndarray:
    """The heads of a batch of sentences.

    arc: [batch, dependent, head], scores, -inf at padding and at the diagonal; words: [batch], how
    many. Returns [batch, length] int32 on the host, 0 for w0 and for padding. Waits for a GPU once,
    while batches of other threads can be computed. Raises ValueError as `trees.decode.decode`.
    """
    logs = arc.log_softmax(-1)
    lengths = send(torch.from_numpy(words.astype(np.int64) + 1), arc.device)
    best, are_decoded = best_heads(logs, lengths, decoding.algorithm, decoding.single_root)
    # Copy all scores now: which sentences need decoding is unknown until the GPU answers, and to
    # ask for their scores then is to wait for the batches behind.
    results = {"heads": best.to(torch.int32), "are_decoded": are_decoded, "logs": logs}
    found = fetch(results).arrays()
    return complete_heads(words=words, decoding=decoding, compile=arc.is_cuda, **found)


def best_heads(
    scores: Tensor, lengths: Tensor, algorithm: str = "mst", single_root: bool = True
) -> tuple[Tensor, Tensor]:
    """Each word's best head, and where these are already what `trees.decode.decode` gives.

    scores: [batch, dependent, head], -inf at padding and at the diagonal; lengths: [batch], of
    words and w0. The rest as for decode(). Returns heads, [batch, length] int64, 0 for w0 and for
    padding, and [batch] bool, false where they are not the tree that is asked for, or where a
    score is NaN or +inf or every head of a word is forbidden.
    """
    is_word = _words(lengths, scores.shape[1])
    best, heads = scores.max(-1)  # the first of equals, and NaN before all
    heads = heads.masked_fill(~is_word, 0)
    are_decoded = (best.isfinite() | ~is_word).all(1)
    if algorithm != "argmax":
        are_decoded = are_decoded & are_trees(heads, lengths, single_root)
    if algorithm == "eisner":
        are_decoded = are_decoded & ~are_crossing(heads, lengths)
    return heads, are_decoded


def are_trees(heads: Tensor, lengths: Tensor, single_root: bool = False) -> Tensor:
    """As `trees.shape.is_tree`, of a batch: every word has the root among its ancestors.

    heads: [batch, length] int64 within it, 0 for w0 and for padding; lengths: [batch], of words
    and w0. Returns [batch] bool. Ancestors' ancestors are taken as often as the longest path can be
    halved ("pointer jumping", Wyllie 1979).
    """
    ancestor = heads
    for _ in range((heads.shape[1] - 1).bit_length()):
        ancestor = ancestor.gather(1, ancestor)
    rooted = (ancestor == 0).all(1)
    if not single_root:
        return rooted
    at_root = (heads == 0) & _words(lengths, heads.shape[1])
    return rooted & (at_root.sum(1) <= 1)


def are_crossing(heads: Tensor, lengths: Tensor) -> Tensor:
    """As `trees.shape.crossing`, of a batch; shapes as for `are_trees`."""
    is_word = _words(lengths, heads.shape[1])
    position = torch.arange(heads.shape[1], device=heads.device)
    # Padding has an arc from 0 to 0, which crosses none.
    low = torch.minimum(heads, position).masked_fill(~is_word, 0)
    high = torch.maximum(heads, position).masked_fill(~is_word, 0)
    left, right = low[:, None], high[:, None]
    low, high = low[..., None], high[..., None]
    return ((low < left) & (left < high) & (high < right)).flatten(1).any(1)


def _words(lengths: Tensor, longest: int) -> Tensor:
    """[batch, longest], true but at w0 and at padding."""
    position = torch.arange(longest, device=lengths.device)
    return (position > 0) & (position < lengths[:, None])


def complete_heads(
    heads: np.ndarray,
    are_decoded: np.ndarray,
    logs: np.ndarray,
    words: np.ndarray,
    decoding: Decoding,
    compile: bool = False,
) -> np.ndarray:
    """The best heads, and decoded ones for the sentences where these are not what is asked for.

    heads, are_decoded: of `best_heads`, on the host; logs: log-probabilities of the heads; words:
    [batch]; compile: use the compiled decoder even for few sentences, which the interpreter would
    delay where a GPU scores them. Raises as decode().
    """
    rest = np.flatnonzero(~are_decoded)
    if not rest.size:
        return heads
    choice = decoding.algorithm, decoding.single_root
    try:
        decoded = decode(logs[rest], words[rest], *choice, compile=compile)
    except ValueError:
        decode(logs, words, *choice)  # the same error, with the sentence's number in the batch
        raise
    heads = heads.copy()
    heads[rest] = decoded
    return heads


def mask_root_label(label: Tensor, heads: Tensor, root: int | None) -> Tensor:
    """Label scores, -inf for the root's relation away from the root and for others at it.

    label: [batch, length, label]; heads: [batch, length]; root: the number of the relation that
    the root's children have and no other word; None where there is no such rule.
    """
    if root is None:
        return label
    is_root = torch.arange(label.shape[-1], device=label.device) == root
    return label.masked_fill((heads == 0)[..., None] != is_root, float("-inf"))
