"""Kills the processes of a local Ray cluster when the process that started it has ended.

Ray's servers end with that process, but the agents that they started try for a minute to report it.
This file is run as a program of its own, by `start_guard`, and imports only the standard library.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "DEPKIT_RAY_CLUSTER"  # the environment variable by which the processes are recognised
_PAUSE = 0.1  # seconds
_SCANS = 5  # the number of scans without a process after which none is expected any more


@contextmanager
def start_guard() -> Iterator[None]:
    """Kill what has been started within the block at its end, or when this process is killed.

    The processes are found in /proc; on a system without it, nothing is done.
    """
    if not Path("/proc/self/environ").exists():
        yield
        return
    value = secrets.token_hex()
    command = [sys.executable, "-I", "-S", __file__, value]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as guard:
        os.environ[_MARK] = value
        try:
            yield
        finally:
            del os.environ[_MARK]
            assert guard.stdin
            guard.stdin.close()


def _find_marked(value: str) -> Iterator[int]:
    entry = f"{_MARK}={value}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # It has ended, or is another user's.
            if entry in path.read_bytes().split(b"\0"):
                yield int(path.parent.name)


def _guard(value: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent handles Ctrl-C.
    sys.stdin.buffer.read()  # The pipe is closed when the parent ends.
    scans = 0
    while scans < _SCANS:
        scans += 1
        for pid in _find_marked(value):
            scans = 0
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


if __name__ == "__main__":
    _guard(sys.argv[1])
