"""The scores of a constituency parser as arrays on the host, see `network.SpanScores`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from depkit.parsers.columns.arrays import ColumnArrays, column_arrays
from depkit.parsers.engine.onnx_engine import ArrayNetwork, Graphs


@dataclass(frozen=True)
class ArraySpanScores:
    """The scores of a batch; the method is that of `constituency.network.SpanScores`."""

    graphs: Graphs
    fenceposts: np.ndarray  # [batch, length, hidden]
    columns: ColumnArrays

    def best_labels(
        self, spans: np.ndarray, is_root: np.ndarray, gold: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the best labels of spans; see `decoding.BestLabels`. `gold` must be None."""
        assert gold is None  # only in training
        row, start, end = spans
        arrays = {"fenceposts": self.fenceposts, "row": row, "start": start, "end": end}
        scores = self.graphs.run("labels", arrays)["labels"]
        label = scores.argmax(1)
        best = np.take_along_axis(scores, label[:, None], 1)[:, 0]
        is_empty = (best <= 0) & ~is_root.astype(bool)
        return np.where(is_empty, np.float32(0), best), np.where(is_empty, 0, label + 1)


class ConstituencyArrays(ArrayNetwork):
    """The graphs of a constituency parser."""

    def score(self, batch: Any) -> ArraySpanScores:
        """Score a batch; the labels of spans are scored when they are asked for."""
        results = self.run(batch)
        return ArraySpanScores(self.graphs, results["fenceposts"], column_arrays(results))
