"""The scores of a system: counts of every sentence that add up, and the metrics of their sums."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from depkit.score.table import html_table, percent, short_names, text_table
from depkit.version import __version__


class Metric(NamedTuple):
    """The names of three counts: what is right, of how many in the gold and by the system."""

    correct: str
    gold: str
    predicted: str


def percentages(
    totals: np.ndarray, metrics: Mapping[str, Metric], columns: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """The F1 of every metric of summed counts, in percent; the plain share where gold = predicted.

    totals: [..., count], its columns by name; the result's arrays are [...], so that a thousand
    resampled sums are scored at once. Nothing of nothing is 0, as in the CoNLL 2018 evaluation.
    """
    of = {name: totals[..., i] for i, name in enumerate(columns)}
    scores = {}
    for name, metric in metrics.items():
        whole = of[metric.gold] + of[metric.predicted]
        scores[name] = 200.0 * of[metric.correct] / np.maximum(whole, 1)
    return scores


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How one system did, sentence by sentence.

    system: its name; counts: [sentence, count] int64, names of the columns in `columns`;
    metrics: which of them make a metric; choices: what stands in the signature; undefined: the
    metrics whose annotation is missing in the gold or in the system's file; right: for the
    metrics of words, [word] bool; relations: the words of each, gold, predicted and with the
    right head and relation. Metrics are in percent, not rounded.
    """

    system: str
    counts: np.ndarray
    columns: tuple[str, ...]
    metrics: Mapping[str, Metric]
    choices: tuple[tuple[str, str], ...] = ()
    undefined: frozenset[str] = frozenset()
    right: Mapping[str, np.ndarray] = field(default_factory=dict)
    relations: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)

    @cached_property
    def totals(self) -> dict[str, int]:
        """The sum of each count over all sentences, by name."""
        return dict(zip(self.columns, self.counts.sum(axis=0).tolist(), strict=True))

    @cached_property
    def scores(self) -> dict[str, float]:
        """Every metric that is defined by name, in percent: F1 where gold and system differ."""
        found = percentages(self.counts.sum(axis=0), self.metrics, self.columns)
        return {name: float(x) for name, x in found.items() if name not in self.undefined}

    def relation_scores(self) -> dict[str, dict[str, float | None]]:
        """Precision, recall and F1 of each relation with its head, and the counts behind them.

        In percent; None where there is nothing to divide by.
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
        """The precision and recall behind a metric, in percent."""
        metric = self.metrics[name]
        correct = self.totals[metric.correct]
        wholes = self.totals[metric.predicted], self.totals[metric.gold]
        precision, recall = (100.0 * correct / max(whole, 1) for whole in wholes)
        return precision, recall

    @property
    def aligned(self) -> bool:
        """Whether tokens, too, were compared: the metrics are those of CoNLL 2018."""
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
        """Unlabelled attachment score: the share of words with the right head."""
        return self.scores["UAS"]

    @property
    def LAS(self) -> float:
        """Labelled attachment score: the share of words with the right head and relation."""
        return self.scores["LAS"]

    @property
    def LA(self) -> float:
        """Label accuracy: the share of words with the right relation, whatever the head."""
        return self.scores["LA"]

    @property
    def UEM(self) -> float:
        """Unlabelled exact match: the share of sentences whose every head is right."""
        return self.scores["UEM"]

    @property
    def LEM(self) -> float:
        """Labelled exact match: the share of sentences whose heads and relations are right."""
        return self.scores["LEM"]

    @property
    def signature(self) -> str:
        """The choices behind the numbers in one line; see `signature`."""
        sizes = [(name, str(self.totals[name])) for name in ("sentences", "words", "scored")]
        return signature((*self.choices, *sizes))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows: every metric that is defined, precision and recall where they differ."""
        (name,) = short_names([self.system])
        scores = [percent(score) for score in self.scores.values()]
        if not self.aligned:
            return ["system", *self.scores], [[name, *scores]]
        precisions, recalls = zip(*map(self.precision_recall, self.scores), strict=True)
        rows = [["precision", *map(percent, precisions)], ["recall", *map(percent, recalls)]]
        return [name, *self.scores], [*rows, ["F1", *scores]]

    def __repr__(self) -> str:
        return text_table(*self._table(), note=self.signature)

    def _repr_html_(self) -> str:
        """The scores as a table, which notebooks show."""
        return html_table(*self._table(), note=self.signature)

    def as_dict(self) -> dict[str, Any]:
        """What `depkit eval --json` prints; None for a metric that is not defined."""
        sizes = {name: self.totals[name] for name in ("sentences", "words", "scored")}
        scores: dict[str, Any] = {name: self.scores.get(name) for name in self.metrics}
        if self.aligned:
            for name, f1 in self.scores.items():
                precision, recall = self.precision_recall(name)
                scores[name] = {"precision": precision, "recall": recall, "f1": f1}
        return {"system": self.system, "signature": self.signature, **sizes, **scores}


def signature(choices: Iterable[tuple[str, str]]) -> str:
    """Choices as `key:value` joined by `|`, depkit's version first.

    A `|` or `%` in a value, a list of tags say, is percent-encoded.
    """
    escaped = (f"{key}:{x.replace('%', '%25').replace('|', '%7C')}" for key, x in choices)
    return "|".join([f"depkit:{__version__}", *escaped])
