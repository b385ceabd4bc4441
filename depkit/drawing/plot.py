"""Pictures for `depkit analyze --plot`: curves or bars over bins, and reliability diagrams.

Drawn by matplotlib, an optional extra, without a display and without pyplot's global state.
"""

import io
import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.files import open_output
from depkit.score.analysis import Analysis
from depkit.score.calibration import Calibration
from depkit.score.panels import Diagram, Panel, diagram_of, panel_of
from depkit.score.significance import DEFAULT_SEED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# By suffix, the metadata: without today's date, so that the same input gives the same bytes.
FORMATS: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".png": {},
    ".pdf": {"CreationDate": None},
}
APART = ("root", "other")  # bins of numbers that are no numbers
NOTE = "95% intervals: bootstrap over sentences; "

WIDTH, LINE = 7.5, 66  # of a panel: inches, and the characters that fit
STYLE: dict[Any, Any] = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "depkit",
    "text.parse_math": False,  # a tag may be `$`
}
# Of each system; they differ in lightness as well, for those who see or print no colours.
LOOKS: list[tuple[str, Any, str, str]] = [  # colour, line, marker, hatch
    ("#111111", "-", "o", ""),
    ("#e57a10", (0, (5, 1.5)), "s", "///"),
    ("#1b3f86", (0, (1, 1)), "^", "..."),
    ("#14806a", "-.", "D", "\\\\\\"),
    ("#8c1d40", (0, (8, 2, 1, 2, 1, 2)), "v", "xxx"),
    ("#a97fc8", (0, (3, 3)), "P", "---"),
]


def plot(
    analyses: Sequence[Analysis | Calibration],
    path: str,
    measure: str | None = None,
    seed: int = DEFAULT_SEED,
) -> None:
    """Draw every analysis into one file, with 95% bootstrap intervals; the same input, same bytes.

    A grouping of numbers becomes curves, of recall if no measure is chosen (the share of each
    bin's gold words that are right, as in Figure 4 of Li et al. 2019), over the sizes of the
    bins. Another grouping becomes bars: of F1, or, for several systems, of the differences from
    the first. A calibration becomes a reliability diagram (Guo et al. 2017, Figure 1): accuracy
    over mean confidence, beside the diagonal where they are equal. path: ends in .svg, .png or
    .pdf; written beside and renamed. measure: of MEASURES.
    Raises ValueError for another suffix or measure and where there is no matplotlib; OSError.
    """
    suffix = picture_format(path)
    import matplotlib

    panels = [
        diagram_of(each, seed) if isinstance(each, Calibration) else panel_of(each, measure, seed)
        for each in analyses
    ]
    choices = (*analyses[0].data.choices, ("seed", str(seed)))
    note = NOTE + ", ".join(f"{name}: {choice}" for name, choice in choices)
    picture = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = _figure(panels, note)
        figure.savefig(picture, format=suffix[1:], dpi=200, metadata=FORMATS[suffix])
    with open_output(path) as stream:
        stream.buffer.write(picture.getvalue())


def picture_format(path: str) -> str:
    """The suffix of a path that can be drawn to; ValueError if it, or matplotlib, is not there."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS:
        raise ValueError(f"--plot draws {', '.join(FORMATS)}, not {suffix or 'no suffix'}: {path}")
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("drawing needs matplotlib: pip install 'depkit[plot]'") from None
    return suffix


def _figure(panels: Sequence[Panel], note: str) -> "Figure":
    """All panels below each other, or in two columns if they are many."""
    from matplotlib.figure import Figure

    columns = 1 if len(panels) <= 3 else 2
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights = [max(map(_height, row)) for row in rows]
    figure = Figure(figsize=(WIDTH * columns, sum(heights) + 0.8), layout="constrained")
    grid = figure.subfigures(len(rows), columns, squeeze=False, height_ratios=heights)
    for panel, part in zip(panels, grid.flat, strict=False):
        if isinstance(panel, Diagram):
            _draw_reliability(panel, part)
        else:
            (_draw_curves if panel.curves else _draw_bars)(panel, part)
    _legend(figure, panels)
    figure.supxlabel(
        textwrap.fill(note, 72 * columns), x=0.99, ha="right", fontsize=11, color="#444444"
    )
    return figure


def _height(panel: Panel) -> float:
    """In inches."""
    return 5.0 if panel.curves else 1.2 + len(panel.bins) * (0.14 + 0.14 * len(panel.values))


def _legend(figure: "Figure", panels: Sequence[Panel]) -> None:
    """What stands for each system, unless the texts say it; above the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    curves = any(panel.curves for panel in panels)
    names = panels[0].names
    drawn = range(len(names)) if curves else panels[0].drawn
    if len(drawn) == 1 and not curves:
        return
    handles: list[Any] = [Patch(**_filled(i, 0.25)) for i in drawn]
    if curves:
        handles = [(handles[i], Line2D([], [], **_line(i))) for i in drawn]
    fitting = sum(len(names[i]) + 9 for i in drawn) <= LINE + 9
    figure.legend(
        handles, [names[i] for i in drawn], loc="outside upper center",
        ncols=len(drawn) if fitting else 1, frameon=False, handlelength=3.5, handleheight=1.2,
    )  # fmt: skip


