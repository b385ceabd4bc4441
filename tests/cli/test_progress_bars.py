"""Commands show progress bars only where the bars do not mix with input or output."""

import io
import sys

import pytest

from depkit.cli import check
from depkit.cli.options import annotate, progress_bars
from depkit.files.progress import ProgressBars
from depkit.serving import files
from depkit.serving.job import Job, Totals
from tests.drawing.terminal import Terminal, draw_at_once


@pytest.mark.parametrize(
    ("terminals", "quiet", "files", "output", "expected"),
    [
        ("in out err", False, ["a"], "b", True),
        ("in out err", True, ["a"], "b", False),
        ("in out err", False, ["a"], "-", False),
        ("in out err", False, ["-"], "b", False),
        ("in err", False, ["a"], "-", True),
        ("out err", False, ["a", "-"], "b", True),
        ("in out", False, ["a"], "b", False),
    ],
)
def test_bars_do_not_mix_with_input_or_output(
    terminals, quiet, files, output, expected, monkeypatch
):
    for name in ("in", "out", "err"):
        stream = Terminal() if name in terminals.split() else io.StringIO()
        monkeypatch.setattr(sys, f"std{name}", stream)
    assert progress_bars(quiet, files, output).is_interactive == expected


def test_findings_and_bars_are_on_separate_lines(monkeypatch):
    draw_at_once(monkeypatch)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    bars = ProgressBars(stream=terminal)

    def lines():
        with bars.bar("checking") as show:
            for number in range(3):
                show(number, 3, "")
                yield f"finding {number}\n"

    check._write_lines(lines(), terminal, bars)
    findings = [line for line in terminal.lines() if "finding" in line]
    assert findings == ["finding 0", "finding 1", "finding 2"]
    assert any(line.startswith("checking") and "67%" in line for line in terminal.lines())


def test_the_speed_of_a_run_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(files, "annotate_files", lambda *_: Totals(12543, 204585, 14.2))
    annotate(Job(files=["-"], models=[]), quiet=False, verbose=True)
    assert capsys.readouterr().err == (
        "12,543 sentences, 204,585 words in 14.2 s (14,407 words/s)\n"
    )
