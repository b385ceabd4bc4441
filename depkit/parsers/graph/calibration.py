"""Calibrating a parser: its scores of a dev treebank, and the temperatures that these ask for."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration
from depkit.parsers.graph.decoding import Decoding
from depkit.parsers.graph.temperatures import Report, Scored, measure, spread
from depkit.parsers.inputs.batches import Laid, layout, sentence_vectors
from depkit.parsers.model_directory import write_calibration

FEWEST = 100  # words that a parser is calibrated on
SENTENCES, LONGEST = 10_000, 500  # at most so many, of so many words at most, are kept in memory


def calibrate_model(
    directory: Path, parser: Parser, sentences: Sequence[Sentence], context: Laid | None
) -> str:
    """Calibrate the parser that a directory holds and write that into it; what came of it, in a
    line. context: the contextual vectors of the sentences, laid out as a Dataset."""
    vectors = None if context is None else sentence_vectors(context, layout(sentences)[0])
    calibration, report = calibrate(parser, sentences, vectors)
    if report.words < FEWEST:
        return f"not calibrated: {report.words} words of dev are too few for that"
    write_calibration(directory, calibration)
    return (
        f"calibrated on dev: arc T {calibration.arc:.2f}, label T {calibration.label:.2f},"
        f" marginal T {calibration.marginal:.2f}; expected calibration error of labelled arcs"
        f" {report.before.labelled:.1f} -> {report.after.labelled:.1f} (cross-fitted)"
    )


def calibrate(
    parser: Parser, sentences: Sequence[Sentence], context: Iterable[np.ndarray] | None = None
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
    analyse = _scorer(parser)
    scored = list(parser.over([sentences[i] for i in kept], analyse, context=context))
    return measure(scored, parser.config.decoder.root == "single")


def _scorer(
    parser: Parser,
) -> Callable[[Any, np.ndarray, Sequence[Sentence]], list[Scored]]:
    """What scores batches for `Parser.over`."""
    decoder, table = parser.config.decoder, parser.vocabulary.columns["deprel"]
    decoding = Decoding(decoder.algorithm, decoder.root == "single")

    @torch.inference_mode()
    def analyse(prepared: Any, numbers: np.ndarray, batch: Sequence[Sentence]) -> list[Scored]:
        scores = parser.scores_of(prepared, numbers)
        words = np.array([len(sentence) for sentence in batch])
        heads = parser.decoded(scores.arc, words, decoding)
        gold = np.zeros_like(heads)
        for row, sentence in enumerate(batch):
            gold[row, 1 : len(sentence) + 1] = sentence.head
        arc = scores.arc.cpu().numpy()

        def labels_at(heads: np.ndarray) -> np.ndarray:
            at = torch.as_tensor(heads, device=parser.device, dtype=torch.int64).clamp(min=0)
            return parser.barred(scores.label_at(at), at).cpu().numpy()

        label, label_at_gold = labels_at(heads), labels_at(gold)
        return [
            _scored(sentence, table.numbers, arc[i], heads[i], gold[i], label[i], label_at_gold[i])
            for i, sentence in enumerate(batch)
        ]

    return analyse


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
    place = np.arange(size)
    words = place[1:][(gold[1:size] >= 0) & (gold[1:size] != place[1:])]
    gold_label = np.array([-1, *(numbers.get(deprel, -1) for deprel in sentence.deprel)])
    known = words[gold_label[words] >= 0]
    known = known[np.isfinite(label_at_gold[known, gold_label[known]])]
    chosen_label = label.argmax(-1)
    return Scored(
        arc[:size, :size].copy(), words, gold[words], heads[words], label[words],
        chosen_label[words], chosen_label[words] == gold_label[words], label_at_gold[known],
        gold_label[known],
    )  # fmt: skip
