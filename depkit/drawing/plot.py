"""Charts of analyses: curves or bars over bins, reliability diagrams, heat maps of confusions.

They are drawn by matplotlib, an optional dependency, without a display and without the global
state of pyplot.
"""

import io
import os
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.files.errors import ArgumentError
from depkit.files.isolation import hide_local_files
from depkit.files.streams import open_output
from depkit.score.analysis import Analysis
from depkit.score.calibration import Reliability
from depkit.score.mistakes import Confusion
from depkit.score.panels import Diagram, Panel, make_diagram, make_panel
from depkit.score.significance import DEFAULT_SEED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# The metadata of each file format. There is no date in it, so the same input gives the same bytes.
FORMATS: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None},
    ".png": {},
    ".pdf": {"CreationDate": None},
}
NON_NUMERIC_BINS = ("root", "other")  # the other bins of a numeric grouping are numbers
NOTE = "95% intervals: bootstrap over sentences; "

PANEL_WIDTH = 7.5  # in inches
MAX_LINE_LENGTH = 66  # characters that fit into the width of a panel
STYLE: dict[Any, Any] = {
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "depkit",
    "text.parse_math": False,  # $ may be a tag
}
# Colour, line style, marker and hatch of each system. The colours differ in lightness, for readers
# who cannot see colours and for prints without colours.
SYSTEM_STYLES: list[tuple[str, Any, str, str]] = [
    ("#111111", "-", "o", ""),
    ("#e57a10", (0, (5, 1.5)), "s", "///"),
    ("#1b3f86", (0, (1, 1)), "^", "..."),
    ("#14806a", "-.", "D", "\\\\\\"),
    ("#8c1d40", (0, (8, 2, 1, 2, 1, 2)), "v", "xxx"),
    ("#a97fc8", (0, (3, 3)), "P", "---"),
]


def plot(
    analyses: Sequence[Analysis | Reliability | Confusion | Panel],
    path: str,
    measure: str | None = None,
    seed: int = DEFAULT_SEED,
) -> None:
    """Draw all analyses into one file, a panel each, with 95% bootstrap intervals.

    A numeric grouping becomes a panel of curves above the sizes of the bins, by default of recall
    (the share of each bin's gold words that are correct, as in Figure 4 of Li et al. 2019). Any
    other grouping becomes bars of F1 or, if there are several systems, of the differences from the
    first system. Statistics of confidences become a reliability diagram (Guo et al. 2017, Figure
    1): accuracy over mean confidence, with the diagonal on which they are equal. Confusions become
    a heat map. Panels are drawn as they are. The same input always gives the same bytes. The file
    is replaced only when the chart is complete.

    path: ends in .svg, .png or .pdf; measure: one of MEASURES, by default recall for curves and F1
    for bars; seed: of the bootstrap.

    Raises ValueError for another suffix or measure, or if matplotlib is not installed, and OSError
    if the file cannot be written.
    """
    suffix = check_plot_path(path)
    panels: list[Panel | Confusion] = []
    for analysis in analyses:
        if isinstance(analysis, Confusion | Panel):
            panels.append(analysis)
        elif isinstance(analysis, Reliability):
            panels.append(make_diagram(analysis, seed))
        else:
            panels.append(make_panel(analysis, measure, seed))
    choices = _choices(analyses[0])
    note = ""
    if any(isinstance(analysis, Analysis | Reliability) for analysis in analyses):
        choices, note = (*choices, ("seed", str(seed))), NOTE
    note += ", ".join(f"{name}: {choice}" for name, choice in choices)
    image = make_image(lambda: _draw_figure(panels, note), suffix)
    with open_output(path) as stream:
        stream.buffer.write(image)


def make_image(draw: Callable[[], "Figure"], suffix: str) -> bytes:
    """Call a function that draws a figure, with the style of all charts, and return its bytes.

    suffix: one of FORMATS.
    """
    matplotlib = import_matplotlib()
    image = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        draw().savefig(image, format=suffix[1:], dpi=200, metadata=FORMATS[suffix])
    return image.getvalue()


def _choices(analysis: Analysis | Reliability | Confusion | Panel) -> tuple[tuple[str, str], ...]:
    return analysis.data.choices if isinstance(analysis, Reliability) else analysis.choices