def _draw_curves(panel: Panel, figure: "SubFigure") -> None:
    """The curves, and below them the sizes of the bins; bins that are no numbers stand apart."""
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
    apart = np.isin(panel.bins, APART)
    x = np.cumsum(np.where(apart | np.roll(apart, 1), max(1.5, len(apart) / 20), 1.0))
    lone = apart | (np.count_nonzero(~apart) == 1)  # one point is no curve
    for row, i in enumerate(panel.drawn):
        values, low, high = panel.values[row], panel.low[row], panel.high[row]
        line = _line(i) | ({"markersize": 5} if len(x) > 20 else {})
        upper.fill_between(x[~lone], low[~lone], high[~lone], **_filled(i, 0.15))
        upper.plot(x[~lone], values[~lone], **line)
        beside = x[lone] + 0.16 * (row - (len(panel.values) - 1) / 2)
        upper.vlines(beside, low[lone], high[lone], colors=line["color"])
        upper.plot(beside, values[lone], **line | {"linestyle": ""})
    bottom, top = _limits(panel)
    upper.set_ylim(bottom, top)
    upper.set_yticks([t for t in upper.get_yticks() if max(bottom, 0) <= t <= min(top, 100)])
    upper.set_ylabel(panel.axis)
    upper.grid(axis="y", color="#dddddd")
    _draw_sizes(panel, lower, x)
    figure.align_ylabels()


def _limits(panel: Panel) -> tuple[float, float]:
    """The ends of the axis of values: all points, but no endless bands of rare bins."""
    common = panel.sizes >= 0.01 * panel.sizes.sum()
    seen = np.hstack([panel.values, panel.low[:, common], panel.high[:, common]])
    bottom, top = float(np.nanmin(seen)), float(np.nanmax(seen))
    margin = max(0.05 * (top - bottom), 0.5)
    return bottom - margin, top + margin


def _draw_sizes(panel: Panel, axes: "Axes", x: np.ndarray) -> None:
    """The gold words of each bin, and the names of the bins below, of many bins only some."""
    bars = axes.bar(x, panel.sizes, width=0.7, color="#bbbbbb")
    if len(x) <= 13:
        axes.bar_label(bars, [f"{size:,}" for size in panel.sizes], fontsize=11)
        axes.margins(y=0.3)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        axes.set_ylabel("gold words")
    else:
        _count_on_log_scale(axes)
    axes.set_xlabel(textwrap.fill(panel.by, LINE))
    every = -(-len(x) // 20)
    axes.set_xticks(x[::every], panel.bins[::every])
    if sum(len(name) + 1 for name in panel.bins[::every]) > LINE:
        axes.tick_params(axis="x", rotation=90)


def _count_on_log_scale(axes: "Axes") -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("words, log")


def _draw_reliability(panel: Diagram, figure: "SubFigure") -> None:
    """Accuracy over confidence and the diagonal; below, on a log scale, the words of each bin."""
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
    upper.plot([0, 100], [0, 100], color="#888888", linewidth=1.2)
    ends = np.linspace(0, 100, len(panel.bins) + 1)
    width = 0.8 * ends[1] / len(panel.names)
    for i in panel.drawn:
        x, line = panel.confidence[i], _line(i)
        upper.vlines(x, panel.low[i], panel.high[i], colors=line["color"], linewidth=1.4)
        some = panel.sizes[i] > 0
        upper.plot(x[some], panel.values[i][some], **line)
        place = (ends[:-1] + ends[1:]) / 2 + width * (i - (len(panel.names) - 1) / 2)
        lower.bar(place, panel.sizes[i], width, **_filled(i, 0.35))
    upper.set_ylim(-3, 103)
    upper.set_ylabel(panel.axis)
    upper.grid(axis="y", color="#dddddd")
    _count_on_log_scale(lower)
    lower.set_xlabel(panel.by)
    lower.set_xlim(-1, 101)
    shown = ends[:: -(-len(panel.bins) // 20)]
    lower.set_xticks(shown, [f"{end:.3g}" for end in shown])
    figure.align_ylabels()


def _draw_bars(panel: Panel, figure: "SubFigure") -> None:
    """Bars from the highest to the lowest, those of the same bin side by side."""
    axes = figure.subplots()
    axes.use_sticky_edges = panel.drawn.start == 0  # differences have room on both sides of 0
    y = np.arange(len(panel.bins))
    height = 0.76 / len(panel.values)
    for row, i in enumerate(panel.drawn):
        place = y + height * (row - (len(panel.values) - 1) / 2)
        axes.barh(place, panel.values[row], height, **_filled(i, 0.35))
        axes.hlines(place, panel.low[row], panel.high[row], colors="black", linewidth=1.4)
    axes.axvline(0, color="black", linewidth=1)
    names = [f"{name} ({size:,})" for name, size in zip(panel.bins, panel.sizes, strict=True)]
    axes.set_yticks(y, names)
    axes.set_ylim(len(y) - 0.4, -0.6)  # the first on top
    axes.grid(axis="x", color="#dddddd")
    figure.suptitle(textwrap.fill(panel.by, LINE), fontsize=12)
    figure.supxlabel(textwrap.fill(panel.axis, LINE), fontsize=12)


def _line(system: int) -> dict[str, Any]:
    """How a system's curve looks; every other one has hollow markers."""
    colour, line, marker, _ = LOOKS[system % len(LOOKS)]
    return {
        "color": colour, "linestyle": line, "linewidth": 2.2, "marker": marker, "markersize": 7.5,
        "markeredgewidth": 2, "markerfacecolor": "white" if system % 2 else colour,
    }  # fmt: skip


def _filled(system: int, strength: float) -> dict[str, Any]:
    """How a system's bars and bands look."""
    colour, _, _, hatch = LOOKS[system % len(LOOKS)]
    return {"facecolor": (colour, strength), "edgecolor": (colour, 0.7), "hatch": hatch}
