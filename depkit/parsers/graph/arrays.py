"""The scores of a biaffine parser as arrays on the host, see `graph.network.Scores`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from depkit.parsers.columns.arrays import ColumnArrays, column_arrays, log_softmax
from depkit.parsers.columns.mean_arrays import MeanArrays, log_mean
from depkit.parsers.engine.onnx_engine import ArrayNetwork
from depkit.parsers.graph.config import Calibration
from depkit.trees.best_heads import best_heads

# rows, dependents, heads, [arcs] each -> [arcs, label]
ScoreArcs = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ArrayGraphScores:
    """The scores of enhanced dependencies; the methods are those of `graph.network.GraphScores`."""

    arc: np.ndarray  # [batch, dependent, head] logits, -inf where no arc is possible
    score_arcs: ScoreArcs

    def fetch_arcs(self) -> np.ndarray:
        """Return the logits of all arcs."""
        return self.arc

    def fetch_labels(
        self, rows: np.ndarray, dependents: np.ndarray, heads: np.ndarray
    ) -> np.ndarray:
        """Find the best labels of some arcs, [arcs]."""
        return self.score_arcs(rows, dependents, heads).argmax(-1)


@dataclass(frozen=True)
class ArrayScores:
    """The scores of a batch; the methods are those of `graph.network.Scores`."""

    arc: np.ndarray  # [batch, dependent, head], -inf where no arc is possible
    score_labels: Callable[[np.ndarray], np.ndarray]  # heads -> [batch, length, label]
    columns: ColumnArrays  # the other predicted columns
    score_arcs: ScoreArcs
    graph: ArrayGraphScores | None = None  # of enhanced dependencies, if they are predicted

    def fetch_arcs(self) -> np.ndarray:
        """Return the scores of all arcs."""
        return self.arc

    def fetch_labels(
        self, rows: np.ndarray, dependents: np.ndarray, heads: np.ndarray
    ) -> np.ndarray:
        """Score the labels of some arcs."""
        return self.score_arcs(rows, dependents, heads)

    def fetch_columns(self, unknown: np.ndarray | None) -> dict[str, np.ndarray]:
        """Find the best values of all columns."""
        return self.columns.best(unknown)

    def best_heads(
        self, num_words: np.ndarray, algorithm: str, single_root: bool
    ) -> dict[str, np.ndarray]:
        """Find the best head of each word, and which sentences need not be decoded."""
        heads, are_decoded = best_heads(self.arc, num_words + 1, algorithm, single_root)
        # The probabilities are read only of sentences that are not decoded yet.
        return {
            "heads": heads,
            "are_decoded": are_decoded,
            "log_probabilities": (
                self.arc if are_decoded.all() else log_softmax(self.arc, is_padded=True)
            ),
        }

    def label_scores(self, heads: np.ndarray, root_label: int | None) -> np.ndarray:
        """Score the labels of arcs, [batch, length, label]; -inf at impossible ones."""
        scores = self.score_labels(heads)
        if root_label is None:
            return scores
        is_root_label = np.arange(scores.shape[-1]) == root_label
        return np.where((heads == 0)[..., None] != is_root_label, np.float32("-inf"), scores)

    def annotate(
        self,
        heads: np.ndarray,
        *,
        root_label: int | None,
        unknown: np.ndarray | None,
        probabilities: str,
        temperatures: Calibration,
    ) -> dict[str, np.ndarray]:
        """Label the arcs of decoded trees, and find the best values of all columns."""
        heads = heads.clip(min=0)
        label_scores = self.label_scores(heads, root_label)
        labels = label_scores.argmax(-1)
        results = self.columns.best(unknown) | {"deprel": labels}
        if probabilities:
            results["label_probability"] = _probabilities(label_scores, labels, temperatures.label)
        if probabilities == "local":
            results["arc_probability"] = _probabilities(
                self.arc, heads, temperatures.arc, is_padded=True
            )
        if probabilities == "marginal":
            results["arc"] = self.arc
        return results


def _probabilities(
    scores: np.ndarray, indices: np.ndarray, temperature: float, *, is_padded: bool = False
) -> np.ndarray:
    """Compute the probabilities of chosen heads or labels, softmax(scores / temperature).

    is_padded: as for `log_softmax`.
    """
    with np.errstate(invalid="ignore"):  # If all scores of a row are -inf, it is NaN.
        logarithms = log_softmax(scores / np.float32(temperature), is_padded=is_padded)
    result: np.ndarray = np.exp(np.take_along_axis(logarithms, indices[..., None], -1)[..., 0])
    return result


class BiaffineArrays(ArrayNetwork):
    """The graphs of a biaffine parser."""

    def score(self, batch: Any) -> ArrayScores:
        """Score a batch; labels are scored when heads have been decoded."""
        results = self.run(batch)
        score_arcs = self._label_scorer("labels", results)

        def score_labels(heads: np.ndarray) -> np.ndarray:
            # without w0
            rows, dependents = np.nonzero(np.ones_like(heads[:, 1:], dtype=bool))
            labels = score_arcs(rows, dependents + 1, heads[:, 1:].ravel())
            scores = np.zeros((*heads.shape, labels.shape[-1]), dtype=np.float32)
            scores[:, 1:] = labels.reshape(len(heads), -1, labels.shape[-1])
            return scores

        graph = None
        if "deps.arc" in results:
            graph = ArrayGraphScores(
                results["deps.arc"], self._label_scorer("deps", results, "deps.")
            )
        columns = column_arrays(results)
        return ArrayScores(results["arc"], score_labels, columns, score_arcs, graph)

    def _label_scorer(
        self, graph: str, results: dict[str, np.ndarray], prefix: str = ""
    ) -> ScoreArcs:
        """Return a function that scores the labels of arcs of a batch with a graph.

        prefix: the beginning of the names of the vectors of words in `results`.
        """

        def score_arcs(rows: np.ndarray, dependents: np.ndarray, heads: np.ndarray) -> np.ndarray:
            arrays = {
                "dependents": results[f"{prefix}dependents"][rows, dependents],
                "heads": results[f"{prefix}heads"][rows, heads],
            }
            return self.graphs.run(graph, arrays)["labels"]

        return score_arcs


class BiaffineMeanArrays(MeanArrays):
    """The graphs of an ensemble of biaffine parsers, see `graph.network.BiaffineMean`."""

    def score(self, batch: Sequence[Any]) -> ArrayScores:
        """Compute the logarithms of the mean probabilities of arcs, labels and columns."""
        scores: list[ArrayScores] = self.scores_of(batch)

        def score_labels(heads: np.ndarray) -> np.ndarray:
            return self.mean_column("deprel", [part.score_labels(heads) for part in scores])

        def score_arcs(rows: np.ndarray, dependents: np.ndarray, heads: np.ndarray) -> np.ndarray:
            labels = [part.score_arcs(rows, dependents, heads) for part in scores]
            return self.mean_column("deprel", labels)

        arc = log_mean([part.arc for part in scores], self.mean, is_padded=True)
        columns = self.mean_columns([part.columns for part in scores])
        return ArrayScores(arc, score_labels, columns, score_arcs)
