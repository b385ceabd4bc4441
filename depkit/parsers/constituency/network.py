"""The network of the constituency parser: Kitaev and Klein (2018); tags: Kitaev et al. (2019)."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from depkit.nn.spans import SpanScorer, fencepost_vectors
from depkit.parsers.config import ConstituencyConfig
from depkit.parsers.constituency.decoding import Scores, find_best_labels
from depkit.parsers.constituency.examples import COLUMN, SPANS
from depkit.parsers.engine.device import send
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.network import TagClassifiers, tag_losses
from depkit.trees.chart import decode_spans


class ConstituencyNetwork(ParserNetwork):
    """The input layer, the encoder, the span scorer, and a classifier for each predicted column."""

    def __init__(
        self,
        config: ConstituencyConfig,
        vocabulary: Vocabulary,
        transformer: Transformer | None = None,
    ) -> None:
        scorer = config.scorer
        super().__init__(config, vocabulary, transformer, scorer.dropout)
        if self.size % 2:
            raise ConfigError(f"the vectors of the encoder have the odd size {self.size}")
        self.interleaved = config.encoder.kind == "factored"
        self.tag_weight = scorer.tag_weight
        self.spans = SpanScorer(self.size, scorer.hidden, len(vocabulary.columns[COLUMN]))
        self.columns = TagClassifiers(self.size, scorer, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch: the mean hinge loss of the trees, and the losses of tags."""
        encoded = self.encode_with_stop(batch)
        losses = tag_losses(self.columns.scores(encoded[:, :-1]), batch)
        tree_loss = self.hinge_loss(self.fenceposts(encoded), batch)
        return self.tag_weight * sum(losses, start=encoded.new_zeros(())) + tree_loss

    def fenceposts(self, encoded: Tensor) -> Tensor:
        """Compute the projected vectors of fenceposts, [batch, length, hidden].

        encoded: [batch, length + 1, size], the result of `encode_with_stop`.
        """
        return self.spans.project(fencepost_vectors(encoded, self.interleaved))

    def hinge_loss(self, fenceposts: Tensor, batch: Batch) -> Tensor:
        """Compute the mean over trees of max(0, max over T of s(T) + loss(T, gold) - s(gold)).

        loss(T, gold) is the number of spans of the binary tree T whose label is another one in the
        gold tree. Only the spans of T and of the gold tree have a gradient, so all others are
        scored without one.
        """
        words = batch.sizes - 1
        row, start, end, label = batch.host[SPANS].T
        gold = np.zeros((len(words), words.max() + 1, words.max() + 1), dtype=np.int64)
        gold[row, start, end] = label
        with torch.no_grad():
            scores, labels = find_best_labels(
                partial(self.spans, fenceposts), words, gold, fenceposts.device
            )
        trees, _ = decode_spans(scores, words)
        rows, nodes = np.nonzero(np.arange(trees.shape[1]) < 2 * words[:, None] - 1)
        starts, ends = trees[rows, nodes].T
        predicted = labels[rows, starts, ends]
        wrong = (predicted != gold[rows, starts, ends]).sum()
        # The empty label has the score 0.
        best = self._sum_scores(fenceposts, np.stack((rows, starts, ends, predicted)))
        correct = self._sum_scores(fenceposts, batch.host[SPANS].T)
        return (best - correct + float(wrong)) / len(words)

    def _sum_scores(self, fenceposts: Tensor, spans: np.ndarray) -> Tensor:
        """Sum the scores of labelled spans, [4, spans]: `TreeExamples.batch`, transposed."""
        labelled = np.ascontiguousarray(spans[:, spans[3] > 0])
        row, start, end, label = send(torch.from_numpy(labelled), fenceposts.device)
        return self.spans(fenceposts, row, start, end).gather(1, label[:, None] - 1).sum()

    def score(self, batch: Batch) -> Scores:
        """Compute the scores of a batch; those of spans are computed when they are asked for."""
        encoded = self.encode_with_stop(batch)
        score_spans = partial(self.spans, self.fenceposts(encoded))
        return Scores(score_spans, self.columns.scores(encoded[:, :-1]))

    def tag_scores(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the logits of each predicted column, [batch, length, value]."""
        return self.columns.scores(self.encode(batch))
