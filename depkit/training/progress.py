"""The progress of a training run: lines and a bar on stderr, and a log in JSON Lines."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TextIO

from depkit.files.atomic import atomic, name_file_in_errors
from depkit.files.progress import ProgressBars, UpdateBar

LOG = "log.jsonl"


class Progress:
    """Writes a line for each epoch to stderr and to the log; shows a progress bar on a terminal.

    label: a prefix of each line, for several runs at the same time; name: of the bar. bars: those
    of several runs, to which this bar is added; replaces `quiet` and `stream`.
    """

    def __init__(
        self,
        directory: Path,
        quiet: bool = False,
        *,
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
        """Write a line above the bar."""
        self.bars.say(text)

    def bar(self) -> AbstractContextManager[UpdateBar]:
        """Show a progress bar within the block; `show` updates it."""
        return self.bars.bar(self.name)

    def show(self, fraction: float, text: str) -> None:
        """Update the bar; fraction: how much of the training is finished, 0 to 1."""
        self.bars.update(self.name, fraction, 1.0, text)

    def truncate_log(self, epochs: int) -> None:
        """Remove from the log all epochs after the first `epochs`; they will be run again."""
        if self.path.exists():
            lines = self.path.read_text("utf-8").splitlines()
            retained = [line for line in lines if _read_epoch(line) <= epochs]
            with atomic(self.path) as temporary:
                temporary.write_text("".join(line + "\n" for line in retained), "utf-8")

    def write_epoch(self, record: dict[str, Any], scores: dict[str, float]) -> None:
        """Write an epoch to the log and a line to stderr.

        record: the values of the epoch, without loss and speed if a resumed run only scores dev.
        scores: the dev scores by name; {} if dev was not scored after this epoch.
        """
        with name_file_in_errors(self.path), self.path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record | scores) + "\n")
        best = "  best" if record["best"] else ""
        score_list = " ".join(f"{name} {score:.2f}" for name, score in scores.items())
        dev = f"  dev {score_list}" if scores else ""
        loss = speed = ""
        if "loss" in record:
            loss = f"  loss {record['loss']:.3f}"
            speed = f"  {record['words_per_second']:,.0f} words/s"
            speed += f"  {format_duration(record['left'])} left"
        self.say(f"{self.label}epoch {record['epoch']:>3}{loss}{dev}{speed}{best}")


def _read_epoch(line: str) -> float:
    try:
        return float(json.loads(line)["epoch"])
    except (ValueError, KeyError, TypeError):  # the incomplete line of a run that was killed
        return float("inf")


def format_duration(seconds: float) -> str:
    """Format a duration in seconds as 1:02:03 or 2:03."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"
