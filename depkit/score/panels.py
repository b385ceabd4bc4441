"""What pictures of analyses show, as data: curves over bins of numbers, bars for other bins."""

from dataclasses import dataclass

import numpy as np

from depkit.score.analysis import Analysis, precision_recall_f1
from depkit.score.calibration import Calibration, accuracy_band, reliability
from depkit.score.groupings import GROUPINGS
from depkit.score.report import bootstrap
from depkit.score.significance import DEFAULT_SEED, interval_of
from depkit.score.table import clipped, short_names

MEASURES = ("precision", "recall", "f1")  # in the order of `precision_recall_f1`
MOST_BARS = 25
LONGEST = 36  # characters of a bin's name


@dataclass(frozen=True, eq=False)
class Panel:
    """What is drawn of an analysis, as data.

    curves: curves over the bins in order, else bars from the highest to the lowest; axis, by:
    what the values and the bins are; bins, sizes: the bins' names and gold words; names: of all
    systems; values, low, high: [system, bin], points and their intervals, of all systems or, as
    differences from the first, of all others.
    """

    curves: bool
    axis: str
    by: str
    bins: list[str]
    sizes: np.ndarray
    names: list[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def drawn(self) -> range:
        """The systems whose values are drawn."""
        return range(len(self.names) - len(self.values), len(self.names))


@dataclass(frozen=True, eq=False)
class Diagram(Panel):
    """A reliability diagram: accuracies as values, over confidences; sizes: [system, bin].

    confidence: [system, bin] mean, in percent; NaN, as the values, where a system has no words.
    """

    confidence: np.ndarray


def diagram_of(calibration: Calibration, seed: int = DEFAULT_SEED) -> Diagram:
    """What is drawn of a calibration."""
    totals = calibration.totals
    scores = reliability(totals)
    bands = [accuracy_band(calibration, i, seed=seed)[:, :-1] for i in range(len(totals))]
    low, high = np.stack(bands, axis=1)
    return Diagram(
        curves=True,
        axis=f"{calibration.metric}, %",
        by="confidence, %",
        bins=calibration.labels,
        sizes=totals[:, :, 0].astype(np.int64),
        names=short_names(calibration.names),
        values=scores[:, :, 1],
        low=low,
        high=high,
        confidence=scores[:, :, 0],
    )


def panel_of(analysis: Analysis, measure: str | None = None, seed: int = DEFAULT_SEED) -> Panel:
    """What is drawn of an analysis. Raises ValueError for a measure that does not exist."""
    by = analysis.view.by
    curves = len(by) == 1 and GROUPINGS[by[0]].values is not None
    measure = measure or ("recall" if curves else "f1")
    if measure not in MEASURES:
        raise ValueError(f"no measure '{measure}' to plot; there are {', '.join(MEASURES)}")
    of = _curves if curves else _bars
    bins, values, low, high = of(analysis, MEASURES.index(measure), seed)
    names = short_names([system.name for system in analysis.data.words.systems])
    metric = "same bin" if analysis.view.metric == "bin" else analysis.view.metric
    # All measures are the same where the gold words alone decide.
    score = f"{metric} {measure.replace('f1', 'F1')}" if analysis.arcs else metric
    sizes = analysis.totals[0, :, 0]
    if curves:
        whose = {"recall": "gold ", "precision": "predicted ", "f1": ""}[measure]
        about = f"{whose if analysis.arcs else ''}{by[0]} ({GROUPINGS[by[0]].about})"
        axis = f"{score}, %"
    else:
        about = f"{' × '.join(by)} (gold words)"
        if left_out := np.count_nonzero(sizes) - len(bins):
            about += f": the {len(bins)} largest, {left_out} left out"
        other = names[1] if len(names) == 2 else "system"
        axis = f"difference in {score}, points: {other} − {names[0]}"
        axis = axis if len(names) > 1 else f"{score} of {names[0]}, %"
    labels = [clipped(analysis.labels[b], LONGEST) for b in bins]
    return Panel(curves, axis, about, labels, sizes[bins], names, values, low, high)


Values = tuple[list[int], np.ndarray, np.ndarray, np.ndarray]  # bins; values, low, high


def _curves(analysis: Analysis, measure: int, seed: int) -> Values:
    """Every bin in which some system has a value, in order, but not the words without a head."""
    values = precision_recall_f1(analysis.totals[:, analysis.bins])[:, :, measure]
    systems = range(len(values))
    bands = [bootstrap(analysis, i, seed=seed)[:, :, measure] for i in systems]
    low, high = np.stack(bands, axis=1)
    named = np.array([analysis.labels[b] != "none" for b in analysis.bins])
    some = np.flatnonzero(~np.isnan(values).all(axis=0) & named)
    return [analysis.bins[i] for i in some], values[:, some], low[:, some], high[:, some]


def _bars(analysis: Analysis, measure: int, seed: int) -> Values:
    """The bins with most gold words, sorted by their values in the first system that is drawn."""
    sizes = analysis.totals[0, :, 0]
    bins = sorted(np.flatnonzero(sizes).tolist(), key=lambda b: -sizes[b])[:MOST_BARS]
    systems = len(analysis.totals)

    def shown(counts: np.ndarray) -> np.ndarray:
        """[..., system, bin, count] -> [..., drawn system, bin]."""
        scores = precision_recall_f1(counts)[..., measure]
        return scores if systems == 1 else scores[..., 1:, :] - scores[..., :1, :]

    def statistic(totals: np.ndarray) -> np.ndarray:
        split = totals.reshape(*totals.shape[:-1], systems, len(bins), -1)
        return shown(split).reshape(*totals.shape[:-1], -1)

    values = shown(analysis.totals[:, bins])
    counts = np.hstack([analysis.by_sentence(i, bins) for i in range(systems)])
    bands = interval_of(counts, statistic, seed=seed).reshape(2, *values.shape)
    low, high = np.where(np.isnan(values), np.nan, bands)
    order = np.argsort(-values[0], kind="stable")
    return [bins[i] for i in order], values[:, order], low[:, order], high[:, order]
