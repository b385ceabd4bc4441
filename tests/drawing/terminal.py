"""A stream that claims to be a terminal and stores what is written to it."""

import io
import re

import pytest

from depkit.files import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return everything that was ever written to a line, without colours."""
        return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.getvalue()))


class ClosedTerminal(Terminal):
    """A terminal that has been closed."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def draw_at_once(monkeypatch: pytest.MonkeyPatch, width: int = 100) -> None:
    """Draw bars at every update, on a terminal of the given width."""
    monkeypatch.setattr(progress, "FIRST_DELAY", 0)
    monkeypatch.setattr(progress, "INTERVAL", 0)
    for name, value in {"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
