"""Two processes cannot use a directory at the same time, and killed processes leave no locks."""

import ast
import errno
import fcntl
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import depkit
from depkit.files.atomic import atomic, atomic_directory, copy_directory, temporary_directory
from depkit.files.lock import LOCK, LockedError, lock_directory, remove_abandoned

HOLD = """
import sys, time
from pathlib import Path
from depkit.files.atomic import atomic
from depkit.files.lock import lock_directory
directory = Path(sys.argv[1])
with lock_directory(directory), atomic(directory / "file") as temporary:
    temporary.write_text("half")
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Start a process that locks `used` and writes a file there until it is killed."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "used")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def kill(process):
    process.kill()
    process.wait()


def lock(directory):
    with lock_directory(directory):
        pass


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def test_a_second_process_is_told_of_the_first(holder, tmp_path):
    with pytest.raises(LockedError, match=f"used is in use by process {holder.pid}; wait"):
        lock(tmp_path / "used")
    assert names(tmp_path / "used") == [".file.1.part", LOCK]
    (tmp_path / "used" / LOCK).write_text("12 node-7")  # as on another machine
    with pytest.raises(LockedError, match="used is in use by process 12 on node-7; wait"):
        lock(tmp_path / "used")
    (tmp_path / "used" / LOCK).write_text("12 \x1b[2J")
    with pytest.raises(LockedError, match="used is in use by another process; wait"):
        lock(tmp_path / "used")


def test_a_killed_process_leaves_neither_a_lock_nor_files(holder, tmp_path):
    kill(holder)
    assert names(tmp_path / "used") == [".file.1.part", LOCK]
    with lock_directory(tmp_path / "used"):
        assert names(tmp_path / "used") == [LOCK]
    assert not names(tmp_path / "used")


def test_a_process_writes_beside_another_and_replaces_a_killed_one(holder, tmp_path):
    target = tmp_path / "used" / "file"
    for part in (".file.2.part", ".file.1.part"):
        with atomic(target) as temporary:
            assert temporary.parent.name == part and not temporary.exists()
            temporary.write_text(part)
            remove_abandoned(tmp_path / "used")
            assert temporary.read_text() == part
        assert target.read_text() == part
        kill(holder)
    assert names(tmp_path / "used") == [LOCK, "file"]


def test_what_does_not_belong_to_killed_processes_remains(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / LOCK).touch()
    (tmp_path / ".a.1.part").symlink_to(tmp_path / "precious")
    (tmp_path / ".a.2.part").touch()
    (tmp_path / ".a.3.part").mkdir()
    (tmp_path / ".a.3.part" / "download").touch()
    before = names(tmp_path)
    with atomic(tmp_path / "a") as temporary:
        assert temporary.parent.name == ".a.4.part"
        temporary.touch()
    lock(tmp_path)
    assert names(tmp_path) == sorted([*before, "a"])
    assert names(tmp_path / "precious") == [LOCK]


def test_a_lock_does_not_follow_symbolic_links(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / LOCK).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        lock(tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("kind", ["hard link", "content", "FIFO", "long"])
def test_a_file_that_is_no_lock_is_neither_overwritten_nor_removed(kind, tmp_path):
    precious, path = tmp_path / "precious", tmp_path / "used" / LOCK
    path.parent.mkdir()
    text = {"hard link": "12 node", "content": "pip\n", "FIFO": "", "long": "1" * 400}[kind]
    if kind == "FIFO":
        os.mkfifo(path)
    else:
        path.write_text(text)
    if kind == "hard link":
        os.link(path, precious)
    for _ in range(2):
        with pytest.raises(FileExistsError, match="not a lock of depkit; move it") as error:
            lock(tmp_path / "used")
        assert error.value.filename == str(path)
    assert kind == "FIFO" or path.read_text() == text
    # A directory that has such a file is not one that a killed process has left.
    os.rename(path.parent, tmp_path / ".a.1.part")
    remove_abandoned(tmp_path)
    assert names(tmp_path / ".a.1.part") == [LOCK]


def test_directories_that_remain_empty_are_removed_if_they_are_new(tmp_path):
    (tmp_path / "kept").mkdir()
    lock(tmp_path / "kept" / "new" / "deep")
    assert names(tmp_path) == ["kept"] and not names(tmp_path / "kept")
    with lock_directory(tmp_path / "filled"):
        (tmp_path / "filled" / "file").touch()
    assert names(tmp_path / "filled") == ["file"]


def test_only_one_of_many_threads_has_a_lock(tmp_path):
    barrier, inside, counts = Barrier(8), [], []

    def lock_often(_):
        barrier.wait()
        locked = 0
        while locked < 20:
            try:
                with lock_directory(tmp_path / "new" / "used"):
                    inside.append(1)
                    counts.append(len(inside))
                    inside.pop()
                    locked += 1
            except LockedError as error:
                assert f"process {os.getpid()};" in str(error) or "another" in str(error)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lock_often, range(8)))
    assert max(counts) == 1


def test_threads_that_write_the_same_file_do_not_mix(tmp_path):
    barrier = Barrier(8)

    def write_often(thread):
        barrier.wait()
        for _ in range(50):
            with atomic(tmp_path / "file") as path:
                path.write_text(f"{thread}" * 1_000)
            with atomic_directory(tmp_path / f"directory-{thread}") as path:
                (path / "file").touch()
            remove_abandoned(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_often, range(8)))
    assert (tmp_path / "file").read_text() in {f"{thread}" * 1_000 for thread in range(8)}
    assert names(tmp_path) == [*(f"directory-{thread}" for thread in range(8)), "file"]


@pytest.mark.parametrize("system", ["network", "neither"])
def test_without_locks_nothing_is_locked_and_nothing_mixes(tmp_path, monkeypatch, system):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    if system == "neither":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.delattr(os, "getuid")
    with lock_directory(tmp_path), lock_directory(tmp_path):
        with atomic(tmp_path / "a") as first, atomic(tmp_path / "a") as second:
            assert first != second
            first.write_text("first")
            second.write_text("second")
            remove_abandoned(tmp_path)
    assert (tmp_path / "a").read_text() == "first"
    assert names(tmp_path) == ["a"]


def test_all_that_killed_processes_left_of_a_target_is_removed(tmp_path):
    for name in (".a[1].1.part", ".a[1].2.part", ".b.1.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / LOCK).touch()
    with atomic(tmp_path / "a[1]") as temporary:
        temporary.touch()
    assert names(tmp_path) == [".b.1.part", "a[1]"]


@pytest.mark.parametrize("name", ["n" * 240, "n" * 254, "\u00fc" * 127, "[" * 254])
def test_names_of_up_to_255_bytes_are_written(name, tmp_path):
    first, second, directory = (tmp_path / f"{name}{end}" for end in "abc")
    for target in (first, second):
        with atomic(target) as temporary:
            temporary.write_text("old")
        temporary.parent.mkdir()
        (temporary.parent / LOCK).touch()
    assert len(names(tmp_path)) == 4
    with atomic(first) as temporary, pytest.raises(OSError) as error, atomic(second) as other:
        temporary.write_text("new")
        other.mkdir()
        other.write_text("new")
    assert error.value.filename == str(second)
    for _ in range(2):
        with atomic_directory(directory) as temporary:
            (temporary / "file").touch()
        assert names(directory) == ["file"]
    assert names(tmp_path) == sorted(path.name for path in (first, second, directory))
    assert (first.read_text(), second.read_text()) == ("new", "old")


def test_the_temporary_directory_of_a_killed_process_is_removed(tmp_path):
    hold = """
