"""The probabilities of predicted heads and labels.

Logits are divided by the temperatures in `config.Calibration`, so that the mean probability is
close to the accuracy (Guo et al. 2017, section 4.2).
"""

from collections.abc import Iterable, Iterator

import numpy as np
from torch import Tensor

from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.trees.marginals import batch_marginals

# The values of the option `probabilities` of `GraphParser.parse`; "" writes no probabilities.
KINDS = ("", "local", "marginal")
# The number of words in the longest sentence for which marginals are computed. 1,600 words take
# 10 s (80 s if scores are very sharp) and 150 MB; the time is cubic and the memory quadratic.
MAX_MARGINAL_WORDS = 2_000


def chosen_probabilities(scores: Tensor, indices: Tensor, temperature: float) -> Tensor:
    """Compute the probabilities of chosen heads or labels, softmax(scores / temperature).

    Args:
        scores: Arc or label scores, [batch, length, choice]; -inf for an impossible choice.
        indices: The indices of the chosen heads or labels, [batch, length].
        temperature: The temperature of the scores.

    Returns:
        The probabilities, [batch, length].
    """
    probabilities = (scores / temperature).softmax(-1)
    return probabilities.gather(-1, indices[..., None]).squeeze(-1)


def head_marginals(
    arc: np.ndarray, heads: np.ndarray, lengths: np.ndarray, single_root: bool, temperature: float
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


def check_sentences(sentences: Iterable[Sentence], kind: str) -> Iterator[Sentence]:
    """Yield the sentences, after checking that probabilities can be computed and written.

    kind: "local" or "marginal". Raises FormatError at a sentence without the column MISC, and at a
    sentence that is too long for marginals.
    """
    for sentence in sentences:
        if "misc" not in sentence.format.columns:
            raise FormatError(
                *sentence.location(),
                f"the format {sentence.format.name} has no column MISC for probabilities; choose"
                " CoNLL-U or JSON as the output format with --format",
            )
        if kind == "marginal" and len(sentence) > MAX_MARGINAL_WORDS:
            raise FormatError(
                *sentence.location(),
                f"a sentence of {len(sentence)} words is too long for marginals, which are limited"
                f" to {MAX_MARGINAL_WORDS} words; split it, or omit --marginals",
            )
        yield sentence
