"""What is right and wrong in a drawing that compares two trees, and its colours in a terminal."""

from typing import Literal

# "missed" is an arc or constituent that only the gold tree has, "wrong" one that only the predicted
# tree has.
Kind = Literal["plain", "missed", "wrong"]
WRONG = "✗"
_COLOURS: dict[Kind, str] = {"missed": "\x1b[32m", "wrong": "\x1b[31m"}
_END = "\x1b[0m"


def colour_text(text: str, kind: Kind, colour: bool) -> str:
    """Add the terminal's colour for a kind to a text, if `colour` is true."""
    return _COLOURS[kind] + text + _END if colour and text and kind in _COLOURS else text
