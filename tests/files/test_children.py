"""A process of multiprocessing ends when the process that started it is killed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.files.processes import is_running

PARENT = """
import multiprocessing, sys, time
from depkit.files.children import Bond, run_child

if __name__ == "__main__":
    import module  # The child imports it for its function.

    context = multiprocessing.get_context("spawn")
    child = context.Process(target=run_child, args=(Bond(), module.work, sys.argv[1]))
    child.start()
    print(child.pid, flush=True)
    child.join()
"""
WORK = """
import os, time
def work(path):
    os.mkfifo(path)
    time.sleep(600)
"""
# The child is still importing the module of its function.
SLOW = """
import multiprocessing, os, sys, time
if multiprocessing.current_process().name != "MainProcess":
    os.mkfifo(sys.argv[1])
    time.sleep(600)
def work(path):
    pass
"""


@pytest.mark.parametrize("work", ["WORK", "SLOW"])
def test_a_child_ends_when_its_parent_is_killed(work, tmp_path) -> None:
    if work == "SLOW" and sys.platform != "linux":
        pytest.skip("only Linux ends a process before it calls its function")
    (tmp_path / "module.py").write_text(globals()[work])
    (tmp_path / "parent.py").write_text(PARENT)
    begun = tmp_path / "begun"
    with subprocess.Popen(
        [sys.executable, tmp_path / "parent.py", begun], stdout=subprocess.PIPE
    ) as parent:
        child = int(parent.stdout.readline())
        while not begun.exists():
            assert parent.poll() is None
            time.sleep(0.01)
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 60
    while is_running(child) and time.monotonic() < end:
        time.sleep(0.01)
    is_orphan = is_running(child)
    if is_orphan:
        os.kill(child, signal.SIGKILL)
    assert not is_orphan
