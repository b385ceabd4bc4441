"""The network of the constituency parser: Kitaev and Klein (2018); tags: Kitaev et al. (2019)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from depkit.nn.spans import SpanScorer, fencepost_vectors
from depkit.parsers.columns.network import ColumnScores, MeanNetwork, TagClassifiers, tag_losses
from depkit.parsers.constituency.config import ConstituencyConfig
from depkit.parsers.constituency.decoding import find_best_labels
from depkit.parsers.constituency.examples import COLUMN, SPANS
from depkit.parsers.engine.device import fetch, send
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import LabelGraph, ParserNetwork
from depkit.parsers.settings import ConfigError
from depkit.trees.chart import decode_spans

# The weight of the loss of predicted columns. The loss of a tree grows with its size, theirs does
# not.
TAG_WEIGHT = 5.0


@dataclass(frozen=True)
class SpanScores:
    """The scores of a batch, which stay on the device; arrays are on the host.

    score_spans: from the sentence in the batch, the start and the end of each span, [spans] each,
    to the scores of its labels without the empty label, whose score is 0, [spans, label].
    """

    score_spans: Callable[[Tensor, Tensor, Tensor], Tensor]
    columns: ColumnScores
    device: torch.device

    def best_labels(
        self, spans: np.ndarray, is_root: np.ndarray, gold: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the best labels of spans; see `decoding.BestLabels`."""
        on_host = np.vstack((spans, is_root, gold if gold is not None else is_root))
        row, start, end, root, target = send(torch.from_numpy(on_host), self.device)
        scores = self.score_spans(row, start, end)
        empty = scores.new_zeros(len(scores))
        if gold is not None:
            has_label = (target > 0).to(scores.dtype)
            scores = scores.scatter_add(1, (target - 1).clamp(min=0)[:, None], -has_label[:, None])
            empty = has_label - 1
        empty = empty.masked_fill(root > 0, float("-inf"))
        best, label = scores.max(dim=1)
        is_empty = empty >= best
        best, label = torch.where(is_empty, empty, best), (label + 1).masked_fill(is_empty, 0)
        results = fetch({"best": best, "label": label}).wait()
        return results["best"], results["label"]


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
        self.interleaved = scorer.split == "interleaved"
        self.spans = SpanScorer(self.size, scorer.hidden, len(vocabulary.columns[COLUMN]))
        self.columns = TagClassifiers(self.size, scorer, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch: the mean hinge loss of the trees, and the losses of tags."""
        encoded = self.encode_with_stop(batch)
        losses = tag_losses(self.columns.scores(encoded[:, :-1]), batch)
        tree_loss = self.hinge_loss(self.fenceposts(encoded), batch)
        return TAG_WEIGHT * sum(losses, start=encoded.new_zeros(())) + tree_loss

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
            scored = SpanScores(partial(self.spans, fenceposts), ColumnScores(), fenceposts.device)
            scores, labels = find_best_labels(scored.best_labels, words, gold)
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

    def score(self, batch: Batch) -> SpanScores:
        """Compute the scores of a batch; those of spans are computed when they are asked for."""
        encoded = self.encode_with_stop(batch)
        score_spans = partial(self.spans, self.fenceposts(encoded))
        return SpanScores(score_spans, self.columns.scores(encoded[:, :-1]), encoded.device)

    def tag_scores(self, batch: Batch) -> ColumnScores:
        return self.columns.scores(self.encode(batch))

    def score_graph(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Compute the projected fenceposts, and the logits of columns, [batch, length, ...]."""
        encoded = self.encode_vectors(vectors, lengths)
        logits = self.columns.scores(encoded[:, :-1])
        return {"fenceposts": self.fenceposts(encoded)} | {
            f"logits.{name}": scores for name, scores in logits.items()
        }

    def label_graphs(self) -> dict[str, LabelGraph]:
        """Return a function with the arguments of `SpanScorer.forward`."""
        axes = {
            "fenceposts": ("batch", "length"), "row": ("spans",), "start": ("spans",),
            "end": ("spans",),
        }  # fmt: skip

        def compute(arrays: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"labels": self.spans(*(arrays[name] for name in axes))}

        return {"labels": LabelGraph(axes, compute, _all_spans)}


def _all_spans(scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return all spans of some sentences that have the same length."""
    fenceposts = scores["fenceposts"]
    start, end = torch.triu_indices(fenceposts.shape[1], fenceposts.shape[1], 1)
    row = torch.arange(len(fenceposts)).repeat_interleave(len(start))
    start, end = (x.repeat(len(fenceposts)) for x in (start, end))
    return {"fenceposts": fenceposts, "row": row, "start": start, "end": end}


class ConstituencyMean(MeanNetwork):
    """The networks of an ensemble of constituency parsers; `mean` concerns only columns."""

    def score(self, batch: Sequence[Batch]) -> SpanScores:
        """Compute the mean scores of spans, and the logarithms of mean probabilities of columns.

        For a label that a parser does not know, the score of its worst label counts.
        """
        scores = self.scores_of(batch)

        def score_spans(*spans: Tensor) -> Tensor:
            total: Tensor | float = 0.0
            for engine, part, indices in zip(self.engines, scores, self.indices, strict=True):
                with engine.context():
                    labels = part.score_spans(*spans)
                aligned = labels.amin(1, keepdim=True).repeat(1, self.sizes[COLUMN])
                aligned[:, indices[COLUMN]] = labels
                total = total + aligned
            assert isinstance(total, Tensor)
            return total / len(scores)

        columns = self.mean_columns([part.columns for part in scores])
        return SpanScores(score_spans, columns, scores[0].device)
