"""How sure a parser is: the probabilities of the heads and of the labels that it chose.

Scores are divided by a temperature, which `config.Calibration` holds: it makes the mean
probability as high as the share of what is right (Guo et al. 2017, section 4.2).
"""

from collections.abc import Iterable, Iterator

import numpy as np
from torch import Tensor

from depkit.corpus.errors import FormatError
from depkit.corpus.sentence import Sentence
from depkit.trees.marginals import batch_marginals

KINDS = ("", "local", "marginal")
# Words that marginals are computed for. Of 1,600 words they take 10 s (80 s where scores are very
# sharp) and 150 MB, and of twice as many eight times the time and four times the memory.
LONGEST = 2_000


def chosen_probabilities(scores: Tensor, chosen: Tensor, temperature: float) -> Tensor:
    """softmax(scores / temperature) of what was chosen.

    scores: [batch, length, choice], -inf is no choice; chosen: [batch, length]. Returns [batch,
    length].
    """
    probabilities = (scores / temperature).softmax(-1)
    return probabilities.gather(-1, chosen[..., None]).squeeze(-1)


def head_marginals(
    arc: np.ndarray, heads: np.ndarray, words: np.ndarray, single_root: bool, temperature: float
) -> np.ndarray:
    """The share of all trees, by their probability, in which a word has its head.

    arc: [batch, dependent, head]; heads: [batch, length]; words: [batch], how many. A tree's
    probability is proportional to exp(sum of its arcs' scores / temperature); see
    `trees.marginals`. Returns [batch, length].
    """
    marginals = batch_marginals(arc.astype(np.float64) / temperature, words, single_root)
    return np.take_along_axis(marginals, heads[..., None], -1)[..., 0]


def check_sentences(sentences: Iterable[Sentence], kind: str) -> Iterator[Sentence]:
    """The sentences, as long as they can be given probabilities of a kind.

    Raises FormatError at one without MISC to hold them, and at one too long for marginals.
    """
    for sentence in sentences:
        if "misc" not in sentence.format.columns:
            raise FormatError(
                *sentence.place(),
                f"{sentence.format.name} has no MISC to hold probabilities; write CoNLL-U or JSON"
                " with --format",
            )
        if kind == "marginal" and len(sentence) > LONGEST:
            raise FormatError(
                *sentence.place(),
                f"a sentence of {len(sentence)} words is too long for marginals, which take"
                f" {LONGEST} at most; split it, or leave --marginals out",
            )
        yield sentence
