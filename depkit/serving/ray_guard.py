"""Kills the processes of a local Ray cluster when the process that started it has ended.

Ray's servers end with that process, but the agents that they started try for a minute to report it.
This file is run as a program of its own, by `start_guard`, and imports only the standard library.
"""

import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = "DEPKIT_RAY_CLUSTER"  # the environment variable by which the processes are recognised
_INTERVAL = 0.5  # seconds between two searches for new processes
_PAUSE = 0.1  # seconds
_SCANS = 5  # the number of scans without a process after which none is expected any more


@contextmanager
def start_guard() -> Iterator[None]:
    """Kill what has been started within the block at its end, or when this process is killed.

    The processes are found in /proc; on a system without it, nothing is done.
    """
    from depkit.files.system import PROCESSES

    if not Path(PROCESSES, "self/environ").exists():
        yield
        return
    value = secrets.token_hex()
    command = [sys.executable, "-I", "-S", __file__, value, PROCESSES]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as guard:
        os.environ[_MARK] = value
        try:
            yield
        finally:
            del os.environ[_MARK]
            assert guard.stdin
            guard.stdin.close()


def _find_processes(value: str, known: set[tuple[int, str]], directory: str) -> list[int]:
    """Return the processes that run, of those that are known, marked, or children of such ones.

    Some processes overwrite their environment when they change their title, so they are only found
    before they do so, or as children.

    known: the process ids and start times of processes that were found before; it is extended.
    directory: where the system describes its processes.
    """
    entry, running = f"{_MARK}={value}".encode(), []
    count, parents = len(known), {pid for pid, _ in known}
    for path in Path(directory).glob("[0-9]*"):
        with suppress(OSError):  # It has ended, or is another user's.
            pid, fields = int(path.name), (path / "stat").read_text().rpartition(")")[2].split()
            process = pid, fields[19]
            if (
                process in known
                or int(fields[1]) in parents
                or entry in (path / "environ").read_bytes().split(b"\0")
            ):
                known.add(process)
                if fields[0] not in "ZX":
                    running.append(pid)
    return running if len(known) == count else _find_processes(value, known, directory)


def _guard(value: str, directory: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent handles Ctrl-C.
    known: set[tuple[int, str]] = set()
    while not select.select([sys.stdin], [], [], _INTERVAL)[0]:  # until the parent ends
        _find_processes(value, known, directory)
    scans = 0
    while scans < _SCANS:
        scans += 1
        for pid in _find_processes(value, known, directory):
            scans = 0
            with suppress(ProcessLookupError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        time.sleep(_PAUSE)


if __name__ == "__main__":
    _guard(*sys.argv[1:])
