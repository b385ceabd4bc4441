"""Progress on stderr: lines everywhere, bars on a terminal alone, and never an error of its own."""

import gzip
import io
import re
import subprocess
import sys
from functools import partial

import pytest
import typer

from depkit.corpus.files import read
from depkit.drawing.progress import (
    ProgressBars,
    RemoteProgressBars,
    reading_bar,
    receive,
    size_of,
)
from tests.conftest import TINY
from tests.drawing.terminal import Broken, Terminal, draw_at_once


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    draw_at_once(monkeypatch)


def work(bars: ProgressBars) -> None:
    bars.say("before")
    with bars.bar("training") as show:
        show(0.25, 1.0, "epoch 1 [of] 4")
        bars.say("after [an] epoch")
        show(0.5, 1.0, "epoch 2")
    show(0.75, 1.0, "epoch 3")
    bars.say("behind")


def test_without_a_terminal_there_are_lines_alone():
    stream = io.StringIO()
    work(ProgressBars(stream=stream))
    assert stream.getvalue() == "before\nafter [an] epoch\nbehind\n"


def test_bars_stand_below_the_lines_and_leave_nothing_behind():
    stream, stderr = Terminal(), sys.stderr
    work(ProgressBars(stream=stream))
    bars = [re.split(" +", line, maxsplit=4) for line in stream.lines() if "training" in line]
    assert {(bar[2], bar[4].strip()) for bar in bars} == {
        ("25%", "epoch 1 [of] 4"), ("50%", "epoch 2"),
    }  # fmt: skip
    assert stream.getvalue().endswith("\x1b[2K\rbehind\n")
    assert "\x1b[?25l" not in stream.getvalue()  # the cursor is not hidden
    assert sys.stderr is stderr


def test_others_write_above_the_bars(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    bars = ProgressBars()
    with bars.bar("converting") as show:
        show(1, 2, "")
        print("a", "warning", file=sys.stderr)
        show(2, 2, "")
        typer.echo("a note", err=True)
        sys.stderr.write("no end")
        show(2, 2, "")
    assert sys.stderr is stream
    told = [line for line in stream.lines() if line and not line.startswith("converting")]
    assert told == ["a warning", "a note", "no end"]


@pytest.mark.parametrize(("width", "bar", "words"), [(100, True, True), (40, False, False)])
def test_a_bar_fits_into_the_terminal(width, bar, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Terminal()
    with ProgressBars(stream=stream).bar("parsing") as show:
        show(1, 3, "3,456 words/s  123,456 sentences")
    line = max(stream.lines(), key=len)
    assert line.startswith("parsing") and " 33%" in line and "3,456 words/s" in line
    assert ("━" in line, "sentences" in line) == (bar, words)
    assert len(line) <= width - len("^C")


def test_short_work_draws_nothing_and_does_not_wait_for_rich():
    code = (
        "import sys\nfrom depkit.drawing.progress import ProgressBars\n"
        "from tests.drawing.terminal import Terminal\nstream = Terminal()\n"
        "with ProgressBars(stream=stream).bar('training') as show:\n    show(1, 2, '')\n"
        "sys.exit(stream.getvalue() or 'rich' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("stream", [Broken(), None])
def test_a_closed_stderr_is_no_error(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    work(ProgressBars())


def test_quiet_is_quiet():
    stream = Terminal()
    work(ProgressBars(quiet=True, stream=stream))
    assert stream.getvalue() == ""


def test_the_bars_of_another_process_are_as_ones_own(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())  # of the other process
    here, there = (ProgressBars(stream=Terminal()) for _ in range(2))
    work(RemoteProgressBars(False, partial(receive, there)))
    work(here)
    assert there.stream.getvalue() == here.stream.getvalue() != ""
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("packed", [False, True])
def test_a_bar_of_the_bytes_that_are_read(packed, tmp_path):
    path = tmp_path / ("a.conllu.gz" if packed else "a.conllu")
    path.write_bytes(gzip.compress(TINY.read_bytes()) if packed else TINY.read_bytes())
    stream, found = Terminal(), []
    bars = ProgressBars(stream=stream)
    with reading_bar(bars, "reading", [str(path)], lambda: f"{len(found)} read"):
        found += read(path)
    assert "100%" in stream.getvalue() and "0 read" in stream.getvalue()


def test_sizes_of_files(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"12345")
    with open(tmp_path / "a") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert size_of([str(tmp_path / "a"), "-"]) == 10
    assert size_of([str(tmp_path / "a"), "-"]) is None  # it is closed
    assert size_of([str(tmp_path / "a"), str(tmp_path / "b")]) is None
