"""Messages of long-running work on stderr and, on a terminal, progress bars below them."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, TextIO

from depkit.files.storage import file_size
from depkit.files.streams import watch_reading
from depkit.files.terminal import escape_controls

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress, ProgressColumn, TaskID

FIRST_DELAY = 0.5  # seconds until bars appear; short work shows no bars and does not import rich
INTERVAL = 0.25  # minimum number of seconds between two updates of the screen
MIN_WIDTH_FOR_BAR = 72  # narrower terminals show percentages without a bar

# A function that updates a bar with the completed amount, the total (None: unknown) and a text.
UpdateBar = Callable[[float, float | None, str], None]


class ProgressBars:
    """Writes messages to stderr and, on a terminal, draws progress bars below them.

    Errors in writing to stderr are ignored. All methods can be called from any thread. There is no
    drawing thread; bars are redrawn when they are updated, at most once every INTERVAL.

    Args:
        quiet: Whether to write neither messages nor bars.
        stream: Where to write, by default stderr. If it is not a terminal, no bars are drawn.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        stream = None if quiet else stream or sys.stderr  # None if it is closed
        self.stream = _TolerantStream(stream) if stream else None
        self.is_interactive = bool(stream and stream.isatty())
        self.lock = RLock()
        self.bars: dict[str, tuple[float, float | None, str]] = {}
        self.next_update = 0.0
        self.progress: Progress | None = None
        self.tasks: dict[str, TaskID] = {}
        self.display: Live | None = None  # not None while bars are on the screen
        self.stderr: _LinesAboveBars | None = None

    def say(self, text: str) -> None:
        text = escape_controls(text, "\n")
        if self.stream:
            with self.lock:
                with self.hidden() as had_bars:
                    self.stream.write(text + "\n")
                    self.stream.flush()
                if had_bars:
                    self._draw()

    @contextmanager
    def bar(self, name: str) -> Iterator[UpdateBar]:
        """Show a bar with a unique name while the block runs; yield a function that updates it."""
        self.add(name)
        try:
            yield partial(self.update, name)
        finally:
            self.remove(name)

    def add(self, name: str) -> None:
        """Add a bar with a unique name."""
        with self.lock:
            if not self.bars:
                self.next_update = time.monotonic() + FIRST_DELAY
            self.bars[name] = (0.0, None, "")

    def update(self, name: str, completed: float, total: float | None, text: str) -> None:
        """Update a bar; do nothing if there is no bar of this name.

        Args:
            name: The name of the bar.
            completed: The completed amount.
            total: The total amount, None if it is unknown.
            text: The text beside the bar.
        """
        with self.lock:
            if name in self.bars:
                # The completed amount may be an estimate that decreases, but the bar never does.
                self.bars[name] = (max(completed, self.bars[name][0]), total, text)
                if self.is_due():
                    self._draw()
                    self.next_update = time.monotonic() + INTERVAL

    def is_due(self) -> bool:
        """Return whether the next update of a bar will be drawn."""
        return self.is_interactive and time.monotonic() >= self.next_update

    def remove(self, *names: str) -> None:
        """Remove the bars of these names, or all bars if no name is given."""
        with self.lock:
            for name in names or list(self.bars):
                self.bars.pop(name, None)
                if self.progress and name in self.tasks:
                    self.progress.remove_task(self.tasks.pop(name))
            if not self.bars:
                self._erase()
                if self.stderr and sys.stderr is self.stderr:
                    sys.stderr = self.stderr.finish()

    @contextmanager
    def hidden(self) -> Iterator[bool]:
        """Erase the bars, so that the block can write to the screen.

        Yields whether there were bars on the screen. They reappear when a bar is updated.
        """
        with self.lock:
            had_bars = self.display is not None
            self._erase()
            yield had_bars

    def _draw(self) -> None:
        from rich.constrain import Constrain
        from rich.live import Live

        self.progress = self.progress or _make_progress(self.stream)
        for name, (completed, total, text) in self.bars.items():
            if name not in self.tasks:
                self.tasks[name] = self.progress.add_task(
                    escape_controls(name), total=None, text=""
                )
                # In a resumed run, the speed must not count what was completed before.
                self.progress.tasks[-1].completed = completed
            self.progress.update(
                self.tasks[name], completed=completed, total=total, text=escape_controls(text)
            )
        if not self.display:
            self.display = Live(
                console=self.progress.console, auto_refresh=False, transient=True,
                redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            if self.stream and sys.stderr is self.stream.stream:
                sys.stderr = self.stderr = _LinesAboveBars(self, sys.stderr)
            self.display.start()
        width = self.progress.console.width - len("^C")  # the terminal echoes this after a Ctrl-C
        self.display.update(Constrain(self.progress, width), refresh=True)

    def _erase(self) -> None:
        display, self.display = self.display, None
        if display:
            display.stop()


class RemoteProgressBars(ProgressBars):
    """Sends messages and updates of bars to another process, which shows them.

    Args:
        quiet: As for `ProgressBars`.
        send: A function that sends a tuple to the other process, as an argument of `apply_message`.
    """

    def __init__(self, quiet: bool, send: Callable[[tuple[Any, ...]], None]) -> None:
        super().__init__(quiet)
        self.send = send

    def say(self, text: str) -> None:
        self.send(("say", text))

    def add(self, name: str) -> None:
        """Send the name of a new bar."""
        self.send(("add", name))

    def update(self, name: str, completed: float, total: float | None, text: str) -> None:
        """Send an update of a bar if stderr is a terminal, but at most once every INTERVAL."""
        if self.is_due():
            self.send(("update", name, completed, total, text))
            self.next_update = time.monotonic() + INTERVAL

    def remove(self, *names: str) -> None:
        """Send the names of bars to remove."""
        self.send(("remove", *names))


def apply_message(bars: ProgressBars, message: tuple[Any, ...]) -> None:
    """Apply to bars a message from a `RemoteProgressBars` in another process."""
    method, *arguments = message
    getattr(bars, method)(*arguments)


@contextmanager
def reading_bar(
    bars: ProgressBars, name: str, files: Sequence[str], text: Callable[[], str] = str
) -> Iterator[None]:
    """Show a bar for the share of files that has been read, as long as the block runs.

    Args:
        bars: Where to show the bar.
        name: The name of the bar.
        files: The files that are read within the block.
        text: A function that returns the text beside the bar.
    """
    num_bytes, total = 0, total_file_size(files)
    with bars.bar(name) as update_bar:

        def count_bytes(count: int) -> None:
            nonlocal num_bytes
            num_bytes += count
            if bars.is_due():
                update_bar(num_bytes, total, text())

        with watch_reading(count_bytes):
            yield


def total_file_size(files: Sequence[str]) -> int | None:
    """Return the total size of files in bytes (`-` is stdin); None if a size is unknown."""
    total = 0
    for file in files:
        try:
            size = os.fstat(sys.stdin.fileno()).st_size if file == "-" else file_size(file)
        except (OSError, ValueError, AttributeError):  # reading a missing file reports it
            return None
        if not size:  # a pipe
            return None
        total += size
    return total


class _TolerantStream:
    """A stream that ignores errors in writing."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self.stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _LinesAboveBars:
    """Replaces sys.stderr while there are bars, and writes complete lines above the bars.

    rich has such a stream, but Typer bypasses it because it has no encoding.
    """

    def __init__(self, bars: ProgressBars, stream: TextIO) -> None:
        self.bars = bars
        self.stream = stream
        self.pending = ""

    def write(self, text: str) -> int:
        lines, end, self.pending = (self.pending + text).rpartition("\n")
        if end:
            self.bars.say(lines)
        return len(text)

    def flush(self) -> None:
        """Do nothing; a line is written when it is complete."""

    def finish(self) -> TextIO:
        """Write an incomplete last line and return the stream that this one replaced."""
        _TolerantStream(self.stream).write(self.pending)
        self.pending = ""
        return self.stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _make_progress(stream: Any) -> "Progress":
    """Make rich's progress bars, without its drawing thread."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=stream)
    # Never hide the cursor: it would not reappear after a kill or Ctrl-Z.
    console.show_cursor = lambda show=True: False  # type: ignore[method-assign]
    return Progress(
        *_make_columns(console.width),
        console=console, auto_refresh=False, speed_estimate_period=600,
    )  # fmt: skip


def _make_columns(width: int) -> "list[ProgressColumn]":
    """Return the columns of a bar's line; a narrow terminal has no bar and clips the text."""
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class ClippedText(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.fields["text"], no_wrap=True, overflow="ellipsis")

    return [
        TextColumn("{task.description}", markup=False),
        *([BarColumn(width // 6)] if width >= MIN_WIDTH_FOR_BAR else []),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        ClippedText(table_column=Column()),  # the only column that rich may narrow
    ]
