"""Analyses as rows of a table: the scores of each bin, their intervals and their differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal, get_args

import numpy as np

from depkit.corpus.io import PathLike
from depkit.files.errors import ArgumentError
from depkit.score.analysis import COUNTS, Analysis, precision_recall_f1
from depkit.score.evaluators import Trees, find_evaluator
from depkit.score.request import Request, as_tuple
from depkit.score.significance import (
    DEFAULT_SEED,
    RESAMPLES,
    TRIALS,
    bootstrap_interval,
    holm,
    p_values,
)

AnalysisTest = Literal["ar", "bootstrap"]


@dataclass(frozen=True)
class Options:
    """What `rows` computes in addition to the scores of each bin.

    confidence: bootstrap intervals of F1, with this number of `resamples`; test: "ar" or
    "bootstrap", of each later system against the first, with this number of `trials`;
    error_reduction: the relative error reduction compared with the first system.
    """

    confidence: bool = False
    test: str | None = None
    error_reduction: bool = False
    seed: int = DEFAULT_SEED
    resamples: int = RESAMPLES
    trials: int = TRIALS


def analyze(
    gold: Trees,
    *preds: Trees,
    by: str | Sequence[str] = (),
    bins: str | Sequence[str | None] = (),
    metric: str | None = None,
    punct: str = "keep",
    subtypes: str = "keep",
    train: PathLike | None = None,
    confidence: bool = False,
    test: str | None = None,
    seed: int = DEFAULT_SEED,
    encoding: str = "utf-8",
    evalb: str | None = None,
    predicted: bool = False,
) -> list[dict[str, Any]]:
    """Compute the scores of one or several systems in bins, as `depkit analyze` does.

    >>> import depkit
    >>> gold = depkit.Sentence.from_words(["Stop", "it"], head=[0, 1], deprel=["root", "obj"])
    >>> for row in depkit.analyze(gold, gold.with_tree([0, 1], ["root", "nsubj"]), by="deprel"):
    ...     print(row["bin"], row["gold"], row["predicted"], row["f1"])
    obj 1 0 0.0
    root 1 1 100.0
    nsubj 0 1 0.0

    Of files of bracketed trees, the constituents are sorted into bins.

    Args:
        gold: A path or sentences.
        preds: For each system, a path or sentences.
        by: A grouping ("distance", "deprel", "length" ...), or several, whose bins are crossed. By
            default "distance", for bracketed trees "label".
        bins: For each grouping by a number its bins, for example "1,2,3-6,7-".
        metric: One of `analysis.METRICS`, for example "UAS"; by default "LAS". For the grouping
            "enhancement" it is "ELAS" or "EULAS", for bracketed trees always "LF1".
        punct: The punctuation policy, as for `evaluate`.
        subtypes: "keep", or "drop" to cut relations at their first `:`.
        train: The training treebank, which the groupings "oov" and "frequency" need.
        confidence: Whether to add bootstrap intervals of F1.
        test: A test of each later system against the first, "ar" or "bootstrap"; None for none.
        seed: The seed of intervals and tests.
        encoding: The encoding of the files.
        evalb: For bracketed trees, the parameters of EVALB: a name or a parameter file.
        predicted: As for `evaluate`.

    Returns:
        A dict for each bin and system, from which `pandas.DataFrame` makes a table.

    Raises:
        ArgumentError: An argument has a wrong value, or no effect on what the files contain.
        FormatError: As `evaluate`; or a column that a grouping or the metric reads has nothing but
            `_`, or the training treebank has no sentences.
        ValueError: There is no system.
        OSError: A file cannot be read.
    """
    if not preds:
        raise ValueError("analyze needs the trees of at least one system, after the gold trees")
    if test is not None and test not in get_args(AnalysisTest):
        message = f"there is no test '{test}'; choose from {', '.join(get_args(AnalysisTest))}"
        raise ArgumentError("test", message)
    if test is not None and len(preds) < 2:
        raise ArgumentError("test", "it compares systems, so give two or more")
    evaluator = find_evaluator(
        [gold, *preds], punct=punct, subtypes=subtypes, predicted=predicted, evalb=evalb,
        encoding=encoding,
    )  # fmt: skip
    request = Request(
        by=as_tuple(by), bins=as_tuple(bins) or None, metric=metric, confidence=confidence,
        test=test, seed=seed, train=train,
    )  # fmt: skip
    plan = request.resolve(evaluator)
    request.check(plan, len(preds))
    (view,) = plan.views
    data = evaluator.read(gold, preds, columns=plan.columns, train=train)
    table = rows(evaluator.analyze(data, view), Options(confidence, test, seed=seed))
    for row, number in zip(table, cycle(range(1, len(preds) + 1)), strict=False):
        row["system"] = row["system"] or f"system {number}"
    return table


def rows(analysis: Analysis, options: Options) -> list[dict[str, Any]]:
    """Return a dict for every non-empty bin and every system, bin by bin.

    Scores and differences are in percent, None where they are undefined. The p values are adjusted
    by Holm's method over all tests of the table. The relative error reduction of a system is
    (F1 - F1 of the first system) / (100 - F1 of the first system), in percent.
    """
    by = " × ".join(analysis.view.by)
    names = analysis.systems
    scores = precision_recall_f1(analysis.totals)  # [system, bin, 3]
    gains = scores[:, :, 2] - scores[0, :, 2]  # [system, bin]
    p = _test_bins(analysis, options) if options.test else {}
    p = {key: value for key, value in p.items() if not np.isnan(gains[key])}
    adjusted = dict(zip(p, holm(list(p.values())), strict=True))
    intervals = [
        bootstrap(analysis, system, options.resamples, options.seed)[:, :, 2]
        for system in range(len(names) if options.confidence else 0)
    ]
    table = []
    for column, b in enumerate(analysis.bins):
        for i, name in enumerate(names):
            row: dict[str, Any] = {"system": name, "by": by, "metric": analysis.view.metric}
            row["bin"] = analysis.labels[b]
            row |= _counts_and_scores(analysis.totals[i, b], scores[i, b])
            if options.confidence:
                interval = map(_none_if_nan, intervals[i][:, column])
                row |= zip(("f1_low", "f1_high"), interval, strict=True)
            if options.error_reduction:
                row["error_reduction"] = _error_reduction(scores[:, b, 2], i)
            if options.test:
                row["difference"] = _none_if_nan(gains[i, b]) if i else None
                row |= {"p": p.get((i, b)), "p_adjusted": adjusted.get((i, b))}
            table.append(row)
    return table


def total_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return for every system the micro-averaged scores over all bins.

    The list is empty if words are in several bins, as with the grouping "feats".
    """
    if not analysis.is_single_valued:
        return []
    totals = analysis.totals.sum(axis=1)  # [system, count]
    scores = precision_recall_f1(totals)
    return [
        {"system": system, "bin": "all", **_counts_and_scores(totals[i], scores[i])}
        | {"error_reduction": _error_reduction(scores[:, 2], i)}
        for i, system in enumerate(analysis.systems)
    ]


