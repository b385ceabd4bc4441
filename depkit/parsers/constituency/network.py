"""The network of the constituency parser: Kitaev and Klein (2018); tags: Kitaev et al. (2019)."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from depkit.nn.spans import SpanScorer, fencepost_vectors
from depkit.parsers.config import ConstituencyConfig
from depkit.parsers.constituency.examples import COLUMN, TreeBatch
from depkit.parsers.device import send
from depkit.parsers.inputs.batches import Batch
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.network import TagClassifiers, tag_losses
from depkit.trees.chart import decode_spans

MAX_SPANS = 1 << 15  # spans whose labels are scored at once, which limits the memory


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

    def forward(self, batch: TreeBatch) -> Tensor:
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

    def hinge_loss(self, fenceposts: Tensor, batch: TreeBatch) -> Tensor:
        """Compute the mean over trees of max(0, max over T of s(T) + loss(T, gold) - s(gold)).

        loss(T, gold) is the number of spans of the binary tree T whose label is another one in the
        gold tree. Only the spans of T and of the gold tree have a gradient, so all others are
        scored without one.
        """
        words = batch.sizes - 1
        row, start, end, label = batch.spans.T
        gold = np.zeros((len(words), words.max() + 1, words.max() + 1), dtype=np.int64)
        gold[row, start, end] = label
        with torch.no_grad():
            scores, labels = self.best_labels(fenceposts, words, gold)
        trees, _ = decode_spans(scores, words)
        rows, nodes = np.nonzero(np.arange(trees.shape[1]) < 2 * words[:, None] - 1)
        starts, ends = trees[rows, nodes].T
        predicted = labels[rows, starts, ends]
        wrong = (predicted != gold[rows, starts, ends]).sum()
        # The empty label has the score 0.
        best = self._sum_scores(fenceposts, np.stack((rows, starts, ends, predicted)))
        correct = self._sum_scores(fenceposts, batch.spans.T)
        return (best - correct + float(wrong)) / len(words)

    def _sum_scores(self, fenceposts: Tensor, spans: np.ndarray) -> Tensor:
        """Sum the scores of labelled spans; spans: [4, spans], as in TreeBatch, transposed."""
        labelled = np.ascontiguousarray(spans[:, spans[3] > 0])
        row, start, end, label = send(torch.from_numpy(labelled), fenceposts.device)
        return self.spans(fenceposts, row, start, end).gather(1, label[:, None] - 1).sum()

    def best_labels(
        self, fenceposts: Tensor, words: np.ndarray, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the best label of every span of a batch.

        Args:
            fenceposts: The projected vectors of fenceposts.
            words: [batch], the numbers of words.
            gold: [batch, n + 1, n + 1] (start, end), the gold labels, 0 for the empty label. If
                they are given, the scores are augmented by the loss: see `chart.best_labels`.

        Returns:
            The score of the best label, and that label, [batch, n + 1, n + 1] (start, end) each.
            The empty label is forbidden for a whole sentence.
        """
        size = words.max() + 1
        scores = np.zeros((len(words), size, size), dtype=np.float32)
        labels = np.zeros((len(words), size, size), dtype=np.int64)
        for spans in _all_spans(words):
            gold_labels = None if gold is None else gold[tuple(spans)]
            is_root = (spans[1] == 0) & (spans[2] == words[spans[0]])
            scores[tuple(spans)], labels[tuple(spans)] = self._best_labels(
                fenceposts, spans, is_root, gold_labels
            )
        return scores, labels

    def _best_labels(
        self, fenceposts: Tensor, spans: np.ndarray, is_root: np.ndarray, gold: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the best labels of spans, and their scores.

        spans: [3, spans] sentence, start and end. is_root: [spans], whether a span is a whole
        sentence. gold: [spans], the gold labels.
        """
        on_host = np.vstack((spans, is_root, gold if gold is not None else is_root))
        row, start, end, root, target = send(torch.from_numpy(on_host), fenceposts.device)
        scores = self.spans(fenceposts, row, start, end)
        empty = scores.new_zeros(len(scores))
        if gold is not None:
            has_label = target > 0
            scores = scores.scatter_add(
                1, (target - 1).clamp(min=0)[:, None], -has_label.to(scores.dtype)[:, None]
            )
            empty = has_label.to(scores.dtype) - 1
        empty = empty.masked_fill(root > 0, float("-inf"))
        best, label = scores.max(dim=1)
        is_empty = empty >= best
        best, label = torch.where(is_empty, empty, best), (label + 1).masked_fill(is_empty, 0)
        return best.cpu().numpy(), label.cpu().numpy()

    def score(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the projected vectors of fenceposts, and the logits of each predicted column."""
        encoded = self.encode_with_stop(batch)
        return self.fenceposts(encoded), self.columns.scores(encoded[:, :-1])

    def tag_scores(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the logits of each predicted column, [batch, length, value]."""
        return self.columns.scores(self.encode(batch))


def _all_spans(words: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all spans of a batch in parts, [3, at most MAX_SPANS] (sentence, start, end)."""
    start, end = np.triu_indices(words.max() + 1, 1)
    row, index = np.nonzero(end <= words[:, None])
    for first in range(0, len(row), MAX_SPANS):
        part = slice(first, first + MAX_SPANS)
        yield np.stack((row[part], start[index[part]], end[index[part]]))
