"""Trees as a picture: one self-contained SVG file, sentences one under another."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from xml.sax.saxutils import escape

from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.arc_layout import Layout, Line, Measures
from depkit.drawing.trees.cells import cell_width
from depkit.drawing.trees.shown import Kind, Shown

# All in pixels. The viewer chooses the font, so that widths can only be guessed.
FORM, TAG, LABEL = 16, 11, 12
NARROW, BROAD = "fijlrtI.,:;!|'()[]", "mwMW@%"
MARGIN = 20
HEADING = 24
LEVEL = 20  # between two levels of arcs
CORNER = 10
ARROW = 7

# Missed arcs are thick and wrong ones dashed, to be told apart in grey as well.
COLOURS: dict[Kind, str] = {"plain": "#333333", "missed": "#006e2b", "wrong": "#c00000"}
STROKES: dict[Kind, str] = {
    "plain": 'stroke-width="1.2"',
    "missed": 'stroke-width="2.6"',
    "wrong": 'stroke-width="1.5" stroke-dasharray="5 3"',
}


def picture(sentences: Iterable[Shown]) -> Iterator[str]:
    """The pieces of an SVG file with a drawing of each sentence, as wide as it needs to be.

    Arcs stand above the words, those that are wrong below them.
    """
    drawings: list[str] = []
    width, height = 0, MARGIN
    for shown in sentences:
        across, down, elements = _drawing(shown)
        drawings.append(f'<g transform="translate({MARGIN} {height})">\n{elements}</g>\n')
        width, height = max(width, across), height + down + MARGIN
    width += 2 * MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" text-anchor="middle">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
    )
    yield from drawings
    yield "</svg>\n"


def draw_sentence(sentence: Sentence) -> str:
    """A picture of one sentence, for a notebook."""
    return "".join(picture([Shown(0, sentence)]))


def _drawing(shown: Shown) -> tuple[int, int, str]:
    """One sentence: how much room it takes to the right and down, and its elements."""
    measures = Measures(partial(_width, LABEL), step=6, gap=14, pad=CORNER)
    columns = zip(shown.forms, shown.tags, strict=True)
    widths = [max(_width(FORM, form), _width(TAG, tag)) for form, tag in columns]
    arcs = (shown.arcs(), shown.wrong_arcs())
    block = next(Layout(widths, arcs, measures).blocks(sys.maxsize))
    above, below = block.sides
    top = HEADING + _height(above)
    forms = top + FORM + 2
    tags = forms + TAG + 5
    bottom = (tags if any(shown.tags) else forms) + 6
    elements = [
        f"<title>{escape(shown.text or ' '.join(shown.forms))}</title>",
        f'<text x="0" y="{LABEL}" {_font(LABEL, "#555555")} text-anchor="start">'
        f"{escape(shown.name)}</text>",
        *_side(above, top, -1),
        *_texts(shown.forms, block.centres, forms, _font(FORM, "black")),
        *_texts(shown.tags, block.centres, tags, _font(TAG, "#555555")),
        *_side(below, bottom, 1),
    ]
    width = max(block.width, _width(LABEL, shown.name))
    return width, bottom + _height(below), "\n".join([*elements, ""])


def _width(size: int, text: str) -> int:
    """The width of a text in letters of that size, about what common fonts make of it."""
    narrow, broad = (sum(map(letters.count, text)) for letters in (NARROW, BROAD))
    return round(size * (0.62 * cell_width(text) - 0.22 * narrow + 0.32 * broad))


def _height(lines: Sequence[Line]) -> int:
    """The room that arcs need, with half a label at their top."""
    return LEVEL * max((line.level for line in lines), default=0) + LABEL


def _font(size: int, colour: str) -> str:
    return f'font-size="{size}" fill="{colour}"'


def _texts(texts: Sequence[str], centres: Sequence[int], y: int, font: str) -> Iterator[str]:
    yield f"<g {font}>"
    for text, centre in zip(texts, centres, strict=True):
        if text:
            yield f'<text x="{centre}" y="{y}">{escape(text)}</text>'
    yield "</g>"


def _side(lines: Sequence[Line], base: int, away: int) -> Iterator[str]:
    """The arcs on one side of the words, from y = base on; away: -1 is up, 1 is down."""
    for kind in COLOURS:
        some = [line for line in lines if line.kind == kind]
        if some:
            yield f'<g stroke="{COLOURS[kind]}" {STROKES[kind]} fill="none">'
            yield from (f'<path d="{_path(line, base, away)}"/>' for line in some)
            yield f'</g>\n<path fill="{COLOURS[kind]}" d="{_arrows(some, base, away)}"/>'
    for line in lines:
        if line.label:
            yield _label(line, base + away * LEVEL * line.level)


def _path(line: Line, base: int, away: int) -> str:
    """An arc with round corners; an arrow's end is left to the arrow."""
    far = base + away * LEVEL * line.level
    left, right = (base + away * ARROW * bool(end and end.enters) for end in (line.start, line.end))
    if line.upright:
        return f"M{line.left} {far}V{left}"
    corner = min(CORNER, (line.right - line.left) // 2)
    near = far - away * corner
    return (
        f"M{line.left} {left}V{near}Q{line.left} {far} {line.left + corner} {far}"
        f"H{line.right - corner}Q{line.right} {far} {line.right} {near}V{right}"
    )


def _arrows(lines: Sequence[Line], base: int, away: int) -> str:
    tips = {
        x
        for line in lines
        for x, end in ((line.left, line.start), (line.right, line.end))
        if end and end.enters
    }
    back = base + away * ARROW
    return "".join(f"M{x - 4} {back}H{x + 4}L{x} {base}Z" for x in sorted(tips))


def _label(line: Line, y: int) -> str:
    """A label on its line, which a white ground interrupts."""
    return (
        f'<rect x="{line.label_at - 2}" y="{y - LABEL // 2}" width="{line.size + 4}"'
        f' height="{LABEL}" fill="white"/>'
        f'<text x="{line.label_at + line.size // 2}" y="{y + LABEL // 3}"'
        f" {_font(LABEL, COLOURS[line.kind])}>{escape(line.label)}</text>"
    )
