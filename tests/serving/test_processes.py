"""Ctrl-C while the worker processes of `depkit parse --workers` start."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.cli.commands import ON_CPU


def is_worker(path):
    try:
        parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
        return parent, b"spawn_main" in (path / "cmdline").read_bytes()
    except OSError:  # it has ended
        return "", False


@pytest.mark.skipif(sys.platform != "linux", reason="the processes are found in /proc")
def test_workers_that_start_ignore_ctrl_c(tmp_path):
    (tmp_path / "text.txt").write_text("It rains.\n")
    command = [sys.executable, "-m", "depkit", "parse", "text.txt", "--workers", "2", *ON_CPU]
    with subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        # Tests that run in the background of a shell are started with Ctrl-C ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        end = time.monotonic() + 60
        while not any(
            is_worker(path) == (str(process.pid), True) for path in Path("/proc").glob("[0-9]*")
        ):
            assert process.poll() is None and time.monotonic() < end
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130
