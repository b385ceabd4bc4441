"""What a training run says while it runs: lines on stderr, and a JSONL log."""

import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO

LOG = "log.jsonl"


class Progress:
    """A status line that is rewritten on a terminal, a line an epoch everywhere.

    label: before each epoch's line, where several runs go on side by side; then there is no
    status line.
    """

    def __init__(
        self,
        directory: Path,
        quiet: bool = False,
        stream: TextIO | None = None,
        label: str = "",
    ) -> None:
        self.path = directory / LOG
        self.quiet = quiet
        self.stream = stream or sys.stderr
        self.label = label
        self.live = self.stream.isatty() and not quiet and not label
        self.shown = 0.0

    def resume(self, epochs: int) -> None:
        """Forget the log's epochs from number `epochs` on: they are run again."""
        if self.path.exists():
            lines = self.path.read_text("utf-8").splitlines()
            kept = [line for line in lines if _epoch(line) <= epochs]
            self.path.write_text("".join(line + "\n" for line in kept), "utf-8")

    def due(self) -> bool:
        """Whether the status line wants renewing; asked every update, true twice a second."""
        now = time.monotonic()
        if not self.live or now - self.shown < 0.5:
            return False
        self.shown = now
        return True

    def status(self, text: str) -> None:
        """Renew the status line."""
        if self.live:
            self._write(f"\r\x1b[K{text}")

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self.quiet:
            self._write(("\r\x1b[K" if self.live else "") + text + "\n")

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:  # nobody reads any more; that is no reason to stop training
            self.quiet, self.live = True, False

    def epoch(self, record: dict[str, Any], scores: dict[str, float]) -> None:
        """Log an epoch and say its figures; scores: of dev, by name."""
        with self.path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record | scores) + "\n")
        star = " *" if record["best"] else ""
        told = " ".join(f"{name} {score:.2f}" for name, score in scores.items())
        self.say(
            f"{self.label}epoch {record['epoch']:>3}  loss {record['loss']:.3f}"
            f"  dev {told}"
            f"  {record['words_per_second']:,.0f} words/s"
            f"  {clock(record['seconds'])} gone, {clock(record['left'])} left{star}"
        )


def _epoch(line: str) -> float:
    try:
        return float(json.loads(line)["epoch"])
    except (ValueError, KeyError, TypeError):  # the half-written line of a killed run
        return float("inf")


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"
