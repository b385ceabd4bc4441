"""The contents of plots as data: curves for groupings by a number, bars for other groupings."""

from dataclasses import dataclass, field

import numpy as np

from depkit.score.analysis import Analysis, precision_recall_f1
from depkit.score.calibration import Reliability, accuracy_intervals, reliability_scores
from depkit.score.report import bootstrap
from depkit.score.significance import DEFAULT_SEED, bootstrap_interval
from depkit.score.table import short_names, shorten

MEASURES = ("precision", "recall", "f1")  # in the order of `precision_recall_f1`
MAX_BARS = 25
MAX_BIN_NAME_LENGTH = 36


@dataclass(frozen=True, eq=False)
class Panel:
    """The contents of the plot of one analysis.

    curves: whether to draw curves over the bins, otherwise bars from the highest to the lowest;
    sizes: [bin], the number of gold words; names: the names of all systems; values, low, high:
    [drawn system, bin], points and the ends of their intervals. The drawn systems are all systems
    or, for differences from the first system, all others.
    """

    curves: bool
    value_label: str
    bin_label: str
    bins: list[str]
    sizes: np.ndarray
    names: list[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    choices: tuple[tuple[str, str], ...] = ()  # the settings behind the numbers
    unit: str = "words"  # what the sizes count

    @property
    def drawn_systems(self) -> range:
        """The indices of the systems whose values are drawn."""
        return range(len(self.names) - len(self.values), len(self.names))


@dataclass(frozen=True, eq=False)
class Diagram(Panel):
    """The contents of a reliability diagram: accuracy over confidence.

    The values are accuracies. sizes: [system, bin]; confidence: [system, bin], means in percent.
    Values and confidences are NaN where a system has no words.
    """

    confidence: np.ndarray = field(kw_only=True)


def make_diagram(reliability: Reliability, seed: int = DEFAULT_SEED) -> Diagram:
    """Return the contents of a reliability diagram."""
    totals = reliability.totals
    scores = reliability_scores(totals)
    intervals = [accuracy_intervals(reliability, i, seed=seed)[:, :-1] for i in range(len(totals))]
    low, high = np.stack(intervals, axis=1)
    return Diagram(
        curves=True,
        value_label=f"{reliability.metric}, %",
        bin_label="confidence, %",
        bins=reliability.labels,
        sizes=totals[:, :, 0].astype(np.int64),
        names=short_names(reliability.names),
        values=scores[:, :, 1],
        low=low,
        high=high,
        confidence=scores[:, :, 0],
    )


def make_panel(analysis: Analysis, measure: str | None = None, seed: int = DEFAULT_SEED) -> Panel:
    """Return the contents of the plot of an analysis.

    measure: one of MEASURES; None for recall in curves and F1 in bars. Raises ValueError for
    another measure, and if no bin has contents, as in trees without a scored constituent.
    """
    by = analysis.view.by
    groupings = analysis.view.groupings
    curves = len(by) == 1 and groupings[by[0]].compute_values is not None
    measure = measure or ("recall" if curves else "f1")
    if measure not in MEASURES:
        raise ValueError(
            f"there is no measure '{measure}' to plot; there are {', '.join(MEASURES)}"
        )
    if not analysis.bins:
        raise ValueError(f"there is nothing to plot: the files have no scored {analysis.items}")
    compute = _compute_curves if curves else _compute_bars
    bins, values, low, high = compute(analysis, MEASURES.index(measure), seed)
    names = short_names(analysis.systems)
    metric = "same bin" if analysis.view.metric == "bin" else analysis.view.metric
    # If the gold words determine the bins of all systems, all measures are equal.
    score = f"{metric} {measure.replace('f1', 'F1')}" if analysis.groups_arcs else metric
    sizes = analysis.totals[0, :, 0]
    if curves:
        tree = {"recall": "gold ", "precision": "predicted ", "f1": ""}[measure]
        bin_label = (
            f"{tree if analysis.groups_arcs else ''}{by[0]} ({groupings[by[0]].description})"
        )
        value_label = f"{score}, %"
    else:
        bin_label = f"{' × '.join(by)} (gold {analysis.items})"
        if left_out := np.count_nonzero(sizes) - len(bins):
            bin_label += f": the {len(bins)} largest, {left_out} left out"
        minuend = names[1] if len(names) == 2 else "system"
        value_label = f"difference in {score}, points: {minuend} − {names[0]}"
        value_label = value_label if len(names) > 1 else f"{score} of {names[0]}, %"
    bin_names = [shorten(analysis.labels[b], MAX_BIN_NAME_LENGTH) for b in bins]
    return Panel(curves, value_label, bin_label, bin_names, sizes[bins], names, values, low, high)


Values = tuple[list[int], np.ndarray, np.ndarray, np.ndarray]  # bins; values, low, high


def _compute_curves(analysis: Analysis, measure: int, seed: int) -> Values:
    """Return all bins with a value for any system, in order, except the bin `none`."""
    values = precision_recall_f1(analysis.totals[:, analysis.bins])[:, :, measure]
    systems = range(len(values))
    intervals = [bootstrap(analysis, i, seed=seed)[:, :, measure] for i in systems]
    low, high = np.stack(intervals, axis=1)
    has_head = np.array([analysis.labels[b] != "none" for b in analysis.bins])
    selected = np.flatnonzero(~np.isnan(values).all(axis=0) & has_head)
    bins = [analysis.bins[i] for i in selected]
    return bins, values[:, selected], low[:, selected], high[:, selected]


def _compute_bars(analysis: Analysis, measure: int, seed: int) -> Values:
    """Return the bins with most gold words, sorted by the values of the first drawn system."""
    sizes = analysis.totals[0, :, 0]
    bins = sorted(np.flatnonzero(sizes).tolist(), key=lambda b: -sizes[b])[:MAX_BARS]
    systems = len(analysis.totals)

    def compute_values(counts: np.ndarray) -> np.ndarray:
        """[..., system, bin, count] -> [..., drawn system, bin]."""
        scores = precision_recall_f1(counts)[..., measure]
        return scores if systems == 1 else scores[..., 1:, :] - scores[..., :1, :]

    def statistic(totals: np.ndarray) -> np.ndarray:
        counts = totals.reshape(*totals.shape[:-1], systems, len(bins), -1)
        return compute_values(counts).reshape(*totals.shape[:-1], -1)

    values = compute_values(analysis.totals[:, bins])
    sentence_counts = np.hstack([analysis.count_by_sentence(i, bins) for i in range(systems)])
    intervals = bootstrap_interval(sentence_counts, statistic, seed=seed).reshape(2, *values.shape)
    low, high = np.where(np.isnan(values), np.nan, intervals)
    order = np.argsort(-values[0], kind="stable")
    return [bins[i] for i in order], values[:, order], low[:, order], high[:, order]
