"""Calibrating a parser: score a dev treebank, and fit temperatures to the scores."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.parsers.graph.config import Calibration
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.graph.temperatures import (
    CalibrationReport,
    ScoredSentence,
    fit_and_report,
    sample_evenly,
)

MIN_WORDS = 100  # with fewer words, a parser is not calibrated
# The scores of all sentences are in memory, so sentences and their words are limited.
MAX_SENTENCES, MAX_WORDS = 10_000, 500


def calibrate(
    parser: GraphParser, sentences: Sequence[Sentence], context: Iterable[np.ndarray] | None = None
) -> tuple[Calibration, CalibrationReport]:
    """Fit the temperatures that minimise the negative log-likelihood of gold heads and labels.

    Labels that the parser does not know or cannot choose are not used for fitting, but they are
    errors in the report.

    Args:
        parser: A parser; its present temperatures do not change the result.
        sentences: Sentences with gold trees that the parser has not been trained on. Those of more
            than MAX_WORDS words are left out; of the others, MAX_SENTENCES are sampled. Marginals
            use a smaller sample, see `temperatures.MAX_MARGINAL_SENTENCES`.
        context: The contextual vectors of the sentences, as `Parser.parse` takes them.

    Returns:
        The temperatures, which are 1 if there are no words to fit them on, and a report of their
        effect.
    """
    sizes = [len(sentence) for sentence in sentences]
    candidates = [index for index, size in enumerate(sizes) if size <= MAX_WORDS]
    indices = sample_evenly(candidates, MAX_SENTENCES)
    index_set = set(indices)
    if context is not None:
        context = (vectors for index, vectors in enumerate(context) if index in index_set)
    sample = [sentences[index] for index in indices]
    scored = list(parser.map_batches(sample, partial(score_batch, parser), context=context))
    return fit_and_report(scored, parser.config.decoder.root == "single")


def score_batch(
    parser: GraphParser, batch: Any, sentences: Sequence[Sentence]
) -> list[ScoredSentence]:
    """Score the sentences of a batch, decode their heads, and compare with their gold trees."""
    scores = parser.network.score(batch)
    heads = parser.decode(scores, np.array([len(sentence) for sentence in sentences]))
    gold = np.zeros_like(heads)
    for row, sentence in enumerate(sentences):
        gold[row, 1 : len(sentence) + 1] = sentence.head
    arrays = scores.at_two_trees(heads, gold, parser.root_label)
    label_indices = parser.vocabulary.columns["deprel"].indices
    return [
        _select_words(
            sentence,
            label_indices,
            arc=arrays["arc"][i],
            heads=heads[i],
            gold=gold[i],
            label=arrays["first_label"][i],
            label_at_gold=arrays["second_label"][i],
        )
        for i, sentence in enumerate(sentences)
    ]


def _select_words(
    sentence: Sentence,
    label_indices: dict[str, int],
    *,
    arc: np.ndarray,
    heads: np.ndarray,
    gold: np.ndarray,
    label: np.ndarray,
    label_at_gold: np.ndarray,
) -> ScoredSentence:
    """Select the scores of one sentence, without padding and words that have no gold head."""
    size = len(sentence) + 1
    position = np.arange(size)
    words = position[1:][(gold[1:size] >= 0) & (gold[1:size] != position[1:])]
    gold_label = np.array([-1, *(label_indices.get(deprel, -1) for deprel in sentence.deprel)])
    labelled = words[gold_label[words] >= 0]
    labelled = labelled[np.isfinite(label_at_gold[labelled, gold_label[labelled]])]
    best_label = label.argmax(-1)
    return ScoredSentence(
        arc[:size, :size].copy(), words, gold[words], heads[words], label[words],
        best_label[words], best_label[words] == gold_label[words], label_at_gold[labelled],
        gold_label[labelled],
    )  # fmt: skip
