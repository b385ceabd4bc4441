"""Calibrating a parser: its scores of a dev treebank, and the temperatures that these ask for."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from depkit.corpus.sentence import Sentence
from depkit.parsers.config import Calibration
from depkit.parsers.graph.decoding import decode_heads
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.graph.temperatures import Report, Scored, measure, spread

FEWEST = 100  # words that a parser is calibrated on
SENTENCES, LONGEST = 10_000, 500  # at most so many, of so many words at most, are kept in memory


def calibrate(
    parser: GraphParser, sentences: Sequence[Sentence], context: Iterable[np.ndarray] | None = None
) -> tuple[Calibration, Report]:
    """The temperatures of least negative log-likelihood of gold heads, and of gold labels at these.

    parser: any, its own calibration does not matter. sentences: with gold trees that the parser has
    not been trained on; of more than SENTENCES, so many evenly spread, and none of more than
    LONGEST words; for marginals, `temperatures.SAMPLE` of at most SHORT words. context: as
    `Parser.parse` takes it. Labels that the parser does not know, or could not choose, say nothing
    about temperatures, but are wrong in the report. Without words that count, all are 1.
    """
    sizes = [len(sentence) for sentence in sentences]
    fitting = [number for number, size in enumerate(sizes) if size <= LONGEST]
    kept = spread(fitting, SENTENCES)
    some = set(kept)
    if context is not None:
        context = (vectors for number, vectors in enumerate(context) if number in some)
    some_sentences = [sentences[i] for i in kept]
    scored = list(parser.map_batches(some_sentences, partial(score_batch, parser), context=context))
    return measure(scored, parser.config.decoder.root == "single")


@torch.inference_mode()
def score_batch(parser: GraphParser, batch: Any, sentences: Sequence[Sentence]) -> list[Scored]:
    """What a parser's probabilities are measured by, of the sentences of a batch."""
    scores = parser.score(batch)
    words = np.array([len(sentence) for sentence in sentences])
    heads = decode_heads(scores.arc, words, parser.decoding)
    gold = np.zeros_like(heads)
    for row, sentence in enumerate(sentences):
        gold[row, 1 : len(sentence) + 1] = sentence.head
    arc = scores.arc.cpu().numpy()
    label, label_at_gold = (
        parser.label_scores(scores, each)[1].cpu().numpy() for each in (heads, gold)
    )
    numbers = parser.vocabulary.columns["deprel"].numbers
    return [
        _scored(sentence, numbers, arc[i], heads[i], gold[i], label[i], label_at_gold[i])
        for i, sentence in enumerate(sentences)
    ]


def _scored(
    sentence: Sentence,
    numbers: dict[str, int],
    arc: np.ndarray,
    heads: np.ndarray,
    gold: np.ndarray,
    label: np.ndarray,
    label_at_gold: np.ndarray,
) -> Scored:
    """One sentence of a padded batch; numbers: of the labels."""
    size = len(sentence) + 1
    position = np.arange(size)
    words = position[1:][(gold[1:size] >= 0) & (gold[1:size] != position[1:])]
    gold_label = np.array([-1, *(numbers.get(deprel, -1) for deprel in sentence.deprel)])
    known = words[gold_label[words] >= 0]
    known = known[np.isfinite(label_at_gold[known, gold_label[known]])]
    chosen_label = label.argmax(-1)
    return Scored(
        arc[:size, :size].copy(), words, gold[words], heads[words], label[words],
        chosen_label[words], chosen_label[words] == gold_label[words], label_at_gold[known],
        gold_label[known],
    )  # fmt: skip
