"""Text in terminal cells: cutting it, and its conversion to characters that are safe to print."""

import unicodedata
from bisect import bisect_left

from depkit.files.terminal import cell_width

# Bidirectional classes of characters that change the direction of all following text.
_DIRECTION_CHANGES = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def make_visible(text: str) -> str:
    """Replace characters that control a terminal, or that XML forbids, by visible ones.

    ASCII control characters become their symbols (ESC becomes U+241B). Other control characters,
    line separators, changes of direction and characters that XML forbids become U+FFFD. In a text
    of white space only, every character becomes U+2423. A dotted circle is put before a text
    without width, such as an accent without a letter.
    """
    if not text.isprintable():
        text = "".join(map(_visible_character, text))
    if text.isspace():
        return "\u2423" * len(text)
    return text if cell_width(text) or not text else f"\u25cc{text}"


def _visible_character(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    unsafe = (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character) in _DIRECTION_CHANGES
        or code & 0xFFFE == 0xFFFE  # U+FFFE and U+FFFF of each plane are not characters
    )
    return "\ufffd" if unsafe else character


def clip(text: str, width: int) -> str:
    """Return the text if it fits into `width` cells, else its beginning and "…".

    The result is "" if the text does not fit and `width` is less than 1.
    """
    if cell_width(text) <= width:
        return text
    if width < 1:
        return ""
    too_long = bisect_left(range(len(text)), width, key=lambda end: cell_width(text[:end]))
    return text[: too_long - 1] + "…"


def clip_start(lines: str, limit: int) -> str:
    """Return the connecting lines, without their beginning if they are too long."""
    return lines if len(lines) <= limit else "…" + lines[1 - limit :]
