"""The scores of a constituency parser as arrays on the host, see `network.SpanScores`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from depkit.parsers.columns.arrays import ColumnArrays, column_arrays
from depkit.parsers.columns.mean_arrays import MeanArrays
from depkit.parsers.constituency.examples import COLUMN
from depkit.parsers.engine.onnx_engine import ArrayNetwork


@dataclass(frozen=True)
class ArraySpanScores:
    """The scores of a batch; the method is that of `constituency.network.SpanScores`."""

    # rows, starts and ends of spans, [spans] each -> [spans, label], without the empty label
    score_spans: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    columns: ColumnArrays

    def best_labels(
        self, spans: np.ndarray, is_root: np.ndarray, gold: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the best labels of spans; see `decoding.BestLabels`. `gold` must be None."""
        assert gold is None  # only in training
        scores = self.score_spans(*spans)
        label = scores.argmax(1)
        best = np.take_along_axis(scores, label[:, None], 1)[:, 0]
        is_empty = (best <= 0) & ~is_root.astype(bool)
        return np.where(is_empty, np.float32(0), best), np.where(is_empty, 0, label + 1)


class ConstituencyArrays(ArrayNetwork):
    """The graphs of a constituency parser."""

    def score(self, batch: Any) -> ArraySpanScores:
        """Score a batch; the labels of spans are scored when they are asked for."""
        results = self.run(batch)

        def score_spans(row: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
            arrays = {"fenceposts": results["fenceposts"], "row": row, "start": start, "end": end}
            return self.graphs.run("labels", arrays)["labels"]

        return ArraySpanScores(score_spans, column_arrays(results))


class ConstituencyMeanArrays(MeanArrays):
    """The graphs of an ensemble of constituency parsers, see `network.ConstituencyMean`."""

    def score(self, batch: Sequence[Any]) -> ArraySpanScores:
        """Compute the mean scores of spans, and the logarithms of mean probabilities of columns."""
        scores: list[ArraySpanScores] = self.scores_of(batch)

        def score_spans(*spans: np.ndarray) -> np.ndarray:
            aligned = [
                _align_labels(part.score_spans(*spans), indices[COLUMN], self.sizes[COLUMN])
                for part, indices in zip(scores, self.indices, strict=True)
            ]
            return np.stack(aligned).mean(0, dtype=np.float32)

        return ArraySpanScores(score_spans, self.mean_columns([part.columns for part in scores]))


def _align_labels(scores: np.ndarray, indices: np.ndarray, size: int) -> np.ndarray:
    """Arrange scores over the labels of a parser, [spans, label], as scores over all labels.

    A label that the parser does not know has the lowest score of the span.
    """
    aligned = np.repeat(scores.min(1, keepdims=True), size, axis=1)
    aligned[:, indices] = scores
    return aligned
