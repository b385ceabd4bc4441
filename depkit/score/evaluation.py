"""The scores of a system: counts for every sentence, and the metrics computed from their sums."""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from depkit.files.errors import ArgumentError
from depkit.score.table import format_percent, html_table, short_names, text_table
from depkit.version import __version__


class Metric(NamedTuple):
    """The names of three counts: correct items, gold items and predicted items.

    scale: 100 for a percentage, 1 for an average; hidden_if_perfect: whether tables show the metric
    only if a system is not perfect in it.
    """

    correct: str
    gold: str
    predicted: str
    scale: float = 100.0
    lower_is_better: bool = False
    hidden_if_perfect: bool = False


def find_metric(name: str, metrics: Iterable[str]) -> str:
    """Return the usual spelling of a metric's name. Raises ArgumentError if there is none."""
    for metric in metrics:
        if metric.lower() == name.lower():
            return metric
    message = f"there is no metric '{name}'; choose from {', '.join(metrics)}"
    raise ArgumentError("metric", message)


def f1_scores(
    totals: np.ndarray, metrics: Mapping[str, Metric], columns: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Compute the F1 of every metric: [..., count], summed counts -> [...] for each metric.

    F1 is the accuracy if there are as many gold items as predicted items. It is 0 where there are
    neither, as in the CoNLL 2018 evaluation. columns: the names of the counts.
    """
    counts = {name: totals[..., i] for i, name in enumerate(columns)}
    scores = {}
    for name, metric in metrics.items():
        items = counts[metric.gold] + counts[metric.predicted]
        scores[name] = 2 * metric.scale * counts[metric.correct] / np.maximum(items, 1)
    return scores


def _score(name: str, description: str) -> Any:
    def score(evaluation: "Evaluation") -> float:
        try:
            return evaluation.score(name)
        except ValueError as error:
            raise AttributeError(str(error)) from None

    return property(score, doc=description)


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
        undefined: The metrics that cannot be computed for these files, and why.
        correct: For each metric of single words, [word] bool, whether the system is correct. The
            words are the scored ones if the metric leaves out punctuation, otherwise all.
        relations: For each relation, the number of scored words that have it in the gold file, that
            have it in the prediction, and that have it in both with the correct head.
        sizes: The names of the counts that tell how much was scored.
        warnings: What may be wrong with the file of the system.
        shows_precision: Whether precision and recall of each metric are told as well.
        intervals: Both ends of the 95% bootstrap interval of each metric, if it was asked for.
        differences: For each metric, the `significance.Difference` from a baseline (difference, p),
            if a test was asked for.
    """

    system: str
    counts: np.ndarray
    columns: tuple[str, ...]
    metrics: Mapping[str, Metric]
    _: KW_ONLY
    choices: tuple[tuple[str, str], ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)
    correct: Mapping[str, np.ndarray] = field(default_factory=dict)
    relations: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    sizes: tuple[str, ...] = ("sentences", "words", "scored")
    warnings: tuple[str, ...] = ()
    shows_precision: bool = False
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    differences: Mapping[str, Any] = field(default_factory=dict)

    UAS = _score("UAS", "Unlabelled attachment score: the share of words with the correct head.")
    LAS = _score("LAS", "Labelled attachment score: the share with the correct head and relation.")
    LA = _score("LA", "Label accuracy: the share of words with the correct relation.")
    UEM = _score("UEM", "Unlabelled exact match: the share of sentences with all heads correct.")
    LEM = _score("LEM", "Labelled exact match: the share with all heads and relations correct.")

    @cached_property
    def totals(self) -> dict[str, int]:
        """The sum of each count over all sentences, by name."""
        return dict(zip(self.columns, self.counts.sum(axis=0).tolist(), strict=True))

    @cached_property
    def scores(self) -> dict[str, float]:
        """Every metric that is defined, by name, in percent; see `f1_scores`."""
        scores = f1_scores(self.counts.sum(axis=0), self.metrics, self.columns)
        return {name: float(x) for name, x in scores.items() if name not in self.undefined}

    def score(self, name: str) -> float:
        """Return one of `metrics`, in percent; upper and lower case are the same.

        Raises ArgumentError if there is no such metric, and ValueError if it is not defined for
        these files.
        """
        name = find_metric(name, self.metrics)
        if name in self.scores:
            return self.scores[name]
        raise ValueError(f"{self.system}: {name} is not defined: {self.undefined[name]}")

    def relation_scores(self) -> dict[str, dict[str, float | None]]:
        """Return precision, recall and F1 of each relation in percent, and the counts behind them.

        A score is None where its denominator is 0.
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
        """Return the precision and recall behind a metric, in percent; errors as of `score`."""
        metric = self.metrics[find_metric(name, self.metrics)]
        correct = self.totals[metric.correct]
        denominators = self.totals[metric.predicted], self.totals[metric.gold]
        precision, recall = (100.0 * correct / max(items, 1) for items in denominators)
        return precision, recall

    def describe_counts(self) -> str:
        """Return the counts of correct and all items, as the scripts of the shared tasks do."""
        parts = []
        for name in self.scores:
            correct, gold, predicted = (self.totals[key] for key in self.metrics[name][:3])
            total = f"{gold:,}" if gold == predicted else f"{gold:,} gold, {predicted:,} predicted"
            parts.append(f"{name} {correct:,} / {total}")
        return f"{self.system}: {', '.join(parts)}"

    @property
    def sentences(self) -> int:
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
    def signature(self) -> str:
        """The settings behind the scores in one line; see `format_signature`."""
        sizes = [(name, str(self.totals[name])) for name in self.sizes]
        return format_signature((*self.choices, *sizes))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        (name,) = short_names([self.system])
        scores = [format_percent(score) for score in self.scores.values()]
        if not self.shows_precision:
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
        """Return what `depkit eval` prints as JSON, with None for a metric that is not defined.

        `confidence` and `test` are there if `intervals` and `differences` were computed.
        """
        sizes = {name: self.totals[name] for name in self.sizes}
        scores: dict[str, Any] = {name: self.scores.get(name) for name in self.metrics}
        if self.shows_precision:
            for name, f1 in self.scores.items():
                precision, recall = self.precision_recall(name)
                scores[name] = {"precision": precision, "recall": recall, "f1": f1}
        if self.intervals:
            scores["confidence"] = {
                name: {"low": low, "high": high} for name, (low, high) in self.intervals.items()
            }
        if self.differences:
            scores["test"] = {
                name: {"difference": x.difference, "p": x.p, "p_adjusted": x.adjusted}
                for name, x in self.differences.items()
            }
        return {"system": self.system, "signature": self.signature, **sizes, **scores}


def format_signature(choices: Iterable[tuple[str, str]]) -> str:
    """Join choices as `key:value` with `|`, after the version of depkit.

    A `|` or `%` in a value, for example in a list of tags, is percent-encoded.
    """
    escaped = (f"{key}:{x.replace('%', '%25').replace('|', '%7C')}" for key, x in choices)
    return "|".join([f"depkit:{__version__}", *escaped])
