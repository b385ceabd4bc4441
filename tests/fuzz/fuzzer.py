"""The fuzzer: runs a reader on files, traces the lines that it reaches, and collects findings."""

import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from types import FrameType
from typing import Any

from tests.fuzz.mutations import Mutate, generate_inputs, mutate_bytes

ROOT = str(Path(__file__).parents[2])
SECONDS = 5.0  # of processor time for one file


@dataclass(frozen=True)
class Reader:
    """A function that reads files, and the files with which fuzzing starts.

    Attributes:
        name: The name of the file that is mutated.
        seeds: Returns the contents of valid files; it can also write other files to the directory.
        read: Reads the file in a directory.
        errors: Returns the errors with which it may refuse a file. It is a function because some
            modules with errors take seconds to import.
        mutate: Changes the content of a file at random.
    """

    name: str
    seeds: Callable[[Path], list[bytes]]
    read: Callable[[Path], object]
    errors: Callable[[], tuple[type[Exception], ...]]
    mutate: Mutate = mutate_bytes


@dataclass
class Report:
    """The number of files that were read and refused, and the files that are findings."""

    read: int = 0
    refused: int = 0
    lines: int = 0  # pairs of successive lines of code that were reached
    findings: dict[str, bytes] = field(default_factory=dict)  # by type and location


class TimeLimitError(BaseException):
    """Reading takes too long. A BaseException, so that readers do not catch it."""


def fuzz(
    reader: Reader,
    directory: Path,
    seed: int = 0,
    seconds: float | None = None,
    count: int | None = None,
    limit: float = SECONDS,
) -> Report:
    """Read correct and mutated files, and report every error that the reader must not raise.

    Args:
        reader: The reader.
        directory: An empty directory, which contains each file while it is read, so that the file
            is still there if the process crashes.
        seed: The seed of the mutations.
        seconds: The time after which fuzzing stops; None for no limit.
        count: How many files are read; None for no limit.
        limit: The seconds of processor time after which reading a file is stopped.
    """
    report, corpus, seen = Report(), reader.seeds(directory), set[Any]()
    errors = reader.errors()
    path, end = directory / reader.name, monotonic() + (seconds or float("inf"))
    for data in generate_inputs(Random(seed), corpus, reader.mutate, count):
        path.write_bytes(data)
        reached: set[Any] = set()
        try:
            with _trace(reached), _limit_time(limit):
                reader.read(path)
            report.read += 1
        except errors:
            report.refused += 1
        except (Exception, TimeLimitError) as error:
            report.findings.setdefault(_describe(error), data)
        if not reached <= seen:
            seen |= reached
            corpus.append(data)
        if monotonic() > end:
            break
    report.lines = len(seen)
    return report


@contextmanager
def _trace(reached: set[Any]) -> Iterator[None]:
    """Add the pairs of successive lines to a set, for code in this repository."""

    def trace_call(frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return None
        last = 0

        def trace_line(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal last
            if event == "line":
                reached.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return trace_line

        return trace_line

    old = sys.gettrace()
    sys.settrace(trace_call)
    try:
        yield
    finally:
        sys.settrace(old)


@contextmanager
def _limit_time(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise TimeLimitError

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


def _describe(error: BaseException) -> str:
    """Return the type of an error and the innermost line of the repository in its traceback."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(ROOT) and frame.filename != __file__
    ]  # fmt: skip
    place = f"{frames[-1].filename.removeprefix(ROOT)}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}"
