"""Texts in SVG. Widths are estimates, because the viewer chooses the font."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from depkit.files.terminal import cell_width

FORM, TAG, LABEL = 16, 11, 12  # font sizes in pixels
NARROW, BROAD = "fijlrtI.,:;!|'()[]", "mwMW@%"  # letters


def text_width(size: int, text: str) -> int:
    """Return the approximate width of a text in common fonts of a size."""
    narrow, broad = (sum(map(letters.count, text)) for letters in (NARROW, BROAD))
    return round(size * (0.62 * cell_width(text) - 0.22 * narrow + 0.32 * broad))


def font(size: int, colour: str) -> str:
    """Return the attributes of a font."""
    return f'font-size="{size}" fill="{colour}"'


def draw_texts(texts: Sequence[str], centres: Sequence[int], y: int) -> list[str]:
    """Draw texts at the same height; empty texts are left out."""
    return [
        f'<text x="{centre}" y="{y}">{escape(text)}</text>'
        for text, centre in zip(texts, centres, strict=True)
        if text
    ]


def draw_label(text: str, centre: int, y: int, *, colour: str, width: int | None = None) -> str:
    """Draw a label on a white rectangle that interrupts its line.

    width: that of the text; None for an estimate.
    """
    width = text_width(LABEL, text) if width is None else width
    return (
        f'<rect x="{centre - width // 2 - 2}" y="{y - LABEL // 2}" width="{width + 4}"'
        f' height="{LABEL}" fill="white"/>'
        f'<text x="{centre}" y="{y + LABEL // 3}" {font(LABEL, colour)}>{escape(text)}</text>'
    )
