"""Decoding the trees of a batch, for parsing, calibration and teachers.

The network's scores find the best head of each word, and check whether the best heads are a tree.
Only sentences whose best heads are not a tree are decoded here, by `trees.decode`.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from depkit.trees.decode import decode

if TYPE_CHECKING:
    from depkit.parsers.graph.network import Scores


class Decoding(NamedTuple):
    """How trees are decoded from scores, see `Parser.parse`."""

    algorithm: str
    single_root: bool


def decode_heads(
    scores: "Scores", num_words: np.ndarray, decoding: Decoding, compile: bool = False
) -> np.ndarray:
    """Decode the heads of a batch of sentences.

    This waits for a GPU only once; batches of other threads can be computed in the meantime.

    Args:
        scores: The scores of the batch.
        num_words: The number of words of each sentence, [batch].
        decoding: The algorithm and the kind of root.
        compile: Compile the decoder even for few sentences. Next to a GPU, interpreted code would
            be the bottleneck.

    Returns:
        The heads, [batch, length] int32, 0 for w0 and for padding.

    Raises:
        ValueError: See `trees.decode.decode`.
    """
    best = scores.best_heads(num_words, *decoding)
    heads, log_probabilities = best["heads"], best["log_probabilities"]
    undecoded = np.flatnonzero(~best["are_decoded"])
    if not undecoded.size:
        return heads
    try:
        decoded = decode(
            log_probabilities[undecoded], num_words[undecoded], *decoding, compile=compile
        )
    except ValueError:
        # Decoding the whole batch raises the same error, with the right index of the sentence.
        decode(log_probabilities, num_words, *decoding)
        raise
    heads = heads.copy()
    heads[undecoded] = decoded
    return heads
