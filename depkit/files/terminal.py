"""Text for people: its width, and escapes for what controls a terminal, wherever it comes from."""

import re
from collections.abc import Iterable
from typing import Any, TextIO

# Control characters (C0, DEL, C1), changes of direction, which can hide and reorder what follows,
# and surrogates, which stand for undecodable bytes. The group is a colour, as rich writes it.
_UNSAFE = re.compile(
    "(\x1b\\[[0-9;]*m)|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_controls(text: str, keep: str = "", colours: bool = False) -> str:
    r"""Escape the characters that control a terminal, for example ESC as `\u001b`.

    Args:
        text: The text; it may have been escaped before.
        keep: Characters that stay, because the program itself has written them: line ends, tabs.
        colours: Whether sequences that set colours stay. The text from files that is among them
            must have been escaped before.
    """
    if text.isascii() and text.isprintable():
        return text

    def escape(match: re.Match[str]) -> str:
        is_ours = colours if match[1] else match[0] in keep
        return match[0] if is_ours else "".join(map(_escape_character, match[0]))

    return _UNSAFE.sub(escape, text)


def _escape_character(character: str) -> str:
    # This form is also valid in JSON.
    return character if " " <= character <= "~" else f"\\u{ord(character):04x}"


def cell_width(text: str) -> int:
    """Return the number of terminal cells: 2 for a wide East Asian letter, 0 for an accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # importing its tables takes a while

    return cell_len(text)


class EscapingStream:
    """A text stream that writes to another one, and escapes what controls a terminal.

    Tabs and line ends stay. colours: as for `escape_controls`.
    """

    def __init__(self, stream: TextIO, colours: bool = False) -> None:
        self.stream = stream
        self.colours = colours

    def write(self, text: str) -> int:
        r"""Write a text; \r stays only at the end of a line."""
        self.stream.write(
            "\r\n".join(escape_controls(part, "\n\t", self.colours) for part in text.split("\r\n"))
        )
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
