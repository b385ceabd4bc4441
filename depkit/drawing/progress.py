"""Messages of long work on stderr and, on a terminal, progress bars below them."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, TextIO

from depkit.corpus.files import watch_reading

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress, ProgressColumn, TaskID

FIRST = 0.5  # seconds until bars appear, so that short work neither shows any nor imports rich
INTERVAL = 0.25  # seconds between two drawings
WITH_BAR = 72  # on terminals of fewer columns, percentages stand without a bar

# Updates a bar: how much is completed, of what total (None if that is not known), and a text.
Show = Callable[[float, float | None, str], None]


class ProgressBars:
    """Writes messages to stderr and, on a terminal, draws the progress bars of running work below.

    Without a terminal there are only the messages; if quiet, nothing. It is no error if stderr can
    no longer be written to. All methods can be called from any thread. There is no drawing thread:
    bars are redrawn by `show`, a few times a second.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        stream = None if quiet else stream or sys.stderr  # which is None if it is closed
        self.stream = _Tolerant(stream) if stream else None
        self.live = bool(stream and stream.isatty())
        self.lock = RLock()
        self.bars: dict[str, tuple[float, float | None, str]] = {}
        self.next = 0.0
        self.drawn: Progress | None = None
        self.tasks: dict[str, TaskID] = {}
        self.display: Live | None = None  # while bars are on the screen
        self.above: _Above | None = None

    def say(self, text: str) -> None:
        """Write a message, which stays above the bars."""
        if self.stream:
            with self.lock:
                with self.hidden() as drawn:
                    self.stream.write(text + "\n")
                    self.stream.flush()
                if drawn:
                    self._draw()

    @contextmanager
    def bar(self, name: str) -> Iterator[Show]:
        """Show a bar, with a name of its own, within the block; gives the function to update it."""
        self.add(name)
        try:
            yield partial(self.show, name)
        finally:
            self.remove(name)

    def add(self, name: str) -> None:
        """Add a bar."""
        with self.lock:
            if not self.bars:
                self.next = time.monotonic() + FIRST
            self.bars[name] = (0.0, None, "")

    def show(self, name: str, completed: float, total: float | None, text: str) -> None:
        """Update a bar; does nothing if there is none of that name."""
        with self.lock:
            if name in self.bars:
                # The estimate of what is completed may fall; the bar does not.
                self.bars[name] = (max(completed, self.bars[name][0]), total, text)
                if self.due():
                    self._draw()
                    self.next = time.monotonic() + INTERVAL

    def due(self) -> bool:
        """Whether the next update of a bar will draw."""
        return self.live and time.monotonic() >= self.next

    def remove(self, *names: str) -> None:
        """Remove bars; without names, all."""
        with self.lock:
            for name in names or list(self.bars):
                self.bars.pop(name, None)
                if self.drawn and name in self.tasks:
                    self.drawn.remove_task(self.tasks.pop(name))
            if not self.bars:
                self._erase()
                if self.above and sys.stderr is self.above:
                    sys.stderr = self.above.end()

    @contextmanager
    def hidden(self) -> Iterator[bool]:
        """Erase the bars, so that the block can write to the screen; gives whether there were any.

        They appear again when a bar is updated.
        """
        with self.lock:
            drawn = self.display is not None
            self._erase()
            yield drawn

    def _draw(self) -> None:
        from rich.constrain import Constrain
        from rich.live import Live

        self.drawn = self.drawn or _progress(self.stream)
        for name, (completed, total, text) in self.bars.items():
            if name not in self.tasks:
                self.tasks[name] = self.drawn.add_task(name, total=None, text="")
                # What is done already, in a resumed run, must not count for the speed.
                self.drawn.tasks[-1].completed = completed
            self.drawn.update(self.tasks[name], completed=completed, total=total, text=text)
        if not self.display:
            self.display = Live(
                console=self.drawn.console, auto_refresh=False, transient=True,
                redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            if self.stream and sys.stderr is self.stream.stream:
                sys.stderr = self.above = _Above(self, sys.stderr)
            self.display.start()
        width = self.drawn.console.width - len("^C")  # room for the echo of a Ctrl-C
        self.display.update(Constrain(self.drawn, width), refresh=True)

    def _erase(self) -> None:
        display, self.display = self.display, None
        if display:
            display.stop()


class RemoteProgressBars(ProgressBars):
    """Messages and bars that another process shows.

    send: called with each message to that process, which passes it to `receive`.
    """

    def __init__(self, quiet: bool, send: Callable[[tuple[Any, ...]], None]) -> None:
        super().__init__(quiet)
        self.send = send

    def say(self, text: str) -> None:
        self.send(("say", text))

    def add(self, name: str) -> None:
        self.send(("add", name))

    def show(self, name: str, completed: float, total: float | None, text: str) -> None:
        if self.due():
            self.send(("show", name, completed, total, text))
            self.next = time.monotonic() + INTERVAL

    def remove(self, *names: str) -> None:
        self.send(("remove", *names))


def receive(bars: ProgressBars, message: tuple[Any, ...]) -> None:
    """Show what a `RemoteProgressBars` in another process sent."""
    name, *arguments = message
    getattr(bars, name)(*arguments)


@contextmanager
def reading_bar(
    bars: ProgressBars, name: str, files: Sequence[str], text: Callable[[], str] = str
) -> Iterator[None]:
    """Show within the block how many bytes of the files have been read, and a text."""
    read, total = 0, size_of(files)
    with bars.bar(name) as show:

        def count_bytes(count: int) -> None:
            nonlocal read
            read += count
            if bars.due():
                show(read, total, text())

        with watch_reading(count_bytes):
            yield


def size_of(files: Sequence[str]) -> int | None:
    """The total size of files in bytes (`-` is stdin); None if that of one is not known."""
    total = 0
    for file in files:
        try:
            found = os.fstat(sys.stdin.fileno()) if file == "-" else os.stat(file)
        except (OSError, ValueError, AttributeError):  # a missing file is reported when it is read
            return None
        if not found.st_size:  # a pipe
            return None
        total += found.st_size
    return total


class _Tolerant:
    """A stream that ignores errors in writing to it."""

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


class _Above:
    """Takes the place of sys.stderr while there are bars, and writes complete lines above them.

    rich has such a stream, too, but Typer bypasses that, as it has no encoding.
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
        """Do nothing: a line is written when it is complete."""

    def end(self) -> TextIO:
        """Write an incomplete last line; returns the stream whose place this one took."""
        _Tolerant(self.stream).write(self.pending)
        self.pending = ""
        return self.stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _progress(stream: Any) -> "Progress":
    """rich's bars, without a thread that redraws them."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=stream)
    # The cursor stays visible, or it would not come back after a kill or during a Ctrl-Z.
    console.show_cursor = lambda show=True: False  # type: ignore[method-assign]
    return Progress(
        *_columns(console.width),
        console=console, auto_refresh=False, speed_estimate_period=600,
    )  # fmt: skip


def _columns(width: int) -> "list[ProgressColumn]":
    """The columns of a bar's line. In a narrow terminal there is no bar, and the text is cut."""
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

    class Cut(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.fields["text"], no_wrap=True, overflow="ellipsis")

    return [
        TextColumn("{task.description}", markup=False),
        *([BarColumn(width // 6)] if width >= WITH_BAR else []),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        Cut(table_column=Column()),  # a column that can be made narrower, unlike the others
    ]
