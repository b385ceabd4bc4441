"""Progress on stderr: messages always, bars only on a terminal, and never an error."""

import gzip
import io
import re
import subprocess
import sys
from functools import partial

import pytest
import typer

from depkit.corpus.io import read
from depkit.files.progress import (
    ProgressBars,
    RemoteProgressBars,
    apply_message,
    reading_bar,
    total_file_size,
)
from tests.conftest import TINY
from tests.drawing.terminal import ClosedTerminal, Terminal, draw_at_once


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    draw_at_once(monkeypatch)


def use_bars(bars: ProgressBars) -> None:
    bars.say("before")
    with bars.bar("training") as show:
        show(0.25, 1.0, "epoch 1 [of] 4")
        bars.say("after [an] epoch")
        show(0.5, 1.0, "epoch 2")
    show(0.75, 1.0, "epoch 3")
    bars.say("behind")


def test_without_a_terminal_there_are_only_messages():
    stream = io.StringIO()
    use_bars(ProgressBars(stream=stream))
    assert stream.getvalue() == "before\nafter [an] epoch\nbehind\n"


def test_bars_are_below_the_messages_and_disappear():
    stream, stderr = Terminal(), sys.stderr
    use_bars(ProgressBars(stream=stream))
    bars = [re.split(" +", line, maxsplit=4) for line in stream.lines() if "training" in line]
    assert {(bar[2], bar[4].strip()) for bar in bars} == {
        ("25%", "epoch 1 [of] 4"), ("50%", "epoch 2"),
    }  # fmt: skip
    assert stream.getvalue().endswith("\x1b[2K\rbehind\n")
    assert "\x1b[?25l" not in stream.getvalue()  # the cursor is not hidden
    assert sys.stderr is stderr


def test_other_output_to_stderr_is_above_the_bars(monkeypatch):
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
    messages = [line for line in stream.lines() if line and not line.startswith("converting")]
    assert messages == ["a warning", "a note", "no end"]


@pytest.mark.parametrize(
    ("width", "has_bar", "has_whole_text"), [(100, True, True), (40, False, False)]
)
def test_a_bar_fits_into_the_terminal(width, has_bar, has_whole_text, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Terminal()
    with ProgressBars(stream=stream).bar("parsing") as show:
        show(1, 3, "3,456 words/s  123,456 sentences")
    line = max(stream.lines(), key=len)
    assert line.startswith("parsing") and " 33%" in line and "3,456 words/s" in line
    assert ("━" in line, "sentences" in line) == (has_bar, has_whole_text)
    assert len(line) <= width - len("^C")


def test_short_work_draws_nothing_and_does_not_import_rich():
    code = (
        "import sys\nfrom depkit.files.progress import ProgressBars\n"
        "from tests.drawing.terminal import Terminal\nstream = Terminal()\n"
        "with ProgressBars(stream=stream).bar('training') as show:\n    show(1, 2, '')\n"
        "sys.exit(stream.getvalue() or 'rich' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("stream", [ClosedTerminal(), None])
def test_a_closed_stderr_is_no_error(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    use_bars(ProgressBars())


def test_quiet_bars_write_nothing():
    stream = Terminal()
    use_bars(ProgressBars(quiet=True, stream=stream))
    assert stream.getvalue() == ""


def test_the_bars_of_another_process_look_the_same(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())  # stderr of the other process
    local, remote = (ProgressBars(stream=Terminal()) for _ in range(2))
    use_bars(RemoteProgressBars(False, partial(apply_message, remote)))
    use_bars(local)
    assert remote.stream.getvalue() == local.stream.getvalue() != ""
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("compressed", [False, True])
def test_the_reading_bar_shows_the_share_of_bytes_read(compressed, tmp_path):
    path = tmp_path / ("a.conllu.gz" if compressed else "a.conllu")
    path.write_bytes(gzip.compress(TINY.read_bytes()) if compressed else TINY.read_bytes())
    stream, sentences = Terminal(), []
    bars = ProgressBars(stream=stream)
    with reading_bar(bars, "reading", [str(path)], lambda: f"{len(sentences)} read"):
        sentences += read(path)
    assert "100%" in stream.getvalue() and "0 read" in stream.getvalue()


def test_total_file_size_includes_stdin_and_may_be_unknown(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"12345")
    with open(tmp_path / "a") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert total_file_size([str(tmp_path / "a"), "-"]) == 10
    assert total_file_size([str(tmp_path / "a"), "-"]) is None  # stdin is closed
    assert total_file_size([str(tmp_path / "a"), str(tmp_path / "b")]) is None
