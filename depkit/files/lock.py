"""Locks on directories, which the operating system frees when their process ends in any way.

The lock is on a file in the directory: network file systems cannot lock a directory, and some of
them refuse to write to a locked file. On a file system without locks, nothing is locked.

The package filelock is not used. Its locks say neither which process has locked a directory nor
whether an existing file is a lock or somebody's data, and it would be needed for 20 lines only.
"""

import errno
import hashlib
import os
import platform
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from glob import escape
from itertools import count
from pathlib import Path
from typing import BinaryIO

from depkit.files.system import is_own, lock_file, open_own, removes_open_files

LOCK = ".lock"
_MAX_ATTEMPTS = 100
_MAX_OWNER = 300  # bytes
_MAX_NAME = 240  # bytes of a name in that of its temporary directory, which has at most 255
_OWNER = re.compile(rb"(\d{1,20}( [^\s\0]*)?)?")  # the content of a lock: a process and its machine


class LockedError(ValueError):
    """A directory is in use by another process, or by another thread."""


@contextmanager
def lock_directory(directory: Path) -> Iterator[None]:
    """Within the block, no other process or thread can lock the directory.

    The directory is made if it does not exist, and removed at the end if it is still empty. What
    killed processes left in it is removed, see `remove_abandoned`.

    Raises:
        LockedError: If the directory is locked already; the message names the process.
        OSError: If the directory or the file in it cannot be made, or if another file has its name.
    """
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    try:
        file = _lock(directory)
        try:
            remove_abandoned(directory)
            yield
        finally:
            if file and not removes_open_files():
                file.close()
            # Another process that locks the directory from now on makes a file of its own.
            with suppress(PermissionError) if not removes_open_files() else nullcontext():
                (directory / LOCK).unlink(missing_ok=True)
            if file:
                file.close()
    finally:
        with suppress(OSError):
            for folder in missing:
                folder.rmdir()


@contextmanager
def temporary_path(target: Path) -> Iterator[Path]:
    """Yield the path of a file or directory to be made and then renamed to `target`.

    No other process uses the path. At the end, what is there is removed. The path is in a locked
    directory beside `target`, which the next process that writes `target` removes if this one is
    killed.

    Raises OSError if that directory cannot be made.
    """
    remove_abandoned(target.parent, target.name)
    folder, file = _make_folder(target)
    try:
        yield folder / target.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if file:
            file.close()
            if not removes_open_files():
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()  # On NFS, a file that is removed disappears when it is closed.


def final_name(name: object, target: Path) -> str | None:
    """Return the name that a file will have when its temporary path is renamed to `target`.

    name: a file name in an error. Returns None if it is not that of a temporary path for `target`,
    or of a file in it.
    """
    if not isinstance(name, str) or not name.startswith(_prefix(target)):
        return None
    _, *names = Path(name).relative_to(target.parent).parts
    return str(Path(target, *names[1:]))


def is_temporary(name: str, target: str) -> bool:
    """Return whether this is the name of a directory that holds the temporary path of a file.

    target: the name of the file.
    """
    return name.startswith(f".{_shorten(target)}.") and name.endswith(".part")


def _prefix(target: Path) -> str:
    return str(target.with_name(f".{_shorten(target.name)}."))


def _shorten(name: str) -> str:
    """Return a target's name; a very long one is cut, with a digest of it at the end."""
    encoded = os.fsencode(name)
    if len(encoded) <= _MAX_NAME:
        return name
    return f"{name[:50]}.{hashlib.sha256(encoded).hexdigest()[:16]}"


def remove_abandoned(directory: Path, target: str = "") -> None:
    """Remove the temporary paths of killed processes in a directory.

    target: the name of the file or directory whose temporary paths are removed; "" for all.
    """
    pattern = escape(_shorten(target)) if target else "*"
    for folder in directory.glob(f".{pattern}.*.part"):
        _remove_if_abandoned(folder)


def _make_folder(target: Path) -> tuple[Path, BinaryIO | None]:
    """Make and lock a directory for `temporary_path`; return it and its locked file."""
    for number in count(1):
        folder = Path(f"{_prefix(target)}{number}.part")
        with suppress(FileExistsError, LockedError):  # another process uses this number
            folder.mkdir()
            try:
                return folder, _lock(folder)
            except LockedError:
                raise
            except BaseException:  # also a signal that ends this process here
                shutil.rmtree(folder, ignore_errors=True)
                raise
    raise AssertionError  # for mypy: the loop does not end


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a directory of `temporary_path` that no process has locked.

    Without locks, it is not removed: it may be in use.
    """
    with suppress(OSError, LockedError):
        if not folder.is_dir() or folder.is_symlink() or not is_own(folder):
            return  # It may lead to files of any kind.
        # It is empty if the process was killed before it locked the directory.
        if (folder / LOCK).exists() or not any(folder.iterdir()):
            if file := _lock(folder):
                with file:
                    shutil.rmtree(folder, ignore_errors=not removes_open_files())
                if not removes_open_files():
                    shutil.rmtree(folder)


def _lock(directory: Path) -> BinaryIO | None:
    """Make a directory if it does not exist, and lock it until the returned file is closed.

    Returns None if locks are not supported. Raises LockedError and OSError as `lock_directory`.
    """
    path = directory / LOCK
    attempts = 0
    while True:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file = open(path, "r+b", buffering=0, opener=open_own)
        except (FileNotFoundError, FileExistsError):
            # Another process has just removed the directory, or something else has its name.
            attempts += 1
            if attempts == _MAX_ATTEMPTS:
                raise
            continue
        try:
            _check_own(file, path)
        except BaseException:
            file.close()
            raise
        try:
            is_locked = lock_file(file)
        except BlockingIOError:
            with file:
                raise LockedError(
                    f"{directory} is in use by {_read_owner(file)}; wait until it has ended, or"
                    " name another directory"
                ) from None
        if not is_locked:
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                with suppress(OSError):  # The disk is full, but the lock is valid.
                    file.write(f"{os.getpid()} {platform.node()}".encode())
                    # Truncating first would make ext4 write to the disk when the file is closed.
                    file.truncate()
                return file
        file.close()  # Its process has just ended and removed it.


def _check_own(file: BinaryIO, path: Path) -> None:
    """Raise FileExistsError if a file is not a lock that depkit has made.

    A lock is a regular file with no other name, which is empty or contains a process and a machine.
    """
    status = os.fstat(file.fileno())
    is_own, content = stat.S_ISREG(status.st_mode) and status.st_nlink <= 1, b""
    if is_own:
        with suppress(OSError):  # A file system may refuse to read a locked file.
            content = file.read(_MAX_OWNER)
            file.seek(0)
    if not is_own or not _OWNER.fullmatch(content):
        reason = "this is not a lock of depkit; move it, or name another directory"
        raise FileExistsError(errno.EEXIST, reason, str(path))


def _read_owner(file: BinaryIO) -> str:
    """Describe the process that has locked a file."""
    content = b""
    with suppress(OSError):
        content = file.read(_MAX_OWNER)
    process, _, machine = content.decode("utf-8", "replace").partition(" ")
    if not process.isdecimal() or not machine.isprintable():
        return "another process"
    return f"process {process}" + (f" on {machine}" if machine != platform.node() else "")
