"""What differs between operating systems: locks, signals, pipes, devices. Only this module knows.

Windows is supported as far as it can be without being tried: its locks, for example, are tested
with a stand-in for the module msvcrt.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PROCESSES = "/proc"  # the directory with the processes of Linux
# Files that exist only where a GPU of NVIDIA or AMD may be. macOS and Windows have none of them.
GPU_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")
_STANDARD_STREAMS = {"-": 1, "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
# On Windows, nobody can read a locked byte, so one beyond the content of a lock is locked.
_LOCKED_BYTE = 1 << 30


def lock_file(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return False if the file system has no locks.

    Raises BlockingIOError if another file object has locked it.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        return _lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise BlockingIOError(*error.args) from None
    except OSError:
        return False
    return True


def _lock_on_windows(file: BinaryIO) -> bool:
    try:
        import msvcrt
    except ModuleNotFoundError:
        return False
    position = file.tell()
    file.seek(_LOCKED_BYTE)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError as error:
        raise BlockingIOError(*error.args) from None
    finally:
        file.seek(position)
    return True


def removes_open_files() -> bool:
    """Return whether a file can be removed while it is open; on Windows, it cannot."""
    return sys.platform != "win32"


def output_descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of an open file of this process if that is where an output goes.

    `-` and /dev/stdout stand for 1, /dev/fd/3 for 3. The shell has opened this file, perhaps to
    append to it, and other commands write to it, so that it must be neither replaced nor opened
    again. Returns None for the name of any other file.
    """
    name = os.fspath(path)
    match = _DESCRIPTOR.fullmatch(name)
    return int(match[1]) if match else _STANDARD_STREAMS.get(name)


def open_own(path: str, flags: int) -> int:
    """Open or make a file as `open` does, but follow no symbolic link and wait for no FIFO."""
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | getattr(os, "O_BINARY", 0) | os.O_CREAT, 0o666)


def is_own(path: Path) -> bool:
    """Return whether a file belongs to the user; on Windows, where others cannot write, True."""
    if not hasattr(os, "getuid"):
        return sys.platform == "win32"
    return path.stat().st_uid == os.getuid()


def count_available_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # only on some systems
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def end_with_parent(parent: int) -> None:
    """Let Linux kill this process when its parent ends; on other systems, nothing is done."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # It ended before the call.
            os._exit(1)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block; processes that it starts do not receive it.

    In threads other than the main one, nothing is delayed, because Python interrupts only the main
    thread. On Windows, the processes do receive Ctrl-C.
    """
    mask = getattr(signal, "pthread_sigmask", None)
    received: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    has_handler = threading.current_thread() is threading.main_thread() and callable(handler)
    if has_handler:  # The mask does not suffice: another thread may receive the signal.
        signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    blocked = mask(signal.SIG_BLOCK, {signal.SIGINT}) if mask else set()
    try:
        yield
    finally:
        if mask:
            mask(signal.SIG_SETMASK, blocked)
        if has_handler:
            signal.signal(signal.SIGINT, handler)
        if received:
            signal.raise_signal(signal.SIGINT)
