"""Trees as one self-contained SVG file, one sentence below the other."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from xml.sax.saxutils import escape

from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.arc_layout import Block, Layout, Line, Measures
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.kinds import Kind
from depkit.drawing.trees.svg_constituents import draw_constituents
from depkit.drawing.trees.svg_text import FORM, LABEL, TAG, draw_label, draw_texts, font, text_width

# All sizes are in pixels.
MARGIN = 20
HEADING = 24
LEVEL = 20  # between two levels of arcs
MAX_WIDTH = 1_000  # of a sentence; a longer one is wrapped
CORNER = 10
ARROW = 7

# Missed arcs are thick and wrong ones dashed, so that they also differ without colours.
COLOURS: dict[Kind, str] = {
    "plain": "#333333", "missed": "#006e2b", "wrong": "#c00000", "other": "#1b3f86",
    "enhanced": "#1b3f86",
}  # fmt: skip
STROKES: dict[Kind, str] = {
    "plain": 'stroke-width="1.2"',
    "missed": 'stroke-width="2.6"',
    "wrong": 'stroke-width="1.5" stroke-dasharray="5 3"',
    "other": 'stroke-width="1.2" stroke-dasharray="2 2"',
    "enhanced": 'stroke-width="1.2" stroke-dasharray="6 2"',
}


def draw_svg(sentences: Iterable[DrawnSentence]) -> Iterator[str]:
    """Draw sentences as an SVG file, which is as wide as the widest sentence.

    Arcs are above the words; wrong arcs, those of other trees and enhanced dependencies are below
    them. Yields the parts of the file's text.
    """
    drawings: list[str] = []
    width, height = 0, MARGIN
    for drawn in sentences:
        drawing_width, drawing_height, elements = _draw(drawn)
        drawings.append(f'<g transform="translate({MARGIN} {height})">\n{elements}</g>\n')
        width, height = max(width, drawing_width), height + drawing_height + MARGIN
    width += 2 * MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" text-anchor="middle">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
    )
    yield from drawings
    yield "</svg>\n"


def draw_sentence(sentence: Sentence) -> str:
    """Draw one sentence as SVG, for a notebook."""
    return "".join(draw_svg([DrawnSentence(0, sentence)]))


def _draw(drawn: DrawnSentence) -> tuple[int, int, str]:
    """Draw one sentence; returns the width, the height and the SVG elements."""
    heading = (
        f'<text x="0" y="{LABEL}" {font(LABEL, "#555555")} text-anchor="start">'
        f"{escape(drawn.name)}</text>"
    )
    title = f"<title>{escape(drawn.text or ' '.join(drawn.forms))}</title>"
    if drawn.is_bracketed:
        tree_width, bottom, tree = draw_constituents(drawn, HEADING, COLOURS, STROKES)
        width = max(tree_width, text_width(LABEL, drawn.name))
        return width, bottom, "\n".join([title, heading, *tree, ""])
    elements, width, bottom = [title, heading], text_width(LABEL, drawn.name), HEADING
    for block, rows in _make_blocks(drawn):
        lines_above, lines_below = block.sides
        y = top = bottom + _height(lines_above) + MARGIN * (block.first > 1)
        elements += _draw_arcs(lines_above, top, -1)
        for texts, size, colour in rows:
            y += size + (2 if y == top else 5)
            words = texts[block.first - 1 : block.last]
            # Scripts find the words by this class.
            name = 'class="forms" ' * (texts is drawn.forms)
            elements.append(_group(words, block.centres, y, name + font(size, colour)))
        elements += _draw_arcs(lines_below, y + 6, 1)
        width, bottom = max(width, block.width), y + 6 + _height(lines_below)
    return width, bottom, "\n".join([*elements, ""])


Row = tuple[list[str], int, str]  # a text for each word, its size and its colour


def _make_blocks(drawn: DrawnSentence) -> Iterator[tuple[Block, list[Row]]]:
    """Divide a sentence into blocks, each with the rows of texts.

    If there are several blocks, the last row has the numbers of the words.
    """
    measures = Measures(partial(text_width, LABEL), step=6, gap=14, pad=CORNER)
    arcs = (drawn.arcs(), drawn.arcs_below())
    rows: list[Row] = [(drawn.forms, FORM, "black")]
    if any(drawn.tags):
        rows.append((drawn.tags, TAG, "#555555"))

    def layout() -> Layout:
        sizes = [[text_width(size, text) for text in texts] for texts, size, _ in rows]
        return Layout(list(map(max, zip(*sizes, strict=True))), arcs, drawn.numbers, measures)

    if len(list(islice(layout().make_blocks(MAX_WIDTH), 2))) > 1:
        rows.append((drawn.numbers[1:], TAG, "#888888"))
    return ((block, rows) for block in layout().make_blocks(MAX_WIDTH))


def _height(lines: Sequence[Line]) -> int:
    """Return the height of all arcs, with half a label at their top."""
    return LEVEL * max((line.level for line in lines), default=0) + LABEL


def _group(texts: Sequence[str], centres: Sequence[int], y: int, attributes: str) -> str:
    return "\n".join([f"<g {attributes}>", *draw_texts(texts, centres, y), "</g>"])


def _draw_arcs(lines: Sequence[Line], base: int, direction: int) -> Iterator[str]:
    """Draw the arcs above the words (direction -1) or below them (1), beginning at y = base."""
    for kind in COLOURS:
        lines_of_kind = [line for line in lines if line.kind == kind]
        if lines_of_kind:
            yield f'<g stroke="{COLOURS[kind]}" {STROKES[kind]} fill="none">'
            yield from (f'<path d="{_arc_path(line, base, direction)}"/>' for line in lines_of_kind)
            arrows = _arrow_path(lines_of_kind, base, direction)
            yield f'</g>\n<path fill="{COLOURS[kind]}" d="{arrows}"/>'
    for line in lines:
        if line.label:
            y = base + direction * LEVEL * line.level
            centre = line.label_start + line.label_width // 2
            yield draw_label(
                line.label, centre, y, colour=COLOURS[line.kind], width=line.label_width
            )
        if line.other_words:  # at the edge
            half = line.mark_width // 2
            centre = line.right - half if line.end is None else half
            y = base + direction * LEVEL * line.level
            yield draw_label(line.other_words, centre, y, colour="#888888", width=line.mark_width)


def _arc_path(line: Line, base: int, direction: int) -> str:
    """Return the path of an arc with round corners, without its arrow.

    The end of an arc in another block is at the edge, without a corner.
    """
    far = base + direction * LEVEL * line.level
    left, right = (
        base + direction * ARROW * bool(end and end.has_arrow) for end in (line.start, line.end)
    )
    if line.is_vertical:
        return f"M{line.left} {far}V{left}"
    corner = min(CORNER, (line.right - line.left) // 2)
    near = far - direction * corner
    begin = f"M{line.left} {left}V{near}Q{line.left} {far} {line.left + corner} {far}"
    end = f"H{line.right - corner}Q{line.right} {far} {line.right} {near}V{right}"
    if line.start is None:
        begin = f"M{line.mark_width} {far}"
    if line.end is None:
        end = f"H{line.right - line.mark_width}"
    return begin + end


def _arrow_path(lines: Sequence[Line], base: int, direction: int) -> str:
    tips = {
        x
        for line in lines
        for x, end in ((line.left, line.start), (line.right, line.end))
        if end and end.has_arrow
    }
    back = base + direction * ARROW
    return "".join(f"M{x - 4} {back}H{x + 4}L{x} {base}Z" for x in sorted(tips))
