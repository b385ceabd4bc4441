"""The scores of a system: counts for every sentence, and the metrics computed from their sums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from depkit.score.table import format_percent, html_table, short_names, text_table
from depkit.version import __version__


class Metric(NamedTuple):
    """The names of three counts: correct items, gold items and predicted items.

    scale: 100 for a percentage, 1 for an average.
    """

    correct: str
    gold: str
    predicted: str
    scale: float = 100.0


def f1_scores(
    totals: np.ndarray, metrics: Mapping[str, Metric], columns: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Compute the F1 of every metric, in percent or as the metric's scale says.

    F1 is the accuracy if there are as many gold items as predicted items.

    Args:
        totals: [..., count], summed counts, for example of several resamples.
        metrics: The metrics by name.
        columns: The names of the counts.

    Returns:
        For each metric an array [...]. The F1 is 0 where neither the gold file nor the system has
        items, as in the CoNLL 2018 evaluation.
    """
    counts = {name: totals[..., i] for i, name in enumerate(columns)}
    scores = {}
    for name, metric in metrics.items():
        items = counts[metric.gold] + counts[metric.predicted]
        scores[name] = 2 * metric.scale * counts[metric.correct] / np.maximum(items, 1)
    return scores


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The scores of one system, and the counts of each sentence behind them.

    Metrics are in percent and not rounded.

    Attributes:
        system: The name of the system.
        counts: [sentence, count] int64.
        columns: The names of the counts.
        metrics: The metrics by name.
        choices: The settings to name in the signature.
        undefined: The names of the metrics that cannot be computed for these files.
        correct: For each metric of single words, [word] bool, whether the system is correct. The
            words are the scored ones if the metric leaves out punctuation, otherwise all.
        relations: For each relation, the number of scored words that have it in the gold file, that
            have it in the prediction, and that have it in both with the correct head.
        sizes: The names of the counts that tell how much was scored.
        warnings: What may be wrong with the file of the system, see `systems.System.warnings`.
    """

    system: str
    counts: np.ndarray
    columns: tuple[str, ...]
    metrics: Mapping[str, Metric]
    choices: tuple[tuple[str, str], ...] = ()
    undefined: frozenset[str] = frozenset()
    correct: Mapping[str, np.ndarray] = field(default_factory=dict)
    relations: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    sizes: tuple[str, ...] = ("sentences", "words", "scored")
    warnings: tuple[str, ...] = ()

    @cached_property
    def totals(self) -> dict[str, int]:
        """The sum of each count over all sentences, by name."""
        return dict(zip(self.columns, self.counts.sum(axis=0).tolist(), strict=True))

    @cached_property
    def scores(self) -> dict[str, float]:
        """Every metric that is defined, by name, in percent; see `f1_scores`."""
        scores = f1_scores(self.counts.sum(axis=0), self.metrics, self.columns)
        return {name: float(x) for name, x in scores.items() if name not in self.undefined}

    def relation_scores(self) -> dict[str, dict[str, float | None]]:
        """Return precision, recall and F1 of each relation in percent, and the counts behind them.

        A word is correct if its head and its relation are correct. A score is None where its
        denominator is 0.
        """
        return {
            name: {
                "gold": gold,
                "predicted": predicted,
                "correct": correct,
                "precision": 100.0 * correct / predicted if predicted else None,
                "recall": 100.0 * correct / gold if gold else None,
                "f1": 200.0 * correct / (gold + predicted),
            }
            for name, (gold, predicted, correct) in self.relations.items()
        }

    def precision_recall(self, name: str) -> tuple[float, float]:
        """Return the precision and recall behind a metric, in percent."""
        metric = self.metrics[name]
        correct = self.totals[metric.correct]
        denominators = self.totals[metric.predicted], self.totals[metric.gold]
        precision, recall = (100.0 * correct / max(items, 1) for items in denominators)
        return precision, recall

    @property
    def aligned(self) -> bool:
        """Whether the metrics are those of the CoNLL 2018 evaluation, which also scores tokens."""
        return "Tokens" in self.metrics

    @property
    def sentences(self) -> int:
        """The number of gold sentences."""
        return self.totals["sentences"]

    @property
    def words(self) -> int:
        """The number of gold words, punctuation included."""
        return self.totals["words"]

    @property
    def scored(self) -> int:
        """The number of gold words that count."""
        return self.totals["scored"]

    @property
    def UAS(self) -> float:
        """Unlabelled attachment score: the share of words with the correct head."""
        return self.scores["UAS"]

    @property
    def LAS(self) -> float:
        """Labelled attachment score: the share of words with the correct head and relation."""
        return self.scores["LAS"]

    @property
    def LA(self) -> float:
        """Label accuracy: the share of words with the correct relation, whatever the head."""
        return self.scores["LA"]

    @property
    def UEM(self) -> float:
        """Unlabelled exact match: the share of sentences with all heads correct."""
        return self.scores["UEM"]

    @property
    def LEM(self) -> float:
        """Labelled exact match: the share of sentences with all heads and relations correct."""
        return self.scores["LEM"]

    @property
    def signature(self) -> str:
        """The settings behind the scores in one line; see `format_signature`."""
        sizes = [(name, str(self.totals[name])) for name in self.sizes]
        return format_signature((*self.choices, *sizes))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows; aligned texts have precision and recall as well."""
        (name,) = short_names([self.system])
        scores = [format_percent(score) for score in self.scores.values()]
        if not self.aligned:
            return ["system", *self.scores], [[name, *scores]]
        precisions, recalls = zip(*map(self.precision_recall, self.scores), strict=True)
        rows = [
            ["precision", *map(format_percent, precisions)],
            ["recall", *map(format_percent, recalls)],
        ]
        return [name, *self.scores], [*rows, ["F1", *scores]]

    def __repr__(self) -> str:
        return text_table(*self._table(), note=self.signature)

    def _repr_html_(self) -> str:
        """Return the scores as an HTML table, which notebooks show."""
        return html_table(*self._table(), note=self.signature)

    def as_dict(self) -> dict[str, Any]:
        """Return what `depkit eval --json` prints, with None for a metric that is not defined."""
        sizes = {name: self.totals[name] for name in self.sizes}
        scores: dict[str, Any] = {name: self.scores.get(name) for name in self.metrics}
        if self.aligned:
            for name, f1 in self.scores.items():
                precision, recall = self.precision_recall(name)
                scores[name] = {"precision": precision, "recall": recall, "f1": f1}
        return {"system": self.system, "signature": self.signature, **sizes, **scores}


def format_signature(choices: Iterable[tuple[str, str]]) -> str:
    """Join choices as `key:value` with `|`, after the version of depkit.

    A `|` or `%` in a value, for example in a list of tags, is percent-encoded.
    """
    escaped = (f"{key}:{x.replace('%', '%25').replace('|', '%7C')}" for key, x in choices)
    return "|".join([f"depkit:{__version__}", *escaped])
