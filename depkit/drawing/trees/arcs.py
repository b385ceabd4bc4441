"""Trees as text: words in a row, with arcs above them in box-drawing characters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from operator import itemgetter

from depkit.drawing.trees.arc_layout import End, Layout, Line, Measures
from depkit.drawing.trees.cells import clip
from depkit.drawing.trees.drawn_sentence import Arc, DrawnSentence
from depkit.drawing.trees.kinds import Kind, colour_text
from depkit.files.terminal import cell_width

MEASURES = Measures(cell_width, step=1, gap=2, pad=1)

# The directions in which lines leave a cell. NEAR is towards the words, FAR away from them.
NEAR, FAR, LEFT, RIGHT = 1, 2, 4, 8
_COMMON = {0: " ", NEAR | FAR: "│", LEFT | RIGHT: "─", NEAR | FAR | LEFT | RIGHT: "┼"}
_COMMON |= {NEAR | FAR | LEFT: "┤", NEAR | FAR | RIGHT: "├"}
ABOVE = _COMMON | {NEAR | RIGHT: "╭", NEAR | LEFT: "╮"}
BELOW = _COMMON | {NEAR | RIGHT: "╰", NEAR | LEFT: "╯"}


def draw(drawn: DrawnSentence, width: int, colour: bool) -> Iterator[str]:
    """Yield the lines of a sentence: arcs, words and tags, and below them the wrong arcs.

    A sentence that is wider than `width` terminal cells is divided into blocks, where each word has
    its number. An arc to another block ends at the edge, at the number of the word at its other
    end.
    """
    # A block must have room for a word, its label, and numbers of other words at both edges.
    widest = max(map(cell_width, (*drawn.forms, *drawn.tags)))
    label_width = max(width - 16 - 3 * len(str(len(drawn.forms))) - widest // 2, 8)
    arcs = [
        [replace(arc, label=clip(arc.label, label_width)) for arc in side]
        for side in (drawn.arcs(), drawn.arcs_below())
    ]
    rows = [row for row in (drawn.forms, drawn.tags) if any(row)]
    numbers = drawn.numbers
    blocks = list(islice(_make_layout(rows, arcs, numbers).make_blocks(width), 2))
    if len(blocks) > 1:
        rows.append(numbers[1:])
        blocks = list(_make_layout(rows, arcs, numbers).make_blocks(width))
    for block in blocks:
        if block.first > 1:
            yield ""
        canvas_above, canvas_below = (_Canvas(lines, block.width) for lines in block.sides)
        yield from reversed(list(canvas_above.rows(ABOVE, "▼", colour)))
        for row in rows:
            yield _align(row[block.first - 1 : block.last], block.centres)
        yield from canvas_below.rows(BELOW, "▲", colour)


def _make_layout(
    rows: Sequence[Sequence[str]], arcs: Sequence[Sequence[Arc]], numbers: Sequence[str]
) -> Layout:
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    return Layout(widths, arcs, numbers, MEASURES)


def _align(texts: Sequence[str], centres: Sequence[int]) -> str:
    """Return a row of texts, with the middle of each text at the given coordinate."""
    row, end = "", 0
    for text, centre in zip(texts, centres, strict=True):
        start = centre - cell_width(text) // 2
        row += " " * (start - end) + text
        end = start + cell_width(text)
    return row.rstrip()


class _Canvas:
    """The lines above or below the words of a block, in cells; level 0 is next to the words."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        levels = 1 + max((line.level for line in lines), default=-1)
        self.links = [[0] * width for _ in range(levels)]
        self.kinds: list[list[Kind]] = [["plain"] * width for _ in range(levels)]
        self.texts: list[dict[int, str]] = [{} for _ in range(levels)]
        self.arrows: set[int] = set()
        # Coloured lines come last, so that shared stems have their colour.
        for line in sorted(lines, key=lambda line: line.kind != "plain"):
            self._draw(line, width)

    def _draw(self, line: Line, width: int) -> None:
        if not line.is_vertical:
            for column in range(line.left + 1, line.right):
                self._link(line, line.level, column, LEFT | RIGHT)
        if line.start:
            self._draw_stem(line, line.start, line.left, FAR if line.is_vertical else RIGHT)
        if line.end and not line.is_vertical:
            self._draw_stem(line, line.end, line.right, LEFT)
        self._write(line, line.label_start, line.label)
        if line.other_words:
            mark = f"┄{line.other_words}" if line.start else f"{line.other_words}┄"
            self._write(line, width - len(mark) if line.start else 0, mark)

    def _draw_stem(self, line: Line, end: End, column: int, turn: int) -> None:
        self._link(line, line.level, column, NEAR | turn)
        for level in range(line.level):
            self._link(line, level, column, NEAR | FAR)
        if end.has_arrow:
            self.arrows.add(column)

    def _link(self, line: Line, level: int, column: int, links: int) -> None:
        self.links[level][column] |= links
        self.kinds[level][column] = line.kind

    def _write(self, line: Line, column: int, text: str) -> None:
        if text:
            self.texts[line.level][column] = text
            self.kinds[line.level][column] = line.kind

    def rows(self, glyphs: Mapping[int, str], arrow: str, colour: bool) -> Iterator[str]:
        """Yield the rows of characters, beginning next to the words."""
        for level, (links, kinds) in enumerate(zip(self.links, self.kinds, strict=True)):
            cells = [glyphs[link] for link in links]
            texts = dict.fromkeys(self.arrows, arrow) if level == 0 else self.texts[level]
            for column, text in texts.items():
                hidden = cell_width(text) - 1
                cells[column : column + 1 + hidden] = [text] + [""] * hidden
            runs = groupby(zip(cells, kinds, strict=True), key=itemgetter(1))
            row = (
                colour_text("".join(cell for cell, _ in run), kind, colour) for kind, run in runs
            )
            yield "".join(row).rstrip()
