"""Runs of a command on disks of increasing sizes, which become full at different writes.

A disk is a file system in memory (tmpfs) of limited size. Where none can be mounted, the size of
every file is limited instead.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.outputs import find_differences, find_incomplete, read_outputs
from tests.faults.processes import Command

_PAGE = 4096
_LARGE = 1 << 30  # bytes of a disk that does not become full

Say = Callable[[str], object]


def can_mount(folder: Path) -> bool:
    """Return whether file systems can be mounted."""
    try:
        with mount(folder / "test", _PAGE):
            return True
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


@contextmanager
def mount(folder: Path, size: int) -> Iterator[None]:
    """Mount a file system in memory on a new directory for the body of the with statement."""
    folder.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=0", "none", str(folder)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
    finally:
        folder.rmdir()


def try_full_disks(
    command: Command, folder: Path, times: int, again: Sequence[str] = (), say: Say = print,
    limit_files: bool = False,
) -> list[str]:  # fmt: skip
    """Run a command on disks of increasing sizes, and continue each run on a larger disk.

    A run on a full disk must end with an error, in one line that names a file of the output, and
    must leave no incomplete file under its final name. The run that continues it must leave the
    outputs of an undisturbed run and nothing else.

    Args:
        command: The command.
        folder: An empty directory for the trials.
        times: The number of disks; their sizes are equally spaced.
        again: The arguments with which a failed command is continued.
        say: Called with each line of the report.
        limit_files: Whether the size of each file is limited instead of that of the disk.

    Returns:
        The faults that were found.
    """
    errors, disk = folder / "errors", folder / "disk"
    largest = 0

    def measure() -> None:
        nonlocal largest
        status = os.statvfs(disk)
        largest = max(largest, (status.f_blocks - status.f_bfree) * status.f_frsize)

    with _provide(disk, None if limit_files else _LARGE):
        run = command.start(disk, errors)
        if run.wait(watch=measure):
            return [f"the undisturbed run failed: {run.describe_errors()}"]
        expected = read_outputs(disk)
        if limit_files:
            largest = max(path.stat().st_size for path in disk.rglob("*") if path.is_file())
    say(f"undisturbed: {largest:,} bytes, {len(expected)} files and directories")
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(times):
        size = (largest + _PAGE) * number // times
        # A tmpfs has at least one page, so it gets one more, which `filler` fills. A limit for each
        # file also applies to standard error, so it is at least one page.
        size = _PAGE * max(size // _PAGE, int(limit_files))
        with _provide(disk, None if limit_files else size + _PAGE):
            (disk / "home").mkdir()
            (disk / "home" / "filler").write_bytes(bytes(_PAGE))
            run = command.start(disk, errors, max_size=size if limit_files else None)
            status = run.wait()
            found = []
            if status:
                counts["failed"] += 1
                message = errors.read_text("utf-8", "replace")
                found += check_message(message, command, expected)
                found += find_incomplete(expected, read_outputs(disk))
                if not limit_files:
                    remount = ["mount", "-o", f"remount,size={_LARGE}", str(disk)]
                    subprocess.run(remount, check=True)
                run = command.start(disk, errors, again)
                status = run.wait()
            if status:
                found.append(f"continued with status {status}: {run.describe_errors()}")
            else:
                found += find_differences(expected, read_outputs(disk))
            found += ["a process is left"] * bool(run.end_session())
        faults += [f"{size:,} bytes: {fault}" for fault in found]
    say(f"{times} disks, {counts['failed']} of them too small, {len(faults)} faults")
    return faults


@contextmanager
def _provide(disk: Path, size: int | None) -> Iterator[None]:
    """Make the directory `disk`, as a file system of its own unless `size` is None."""
    if size is not None:
        with mount(disk, size):
            yield
        return
    disk.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(disk)


def check_message(message: str, command: Command, expected: dict[str, Any]) -> list[str]:
    """Return what is wrong with the messages of a run on a full disk."""
    lines = [line for line in message.splitlines() if line.startswith("depkit: error: ")]
    if len(lines) != 1 or "Traceback" in message or "internal error" in message:
        return [f"there is not one clear error: {message[-600:]!r}"]
    outputs = ["standard output", *{name.split("/")[0] for name in expected} - {"stdout"}]
    inputs = {argument for argument in command.arguments if argument.startswith("/")}
    is_wrong = ".part" in lines[0] or any(name in lines[0] for name in inputs)
    if is_wrong or not any(name in lines[0] for name in outputs):
        return [f"the error does not name the file that is written: {lines[0]}"]
    return []