from depkit.files.atomic import temporary_directory
with temporary_directory() as directory:
    (directory / "file").touch()
    print("made", flush=True)
    input()
"""
    command = [sys.executable, "-c", hold]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, **pipes) as process:
        assert process.stdout.readline() == "made\n"
        (left,) = tmp_path.iterdir()
        kill(process)
    assert (left / "depkit" / "file").exists()
    before, tempfile.tempdir = tempfile.tempdir, str(tmp_path)
    try:
        with temporary_directory() as directory:
            assert directory.stat().st_mode & 0o777 == 0o700 and not list(directory.iterdir())
            assert list(tmp_path.iterdir()) == [directory.parent]
    finally:
        tempfile.tempdir = before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("is_directory", [False, True])
def test_a_full_disk_is_reported_for_the_file_that_is_written(tmp_path, is_directory):
    source, target = tmp_path / "source", tmp_path / "link"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "file").write_bytes(bytes(5000))
    (tmp_path / "new").mkdir()
    target.symlink_to("new/target")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # stands for a disk of this size
    try:
        with pytest.raises(OSError, match="File too large") as error:
            if is_directory:
                with atomic_directory(target) as temporary:
                    copy_directory(source, temporary)
            else:
                with atomic(target) as temporary:
                    shutil.copy(source / "deep" / "file", temporary)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    expected = target / "deep" / "file" if is_directory else target
    assert (error.value.filename, error.value.filename2) == (str(expected), None)
    assert not list((tmp_path / "new").iterdir())


class Msvcrt:
    """A stand-in for the module of Windows, whose locks are of bytes of open files."""

    LK_NBLCK = 2

    def __init__(self):
        self.locks = {}  # the descriptor by the file and the byte

    def locking(self, descriptor, mode, size):
        assert (mode, size) == (self.LK_NBLCK, 1)
        status = os.fstat(descriptor)
        key = status.st_dev, status.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        holder = self.locks.get(key, descriptor)
        if holder != descriptor and os.path.exists(f"/proc/self/fd/{holder}"):
            held = os.fstat(holder)
            if (held.st_dev, held.st_ino) == key[:2]:
                raise OSError(errno.EDEADLK, "locked")
        self.locks[key] = descriptor


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the stand-in needs it")
def test_locks_of_windows(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "getuid")
    abandoned = tmp_path / ".a.1.part"
    abandoned.mkdir()
    (abandoned / LOCK).touch()
    with lock_directory(tmp_path):
        assert names(tmp_path) == [LOCK]
        with pytest.raises(LockedError, match=f"in use by process {os.getpid()}; wait"):
            lock(tmp_path)
        with atomic(tmp_path / "a") as temporary:
            temporary.write_text("a")
    assert names(tmp_path) == ["a"]
    lock(tmp_path)


# What only some systems have. Modules may use what they ask for with `hasattr` or `getattr`.
MODULES = {"fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "winreg"}
NAMES = {
    "os": {"fork", "forkpty", "getuid", "geteuid", "getgid", "uname", "mkfifo", "setsid", "killpg",
           "sched_getaffinity", "chown", "wait4", "statvfs", "nice"},
    "signal": {"SIGKILL", "SIGHUP", "SIGALRM", "alarm", "setitimer", "pthread_sigmask"},
}  # fmt: skip
PATHS = re.compile("/(bin|dev|etc|home|opt|proc|sys|tmp|usr|var)(/|$)")
SYSTEM = Path("files/system.py")


def find_unportable(tree):
    """Yield what only some systems have in the code of a module, without its docstrings."""
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            yield from MODULES.intersection(names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in NAMES.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node not in docstrings and PATHS.match(node.value):
                yield node.value


def test_only_one_module_knows_the_operating_system():
    root = Path(depkit.__file__).parent
    found = {}
    for path in root.rglob("*.py"):
        names = set(find_unportable(ast.parse(path.read_text("utf-8"))))
        if names:
            found[path.relative_to(root)] = names
    assert {"fcntl", "/dev/kfd", "os.getuid", "signal.SIGKILL"} <= found.pop(SYSTEM)
    assert found == {}
