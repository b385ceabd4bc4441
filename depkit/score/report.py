"""Analyses as rows of a table: the scores of each bin, how sure they are, what differs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from depkit.corpus.files import PathLike
from depkit.corpus.sentence import Sentence
from depkit.score.analysis import COUNTS, Analysis, View, precision_recall_f1, read_data
from depkit.score.analysis import analyze as grouped
from depkit.score.groupings import GROUPINGS
from depkit.score.significance import (
    DEFAULT_SEED,
    RESAMPLES,
    TRIALS,
    holm,
    interval_of,
    p_values,
)


@dataclass(frozen=True)
class Options:
    """What stands beside the scores of each bin.

    confidence: the bootstrap interval of F1; test: "ar" or "bootstrap", each later system
    against the first; error_reduction: how much of the first system's error is gone.
    """

    confidence: bool = False
    test: str | None = None
    error_reduction: bool = False
    seed: int = DEFAULT_SEED
    resamples: int = RESAMPLES
    trials: int = TRIALS


def analyze(
    gold: PathLike | Sentence | Iterable[Sentence],
    *preds: PathLike | Sentence | Iterable[Sentence],
    by: str | Sequence[str] = "distance",
    bins: str | Sequence[str | None] = (),
    metric: str = "LAS",
    punct: str = "keep",
    subtypes: str = "keep",
    train: PathLike | None = None,
    confidence: bool = False,
    test: str | None = None,
    seed: int = DEFAULT_SEED,
    encoding: str = "utf-8",
) -> list[dict[str, Any]]:
    """The scores of one or several systems in bins, as `depkit analyze` counts them.

    gold, preds: paths or sentences. by: a grouping ("distance", "deprel", "length" ...), or several
    to be crossed; bins: for each grouping by a number its bins, for example "1,2,3-6,7-"; train:
    the training treebank, which the groupings "oov" and "frequency" need; confidence, test: see
    `Options`; the rest is as for `evaluate`. Returns a dict for each bin and system, from which
    `pandas.DataFrame` makes a table.
    Raises FormatError as `evaluate`; ValueError for choices that do not exist; OSError.
    """
    if not preds:
        raise ValueError("give at least one system's trees to compare with the gold ones")
    by = (by,) if isinstance(by, str) else tuple(by)
    view = View(by, (bins,) if isinstance(bins, str) else tuple(bins), metric)
    view.check()
    columns = {column for name in view.by for column in GROUPINGS[name].columns}
    data = read_data(gold, preds, columns, punct, subtypes, encoding, train)
    found = rows(grouped(data, view), Options(confidence, test, seed=seed))
    for row, number in zip(found, cycle(range(1, len(preds) + 1)), strict=False):
        row["system"] = row["system"] or f"system {number}"
    return found


def rows(analysis: Analysis, options: Options) -> list[dict[str, Any]]:
    """A row for every bin that is not empty and every system, bin by bin; None is undefined.

    Scores and differences are in percent; p values are adjusted by Holm's method over all the
    tests of the table. Relative error reduction is of F1: the share of the way from the first
    system's to 100 that a system has gone.
    """
    by = " × ".join(analysis.view.by)
    names = [system.name for system in analysis.data.words.systems]
    scores = precision_recall_f1(analysis.totals)  # [system, bin, 3]
    gains = scores[:, :, 2] - scores[0, :, 2]  # [system, bin]
    p = _tested(analysis, options) if options.test else {}
    p = {key: value for key, value in p.items() if not np.isnan(gains[key])}
    adjusted = dict(zip(p, holm(list(p.values())), strict=True))
    bands = [
        bootstrap(analysis, system, options.resamples, options.seed)[:, :, 2]
        for system in range(len(names) if options.confidence else 0)
    ]
    found = []
    for place, b in enumerate(analysis.bins):
        for i, name in enumerate(names):
            row: dict[str, Any] = {"system": name, "by": by, "metric": analysis.view.metric}
            row["bin"] = analysis.labels[b]
            row |= _counts_and_scores(analysis.totals[i, b], scores[i, b])
            if options.confidence:
                row |= zip(("f1_low", "f1_high"), map(_defined, bands[i][:, place]), strict=True)
            baseline, gain = scores[0, b, 2], gains[i, b]
            if options.error_reduction:
                reduction = 100 * gain / (100 - baseline) if i and baseline < 100 else np.nan
                row["error_reduction"] = _defined(reduction)
            if options.test:
                row["difference"] = _defined(gain) if i else None
                row |= {"p": p.get((i, b)), "p_adjusted": adjusted.get((i, b))}
            found.append(row)
    return found


def total_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """For every system a row of all bins together, micro-averaged.

    None where words are in several bins.
    """
    if len(analysis.gold.word) > analysis.data.words.size:
        return []
    totals = analysis.totals.sum(axis=1)  # [system, count]
    return [
        {"system": system.name, "bin": "all", **_counts_and_scores(counts, scores)}
        for system, counts, scores in zip(
            analysis.data.words.systems, totals, precision_recall_f1(totals), strict=True
        )
    ]


def _counts_and_scores(counts: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """counts: [count] as in COUNTS; scores: [3] precision, recall and F1."""
    names = (*COUNTS, "precision", "recall", "f1")
    return dict(zip(names, (*counts.tolist(), *map(_defined, scores)), strict=True))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def bootstrap(
    analysis: Analysis, system: int, resamples: int = RESAMPLES, seed: int = DEFAULT_SEED
) -> np.ndarray:
    """[2, bin, 3]: low and high ends of 95% intervals of precision, recall and F1.

    For every bin that is not empty, in order; in percent. NaN where the score itself is.
    """

    def statistic(totals: np.ndarray) -> np.ndarray:
        found = precision_recall_f1(totals.reshape(*totals.shape[:-1], -1, len(COUNTS)))
        return found.reshape(*totals.shape[:-1], -1)

    parts = [
        interval_of(analysis.by_sentence(system, part), statistic, resamples, seed)
        for part in _portions(analysis)
    ]
    undefined = np.isnan(precision_recall_f1(analysis.totals[system, analysis.bins]))
    return np.where(undefined, np.nan, np.concatenate(parts, axis=1).reshape(2, -1, 3))


def _tested(analysis: Analysis, options: Options) -> dict[tuple[int, int], float]:
    """p of the difference in F1 from the first system, by system and bin."""

    def statistic(totals: np.ndarray) -> np.ndarray:
        found = precision_recall_f1(totals.reshape(*totals.shape[:-1], -1, len(COUNTS)))
        return np.nan_to_num(found[..., 2])

    p: dict[tuple[int, int], float] = {}
    for part in _portions(analysis):
        baseline = analysis.by_sentence(0, part)
        for system in range(1, len(analysis.predicted)):
            tested = p_values(
                baseline, analysis.by_sentence(system, part), statistic,
                options.test or "ar", options.trials, options.seed,
            )  # fmt: skip
            p |= {(system, b): float(value) for b, value in zip(part, tested, strict=True)}
    return p


def _portions(analysis: Analysis) -> list[list[int]]:
    """The bins in portions whose counts of all sentences fit into some 50 MB."""
    size = max(1, 1_500_000 // len(analysis.data.words.lengths))
    return [analysis.bins[i : i + size] for i in range(0, len(analysis.bins), size)]
