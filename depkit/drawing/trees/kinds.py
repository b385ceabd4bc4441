"""What is right, wrong or another choice in a drawing of several trees; colours in a terminal."""

from typing import Literal

# "missed" is an arc or constituent that only the gold tree has, "wrong" one that only the predicted
# tree has, "other" one that only trees after the best one have, and "enhanced" one that only the
# graph of enhanced dependencies has.
Kind = Literal["plain", "missed", "wrong", "other", "enhanced"]
WRONG = "✗"
_COLOURS: dict[Kind, str] = {
    "missed": "\x1b[32m", "wrong": "\x1b[31m", "other": "\x1b[36m", "enhanced": "\x1b[36m",
}  # fmt: skip
_END = "\x1b[0m"


def colour_text(text: str, kind: Kind, colour: bool) -> str:
    """Add the terminal's colour for a kind to a text, if `colour` is true."""
    return _COLOURS[kind] + text + _END if colour and text and kind in _COLOURS else text
