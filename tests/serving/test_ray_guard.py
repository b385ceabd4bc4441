"""The processes of a local Ray cluster end with the process that started them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.files.processes import is_running


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
@pytest.mark.parametrize("is_killed", [True, False])
def test_what_a_ray_cluster_has_started_ends_with_its_parent(is_killed, tmp_path) -> None:
    """The agents of a cluster are children of its servers and in sessions of their own."""
    program = f"""
import subprocess, sys, time
from depkit.serving.ray_guard import start_guard
with start_guard():
    # The agent of the server has another environment.
    agent = "import os; os.execve(%r, [%r, '-c', 'import time; time.sleep(600)'], {{}})"
    server = "import subprocess, sys, time; code = %r; "
    server += "agent = subprocess.Popen([sys.executable, '-c', code], start_new_session=True); "
    server += "print(agent.pid, flush=True); time.sleep(600)"
    server %= agent % (sys.executable, sys.executable)
    server = subprocess.Popen([sys.executable, "-c", server], stdout=subprocess.PIPE)
    sys.stdout.buffer.write(server.stdout.readline())
    sys.stdout.flush()
    if {is_killed}:
        sys.stdin.read()
print("end")
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        agent = int(parent.stdout.readline())
        if is_killed:
            assert is_running(agent)
            parent.kill()
        else:
            assert parent.stdout.readline() == b"end\n"
        end = time.monotonic() + 60
        while is_running(agent) and time.monotonic() < end:
            time.sleep(0.01)
        is_orphan = is_running(agent)
        if is_orphan:
            os.kill(agent, signal.SIGKILL)
        parent.kill()
    assert not is_orphan