def check_plot_path(path: str) -> str:
    """Return the suffix; raise ArgumentError if it is unknown or matplotlib is missing."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS:
        message = f"`plot` draws {', '.join(FORMATS)}, not {suffix or 'no suffix'}: {path}"
        raise ArgumentError("plot", message)
    import_matplotlib()
    return suffix


def import_matplotlib() -> Any:
    """Return the module matplotlib; raise ArgumentError if it is not installed.

    Versions before 3.11 evaluate expressions of a file matplotlibrc.
    """
    try:
        with hide_local_files():
            import matplotlib
    except ModuleNotFoundError:
        message = "drawing needs matplotlib: pip install 'depkit-parser[plot]'"
        raise ArgumentError("plot", message) from None
    return matplotlib


def _draw_figure(panels: Sequence[Panel | Confusion], note: str) -> "Figure":
    """Draw panels one below the other, or in two columns if there are more than three."""
    from matplotlib.figure import Figure

    columns = 1 if len(panels) <= 3 else 2
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights = [max(map(_height, row)) for row in rows]
    figure = Figure(figsize=(PANEL_WIDTH * columns, sum(heights) + 0.8), layout="constrained")
    grid = figure.subfigures(len(rows), columns, squeeze=False, height_ratios=heights)
    for panel, subfigure in zip(panels, grid.flat, strict=False):
        if isinstance(panel, Confusion):
            _draw_heat_map(panel, subfigure)
        elif isinstance(panel, Diagram):
            _draw_reliability(panel, subfigure)
        else:
            (_draw_curves if panel.curves else _draw_bars)(panel, subfigure)
    if with_legend := [panel for panel in panels if isinstance(panel, Panel)]:
        _draw_legend(figure, with_legend)
    figure.supxlabel(
        textwrap.fill(note, 72 * columns), x=0.99, ha="right", fontsize=11, color="#444444"
    )
    return figure


def _height(panel: Panel | Confusion) -> float:
    """Return the height of a panel in inches."""
    if isinstance(panel, Confusion):
        return 2.4 + 0.34 * len(panel.names)
    return 5.0 if panel.curves else 1.2 + len(panel.bins) * (0.14 + 0.14 * len(panel.values))


def _draw_legend(figure: "Figure", panels: Sequence[Panel]) -> None:
    """Draw a legend of the systems above the panels, unless the axes name the only system."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    curves = any(panel.curves for panel in panels)
    names = panels[0].names
    system_indices = range(len(names)) if curves else panels[0].drawn_systems
    if len(system_indices) == 1 and not curves:
        return
    handles: list[Any] = [Patch(**_fill_style(i, 0.25)) for i in system_indices]
    if curves:
        handles = [(handles[i], Line2D([], [], **line_style(i))) for i in system_indices]
    fits_in_row = sum(len(names[i]) + 9 for i in system_indices) <= MAX_LINE_LENGTH + 9
    figure.legend(
        handles, [names[i] for i in system_indices], loc="outside upper center",
        ncols=len(system_indices) if fits_in_row else 1, frameon=False, handlelength=3.5,
        handleheight=1.2,
    )  # fmt: skip


def _draw_curves(panel: Panel, figure: "SubFigure") -> None:
    """Draw curves and, below them, the sizes of the bins; non-numeric bins are set apart."""
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
    non_numeric = np.isin(panel.bins, NON_NUMERIC_BINS)
    x = np.cumsum(
        np.where(non_numeric | np.roll(non_numeric, 1), max(1.5, len(non_numeric) / 20), 1.0)
    )
    # A single numeric bin makes no curve.
    isolated = non_numeric | (np.count_nonzero(~non_numeric) == 1)
    for row, i in enumerate(panel.drawn_systems):
        values, low, high = panel.values[row], panel.low[row], panel.high[row]
        line = line_style(i) | ({"markersize": 5} if len(x) > 20 else {})
        upper.fill_between(x[~isolated], low[~isolated], high[~isolated], **_fill_style(i, 0.15))
        upper.plot(x[~isolated], values[~isolated], **line)
        x_isolated = x[isolated] + 0.16 * (row - (len(panel.values) - 1) / 2)
        upper.vlines(x_isolated, low[isolated], high[isolated], colors=line["color"])
        upper.plot(x_isolated, values[isolated], **line | {"linestyle": ""})
    bottom, top = _limits(panel)
    upper.set_ylim(bottom, top)
    upper.set_yticks([t for t in upper.get_yticks() if max(bottom, 0) <= t <= min(top, 100)])
    upper.set_ylabel(panel.value_label)
    upper.grid(axis="y", color="#dddddd")
    _draw_sizes(panel, lower, x)
    figure.align_ylabels()


def _limits(panel: Panel) -> tuple[float, float]:
    """Return the limits of the axis of values: all points, and the intervals of frequent bins."""
    common = panel.sizes >= 0.01 * panel.sizes.sum()
    visible = np.hstack([panel.values, panel.low[:, common], panel.high[:, common]])
    bottom, top = float(np.nanmin(visible)), float(np.nanmax(visible))
    margin = max(0.05 * (top - bottom), 0.5)
    return bottom - margin, top + margin


