"""Draw the accuracy of parsers over their speed, the figure of README.

The numbers are those of the table of RESULTS.md below the heading SECTION, one point for each row.
Rows whose first word is depkit have filled points.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from depkit.drawing.plot import line_style, make_image
from depkit.files.atomic import atomic
from tests.bench.measure import ROOT, BenchError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS = ROOT / "tests" / "bench" / "RESULTS.md"
FIGURE = ROOT / "tests" / "data" / "las-and-speed.svg"
SECTION = "## LAS and speed"
COLUMNS = ("parser", "LAS", "words/s of processor time")
# How a name is aligned with its point, in the left, middle and right third of the figure
ALIGNMENTS = ("left", "center", "right")


class Point(NamedTuple):
    """A row of the table."""

    name: str
    las: float
    speed: float  # words per second of processor time

    @property
    def is_depkit(self) -> bool:
        return self.name.split(maxsplit=1)[0].strip(",") == "depkit"


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench figure", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--results", metavar="FILE", type=Path, default=RESULTS, help="default: RESULTS.md")
    add("-o", "--output", metavar="FILE.svg", type=Path, default=FIGURE, help="the figure")
    arguments = parser.parse_args(argv)
    points = read_points(arguments.results.read_text("utf-8"))
    with atomic(arguments.output) as temporary:
        temporary.write_bytes(make_image(lambda: draw(points), ".svg"))


def read_points(text: str) -> list[Point]:
    """Read the first table of the section. Raises BenchError if it is not as expected."""
    lines = text.splitlines()
    if SECTION not in lines:
        raise BenchError(f"there is no heading {SECTION!r}")
    rows = []
    for line in lines[lines.index(SECTION) + 1 :]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows or line.startswith("## "):
            break
    if len(rows) < 3 or rows[0][: len(COLUMNS)] != list(COLUMNS):
        raise BenchError(f"the table of {SECTION!r} does not have the columns {COLUMNS}")
    points = []
    for name, las, speed, *_ in rows[2:]:
        try:
            points.append(Point(name.replace("`", ""), float(las), float(speed.replace(",", ""))))
        except ValueError:
            raise BenchError(
                f"the row of {name} in {SECTION!r} does not have two numbers"
            ) from None
    return points


def draw(points: Sequence[Point]) -> "Figure":
    """Draw a point with its name for each parser.

    The names stand below and above the points in turn, so that names at similar heights do not
    overlap.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    fastest = max(point.speed for point in points)
    for index, point in enumerate(sorted(points, key=lambda point: (point.las, point.speed))):
        style = line_style(not point.is_depkit) | {"linestyle": ""}
        axes.plot([point.speed], [point.las], **style)
        side = 1 if index % 2 else -1
        axes.annotate(
            point.name, (point.speed, point.las), (0, 9 * side), textcoords="offset points",
            ha=ALIGNMENTS[min(2, int(3 * point.speed / fastest))],
            va="bottom" if side > 0 else "top",
        )  # fmt: skip
    axes.set_xlim(0, 1.05 * fastest)
    axes.margins(y=0.2)
    axes.set_xlabel("words per second of processor time")
    axes.set_ylabel("LAS on EWT dev, gold words")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(color="#dddddd")
    return figure
