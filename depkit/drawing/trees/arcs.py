"""Trees as text: words in a row, arcs drawn above them in box-drawing characters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter

from depkit.drawing.trees.arc_layout import End, Layout, Line, Measures
from depkit.drawing.trees.cells import cell_width, clipped
from depkit.drawing.trees.shown import Arc, Kind, Shown, painted

MEASURES = Measures(cell_width, step=1, gap=2, pad=1)

# What leaves a cell: towards the words, away from them, to the left, to the right.
NEAR, FAR, LEFT, RIGHT = 1, 2, 4, 8
_COMMON = {0: " ", NEAR | FAR: "│", LEFT | RIGHT: "─", NEAR | FAR | LEFT | RIGHT: "┼"}
_COMMON |= {NEAR | FAR | LEFT: "┤", NEAR | FAR | RIGHT: "├"}
ABOVE = _COMMON | {NEAR | RIGHT: "╭", NEAR | LEFT: "╮"}
BELOW = _COMMON | {NEAR | RIGHT: "╰", NEAR | LEFT: "╯"}


def draw(shown: Shown, width: int, colour: bool) -> Iterator[str]:
    """The lines of a drawing: arcs, words, tags, and below them the arcs that are wrong.

    A sentence that is too wide comes in blocks of words with their numbers; an arc to another
    block goes to the edge, to the number of the word at its other end.
    """
    # so that a word fits with the numbers of others at both edges, its own label on one side
    widest = max(map(cell_width, (*shown.forms, *shown.tags)))
    room = max(width - 16 - 3 * len(str(len(shown.forms))) - widest // 2, 8)
    arcs = [
        [replace(arc, label=clipped(arc.label, room)) for arc in some]
        for some in (shown.arcs(), shown.wrong_arcs())
    ]
    rows = [row for row in (shown.forms, shown.tags) if any(row)]
    blocks = list(islice(_layout(rows, arcs).blocks(width), 2))
    if len(blocks) > 1:
        rows.append([str(number) for number in range(1, len(shown.forms) + 1)])
    for block in blocks if len(blocks) == 1 else _layout(rows, arcs).blocks(width):
        if block.first > 1:
            yield ""
        above, below = (_Canvas(lines, block.width) for lines in block.sides)
        yield from reversed(list(above.rows(ABOVE, "▼", colour)))
        for row in rows:
            yield _words(row[block.first - 1 : block.last], block.centres)
        yield from below.rows(BELOW, "▲", colour)


def _layout(rows: Sequence[Sequence[str]], arcs: Sequence[Sequence[Arc]]) -> Layout:
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    return Layout(widths, arcs, MEASURES)


def _words(texts: Sequence[str], centres: Sequence[int]) -> str:
    """A row of texts, each in the middle of its column."""
    row, end = "", 0
    for text, centre in zip(texts, centres, strict=True):
        start = centre - cell_width(text) // 2
        row += " " * (start - end) + text
        end = start + cell_width(text)
    return row.rstrip()


class _Canvas:
    """The lines on one side of a block's words, in cells; level 0 is next to the words."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        levels = 1 + max((line.level for line in lines), default=-1)
        self.links = [[0] * width for _ in range(levels)]
        self.kinds: list[list[Kind]] = [["plain"] * width for _ in range(levels)]
        self.texts: list[dict[int, str]] = [{} for _ in range(levels)]
        self.arrows: set[int] = set()
        for line in sorted(lines, key=lambda line: line.kind != "plain"):  # colours on top
            self._draw(line, width)

    def _draw(self, line: Line, width: int) -> None:
        if not line.upright:
            for column in range(line.left + 1, line.right):
                self._link(line, line.level, column, LEFT | RIGHT)
        if line.start:
            self._stem(line, line.start, line.left, FAR if line.upright else RIGHT)
        if line.end and not line.upright:
            self._stem(line, line.end, line.right, LEFT)
        self._write(line, line.label_at, line.label)
        if line.beyond:
            mark = f"┄{line.beyond}" if line.start else f"{line.beyond}┄"
            self._write(line, width - len(mark) if line.start else 0, mark)

    def _stem(self, line: Line, end: End, column: int, turn: int) -> None:
        self._link(line, line.level, column, NEAR | turn)
        for level in range(line.level):
            self._link(line, level, column, NEAR | FAR)
        if end.enters:
            self.arrows.add(column)

    def _link(self, line: Line, level: int, column: int, links: int) -> None:
        self.links[level][column] |= links
        self.kinds[level][column] = line.kind

    def _write(self, line: Line, column: int, text: str) -> None:
        if text:
            self.texts[line.level][column] = text
            self.kinds[line.level][column] = line.kind

    def rows(self, glyphs: Mapping[int, str], arrow: str, colour: bool) -> Iterator[str]:
        """The rows of the drawing, from the words on."""
        for level, (links, kinds) in enumerate(zip(self.links, self.kinds, strict=True)):
            pieces = [glyphs[link] for link in links]
            texts = dict.fromkeys(self.arrows, arrow) if level == 0 else self.texts[level]
            for column, text in texts.items():
                hidden = cell_width(text) - 1
                pieces[column : column + 1 + hidden] = [text] + [""] * hidden
            runs = groupby(zip(pieces, kinds, strict=True), key=itemgetter(1))
            row = (painted("".join(piece for piece, _ in run), kind, colour) for kind, run in runs)
            yield "".join(row).rstrip()