def _draw_sizes(panel: Panel, axes: "Axes", x: np.ndarray) -> None:
    """Draw the size of each bin, and the names of at most 20 bins."""
    bars = axes.bar(x, panel.sizes, width=0.7, color="#bbbbbb")
    if len(x) <= 13:
        axes.bar_label(bars, [f"{size:,}" for size in panel.sizes], fontsize=11)
        axes.margins(y=0.3)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        axes.set_ylabel(f"gold {panel.unit}")
    else:
        _use_log_scale(axes, panel.unit)
    axes.set_xlabel(textwrap.fill(panel.bin_label, MAX_LINE_LENGTH))
    step = -(-len(x) // 20)
    axes.set_xticks(x[::step], panel.bins[::step])
    if sum(len(name) + 1 for name in panel.bins[::step]) > MAX_LINE_LENGTH:
        axes.tick_params(axis="x", rotation=90)


def _use_log_scale(axes: "Axes", unit: str = "words") -> None:
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel(f"{unit}, log")


def _draw_reliability(panel: Diagram, figure: "SubFigure") -> None:
    """Draw accuracy over confidence and the diagonal; below, on a log scale, the bin sizes."""
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.2, 1])
    upper.plot([0, 100], [0, 100], color="#888888", linewidth=1.2)
    ends = np.linspace(0, 100, len(panel.bins) + 1)
    width = 0.8 * ends[1] / len(panel.names)
    for i in panel.drawn_systems:
        x, line = panel.confidence[i], line_style(i)
        upper.vlines(x, panel.low[i], panel.high[i], colors=line["color"], linewidth=1.4)
        nonempty = panel.sizes[i] > 0
        upper.plot(x[nonempty], panel.values[i][nonempty], **line)
        position = (ends[:-1] + ends[1:]) / 2 + width * (i - (len(panel.names) - 1) / 2)
        lower.bar(position, panel.sizes[i], width, **_fill_style(i, 0.35))
    upper.set_ylim(-3, 103)
    upper.set_ylabel(panel.value_label)
    upper.grid(axis="y", color="#dddddd")
    _use_log_scale(lower)
    lower.set_xlabel(panel.bin_label)
    lower.set_xlim(-1, 101)
    ticks = ends[:: -(-len(panel.bins) // 20)]
    lower.set_xticks(ticks, [f"{end:.3g}" for end in ticks])
    figure.align_ylabels()


def _draw_bars(panel: Panel, figure: "SubFigure") -> None:
    """Draw horizontal bars, those of the same bin next to each other."""
    axes = figure.subplots()
    # Differences from the first system need a margin on both sides of 0.
    axes.use_sticky_edges = panel.drawn_systems.start == 0
    y = np.arange(len(panel.bins))
    height = 0.76 / len(panel.values)
    for row, i in enumerate(panel.drawn_systems):
        position = y + height * (row - (len(panel.values) - 1) / 2)
        axes.barh(position, panel.values[row], height, **_fill_style(i, 0.35))
        axes.hlines(position, panel.low[row], panel.high[row], colors="black", linewidth=1.4)
    axes.axvline(0, color="black", linewidth=1)
    names = [f"{name} ({size:,})" for name, size in zip(panel.bins, panel.sizes, strict=True)]
    axes.set_yticks(y, names)
    axes.set_ylim(len(y) - 0.4, -0.6)  # the first bin is at the top
    axes.grid(axis="x", color="#dddddd")
    figure.suptitle(textwrap.fill(panel.bin_label, MAX_LINE_LENGTH), fontsize=12)
    figure.supxlabel(textwrap.fill(panel.value_label, MAX_LINE_LENGTH), fontsize=12)


def _draw_heat_map(confusion: Confusion, figure: "SubFigure") -> None:
    """Draw how often each gold value in a row is confused with each predicted value in a column."""
    axes, counts = figure.subplots(), confusion.counts
    title = f"confusions of {confusion.kind}" + f": {confusion.system}" * bool(confusion.system)
    if not confusion.names:
        figure.suptitle(f"{title}: none", fontsize=12)
        axes.set_axis_off()
        return
    axes.imshow(counts, cmap="Oranges", vmin=0, aspect="auto")
    for gold, predicted in np.argwhere(counts):
        count = counts[gold, predicted]
        colour = "white" if count > 0.6 * counts.max() else "black"
        axes.text(predicted, gold, f"{count:,}", ha="center", va="center", color=colour, fontsize=9)
    ticks = np.arange(len(confusion.names))
    axes.set_xticks(ticks, confusion.names, rotation=60, ha="right", fontsize=10)
    axes.set_yticks(ticks, confusion.names, fontsize=10)
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")
    if confusion.shown[0] < confusion.shown[1]:
        title += f" ({confusion.shown[0]:,} of {confusion.shown[1]:,} errors)"
    figure.suptitle(textwrap.fill(title, MAX_LINE_LENGTH), fontsize=12)


def line_style(system: int) -> dict[str, Any]:
    """Return the style of a system's curve; every second system has hollow markers."""
    colour, line, marker, _ = SYSTEM_STYLES[system % len(SYSTEM_STYLES)]
    return {
        "color": colour, "linestyle": line, "linewidth": 2.2, "marker": marker, "markersize": 7.5,
        "markeredgewidth": 2, "markerfacecolor": "white" if system % 2 else colour,
    }  # fmt: skip


def _fill_style(system: int, strength: float) -> dict[str, Any]:
    colour, _, _, hatch = SYSTEM_STYLES[system % len(SYSTEM_STYLES)]
    return {"facecolor": (colour, strength), "edgecolor": (colour, 0.7), "hatch": hatch}