def _error_reduction(scores: np.ndarray, system: int) -> float | None:
    """Return the percentage of the first system's errors that a system avoids.

    scores: [system] in percent. Returns None for the first system, without errors, and for NaN.
    """
    baseline = scores[0]
    if not system or baseline >= 100:
        return None
    return _none_if_nan(100 * (scores[system] - baseline) / (100 - baseline))


def _counts_and_scores(counts: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    """Name the counts of a bin, [count], and its precision, recall and F1, [3]."""
    names = (*COUNTS, "precision", "recall", "f1")
    return dict(zip(names, (*counts.tolist(), *map(_none_if_nan, scores)), strict=True))


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def bootstrap(
    analysis: Analysis, system: int, resamples: int = RESAMPLES, seed: int = DEFAULT_SEED
) -> np.ndarray:
    """Compute 95% bootstrap intervals of precision, recall and F1 in every non-empty bin.

    Returns [2, bin, 3], lower and upper ends in percent; NaN where the score is undefined.
    """

    def statistic(totals: np.ndarray) -> np.ndarray:
        scores = precision_recall_f1(totals.reshape(*totals.shape[:-1], -1, len(COUNTS)))
        return scores.reshape(*totals.shape[:-1], -1)

    if not analysis.bins:
        return np.empty((2, 0, 3))
    parts = [
        bootstrap_interval(
            analysis.count_by_sentence(system, bins), statistic, trials=resamples, seed=seed
        )
        for bins in _split_bins(analysis)
    ]
    undefined = np.isnan(precision_recall_f1(analysis.totals[system, analysis.bins]))
    return np.where(undefined, np.nan, np.concatenate(parts, axis=1).reshape(2, -1, 3))


def _test_bins(analysis: Analysis, options: Options) -> dict[tuple[int, int], float]:
    """Test the difference in F1 from the first system: p for each (system, bin)."""

    def statistic(totals: np.ndarray) -> np.ndarray:
        scores = precision_recall_f1(totals.reshape(*totals.shape[:-1], -1, len(COUNTS)))
        return np.nan_to_num(scores[..., 2])

    p: dict[tuple[int, int], float] = {}
    for bins in _split_bins(analysis):
        baseline = analysis.count_by_sentence(0, bins)
        for system in range(1, len(analysis.systems)):
            values = p_values(
                baseline, analysis.count_by_sentence(system, bins), statistic,
                options.test or "ar", trials=options.trials, seed=options.seed,
            )  # fmt: skip
            p |= {(system, b): float(value) for b, value in zip(bins, values, strict=True)}
    return p


def _split_bins(analysis: Analysis) -> list[list[int]]:
    """Split the non-empty bins into parts; each part's counts by sentence take about 50 MB."""
    size = max(1, 1_500_000 // analysis.num_sentences)
    return [analysis.bins[i : i + size] for i in range(0, len(analysis.bins), size)]
