"""Text in the cells of a terminal: how many it takes, and nothing in it that drives one."""

import unicodedata
from bisect import bisect_left

# These turn the direction of everything after them, even of the next word's columns.
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def cell_width(text: str) -> int:
    """The number of terminal cells of a text: 2 a wide East Asian character, 0 an accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # its tables take a while to load

    return cell_len(text)


def visible(text: str) -> str:
    """The text with a visible sign in place of whatever could drive a terminal.

    ESC becomes U+241B, and so on; line ends, changes of direction and what XML forbids
    become U+FFFD. Blanks alone become U+2423, accents without a letter get a dotted circle.
    """
    if not text.isprintable():
        text = "".join(map(_sign, text))
    if text.isspace():
        return "\u2423" * len(text)
    return text if cell_width(text) or not text else f"\u25cc{text}"


def _sign(character: str) -> str:
    number = ord(character)
    if number < 0x20:
        return chr(0x2400 + number)
    if number == 0x7F:
        return "\u2421"
    unsafe = (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(character) in _TURNING
        or number & 0xFFFE == 0xFFFE  # no character at all
    )
    return "\ufffd" if unsafe else character


def clipped(text: str, width: int) -> str:
    """The text if it fits into so many cells, else its beginning and an ellipsis."""
    if cell_width(text) <= width:
        return text
    if width < 1:
        return ""
    too_long = bisect_left(range(len(text)), width, key=lambda end: cell_width(text[:end]))
    return text[: too_long - 1] + "…"
