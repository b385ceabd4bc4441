"""What a training run says while it runs: lines and a bar on stderr, and a JSONL log."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from depkit.drawing.progress import ProgressBars, Show

LOG = "log.jsonl"


class Progress:
    """Writes a line an epoch to stderr and to the log, and on a terminal shows a progress bar.

    label: put before each line, where several runs go on at the same time; name: of the bar; bars:
    where lines and bar are shown, by default on stderr.
    """

    def __init__(
        self,
        directory: Path,
        quiet: bool = False,
        stream: TextIO | None = None,
        label: str = "",
        name: str = "training",
        bars: ProgressBars | None = None,
    ) -> None:
        self.path = directory / LOG
        self.label = label
        self.bars = bars or ProgressBars(quiet, stream)
        self.name = name

    def say(self, text: str) -> None:
        """A line that stays."""
        self.bars.say(text)

    def bar(self) -> AbstractContextManager[Show]:
        """Show a progress bar within the block, to be updated by `show`."""
        return self.bars.bar(self.name)

    def show(self, done: float, text: str) -> None:
        """Update the bar; done: the share of the training, 0 to 1."""
        self.bars.show(self.name, done, 1.0, text)

    def resume(self, epochs: int) -> None:
        """Forget the log's epochs from number `epochs` on: they are run again."""
        if self.path.exists():
            lines = self.path.read_text("utf-8").splitlines()
            kept = [line for line in lines if _epoch(line) <= epochs]
            self.path.write_text("".join(line + "\n" for line in kept), "utf-8")

    def epoch(self, record: dict[str, Any], scores: dict[str, float]) -> None:
        """Log an epoch and say its figures; scores: of dev, by name."""
        with self.path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record | scores) + "\n")
        best = "  best" if record["best"] else ""
        told = " ".join(f"{name} {score:.2f}" for name, score in scores.items())
        self.say(
            f"{self.label}epoch {record['epoch']:>3}  loss {record['loss']:.3f}"
            f"  dev {told}"
            f"  {record['words_per_second']:,.0f} words/s"
            f"  {clock(record['left'])} left{best}"
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
