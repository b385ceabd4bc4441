"""Constituency trees in SVG: each constituent above its words, wrong ones below them."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from depkit.drawing.trees.constituents import Node
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.kinds import Kind
from depkit.drawing.trees.svg_text import FORM, LABEL, TAG, draw_label, draw_texts, font, text_width

LEVEL = 36  # between a constituent and those above it
GAP = 14  # between two words
WRONG_LEVEL = 22  # between two lines of wrong constituents


def draw_constituents(
    drawn: DrawnSentence, top: int, colours: dict[Kind, str], strokes: dict[Kind, str]
) -> tuple[int, int, list[str]]:
    """Draw the tree of a sentence below y = `top`.

    colours, strokes: of each kind of node. Returns the width, the lower edge and the elements.
    """
    nodes, wrong = drawn.constituents
    words = [node for node in nodes if node.word]
    widths = [max(text_width(FORM, node.word), text_width(TAG, node.label)) for node in words]
    for node in nodes:
        if not node.word and node.end - node.start == 1:
            widths[node.start] = max(widths[node.start], text_width(LABEL, node.label))
    edges = [0, *accumulate(width + GAP for width in widths)]  # the left edges of the words
    levels = _levels_above_words(nodes)
    tags = top + LEVEL * max(levels) + TAG
    centres = _centres(nodes, edges)
    y = [tags - LEVEL * level for level in levels]
    elements = []
    for index, node in enumerate(nodes):
        if node.parent >= 0:
            start = f"M{centres[node.parent]} {y[node.parent] + 4}"
            path = f"{start}L{centres[index]} {y[index] - LABEL}"
            elements.append(f'<path stroke="{colours["plain"]}" d="{path}"/>')
    for index, node in enumerate(nodes):
        if not node.word:
            weight = ' font-weight="bold"' if node.kind == "missed" else ""
            (text,) = draw_texts([node.label or "()"], [centres[index]], y[index])
            elements.append(f"<g {font(LABEL, colours[node.kind])}{weight}>{text}</g>")
    word_centres = [centres[i] for i, node in enumerate(nodes) if node.word]
    forms = tags + FORM + 4
    for texts, position, attributes in (
        ([node.label for node in words], tags, font(TAG, "#555555")),
        ([node.word for node in words], forms, font(FORM, "black")),
    ):
        elements += [f"<g {attributes}>", *draw_texts(texts, word_centres, position), "</g>"]
    bottom = forms + 6
    lines = _lines_below_words(wrong)
    for node, line in zip(wrong, lines, strict=True):
        left, right = edges[node.start], edges[node.end] - GAP
        position = bottom + WRONG_LEVEL * line + WRONG_LEVEL // 2
        elements.append(
            f'<path stroke="{colours["wrong"]}" {strokes["wrong"]} d="M{left} {position}H{right}"/>'
        )
        elements.append(
            draw_label(node.label or "()", (left + right) // 2, position, colour=colours["wrong"])
        )
    return edges[-1], bottom + WRONG_LEVEL * (max(lines, default=-1) + 1), elements


def _levels_above_words(nodes: Sequence[Node]) -> list[int]:
    """Return the level of each node: 0 for words, and 1 more than its highest child for others."""
    levels = [0] * len(nodes)
    for index in range(len(nodes) - 1, 0, -1):  # children come after their parent
        parent = nodes[index].parent
        levels[parent] = max(levels[parent], levels[index] + 1)
    return levels


def _centres(nodes: Sequence[Node], edges: Sequence[int]) -> list[int]:
    """Return the horizontal centre of each node: half-way between its outermost children."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    centres = [0] * len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        if node.word:
            centres[index] = (edges[node.start] + edges[node.end] - GAP) // 2
        else:
            centres[index] = (first[index] + last[index]) // 2
        first[node.parent] = centres[index]
        last.setdefault(node.parent, centres[index])
    return centres


def _lines_below_words(wrong: Sequence[Node]) -> list[int]:
    """Return for each wrong constituent the index of its line, so that no two overlap."""
    ends: list[int] = []  # where the last constituent of each line ends
    lines = {}
    for index in sorted(range(len(wrong)), key=lambda i: (wrong[i].start, -wrong[i].end)):
        free: Iterator[int] = (i for i, end in enumerate(ends) if end <= wrong[index].start)
        line = next(free, len(ends))
        ends[line : line + 1] = [wrong[index].end]
        lines[index] = line
    return [lines[index] for index in range(len(wrong))]
