"""Files and directories that appear under their names only when they are complete."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from depkit.files.compression import check_output_suffix
from depkit.files.lock import final_name, is_temporary, temporary_path
from depkit.files.storage import PathLike, check_url, is_url, upload
from depkit.files.system import output_descriptor


def check_parent(path: PathLike) -> None:
    """Raise NotADirectoryError if a parent of a path to be written is a file."""
    existing = next((parent for parent in Path(path).parents if parent.exists()), Path())
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(existing))


def check_writable(path: PathLike) -> None:
    """Raise OSError or ConfigError if a file cannot be written.

    Call this before a long computation. A temporary file is made and removed again, because
    permissions alone do not tell: root and network file systems ignore them. Open files,
    directories, pipes and devices are not checked, see `output_descriptor`. For a URL, this only
    checks that the package that opens it is installed.
    """
    if output_descriptor(path) is None and (os.path.isfile(path) or not os.path.exists(path)):
        check_output_suffix(os.fspath(path))
        with suppress(_Discarded), atomic(path) as temporary:
            temporary.touch()
            raise _Discarded


class _Discarded(Exception):
    """Raised within `atomic` to remove all that it has made."""


@contextmanager
def atomic(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` on success and removed on failure.

    Missing directories are created, and removed again on failure. If `path` is a symbolic link, the
    file that it points to is replaced. What a killed process has left of the same file is removed.
    If `path` is a URL, the file is uploaded on success.
    """
    if is_url(path):
        url = os.fspath(path)
        check_url(url)
        with temporary_directory() as directory:
            temporary = directory / "upload"
            yield temporary
            upload(temporary, url)
        return
    check_parent(path)
    target = Path(os.path.realpath(path))
    with (
        _name_target_in_errors(path, target),
        _make_parents(Path(path)),
        temporary_path(target) as temporary,
    ):
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)


@contextmanager
def _make_parents(path: Path) -> Iterator[None]:
    """Make the missing directories above a path; after an error in the block, remove them again."""
    missing = [parent for parent in path.parents if not parent.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise


@contextmanager
def atomic_directory(path: PathLike) -> Iterator[Path]:
    """Yield an empty temporary directory, whose contents are those of `path` on success.

    A directory that exists already is kept, with its permissions, because it may be the current
    directory of a process or a mount point. Only what is in it is replaced. On failure the
    temporary directory is removed, and what is in `path` stays unchanged. Missing directories above
    it are created, and removed again on failure.

    Raises ValueError if `path` is a URL.
    """
    if is_url(path):
        raise ValueError(f"{os.fspath(path)} is a URL; name a directory of this machine")
    target = Path(os.path.realpath(path))
    is_kept = target.is_dir()
    # Within an existing directory, the entries can be moved even if its parent is read-only or on
    # another file system.
    final = target / target.name if is_kept else target
    with (
        _name_target_in_errors(path, final),
        _make_parents(final),
        temporary_path(final) as temporary,
    ):
        temporary.mkdir()
        yield temporary
        if is_kept:
            _replace_entries(target, temporary)
        else:
            os.replace(temporary, target)


def _replace_entries(target: Path, source: Path) -> None:
    """Move the entries of `source` into `target`, and what was there into a directory beside it.

    source: a directory that `temporary_path` has named, in `target`. After an error, everything is
    moved back.
    """
    old = Path(tempfile.mkdtemp(dir=source.parent))
    with ExitStack() as undo:
        for start, end in ((target, old), (source, target)):
            for name in os.listdir(start):
                if not is_temporary(name, source.name):
                    undo.callback(_move_if_there, end / name, start / name)
                    os.rename(start / name, end / name)
        undo.pop_all()


def _move_if_there(source: Path, target: Path) -> None:
    with suppress(FileNotFoundError):
        os.rename(source, target)


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield an empty directory for temporary files, which only the user can read.

    It is removed at the end, and if this process is killed, by the next one that makes such a
    directory. Raises OSError if it cannot be made.
    """
    target = Path(tempfile.gettempdir(), "depkit")
    with name_file_in_errors(target.parent), temporary_path(target) as directory:
        directory.mkdir(mode=0o700)
        yield directory


def copy_directory(source: PathLike, target: PathLike) -> None:
    """Copy the files of a directory and its subdirectories to a directory, which may exist.

    Raises the first OSError, unlike `shutil.copytree`, which raises a list of errors.
    """
    for folder, _, names in os.walk(source, followlinks=True):
        copy = Path(target, os.path.relpath(folder, source))
        copy.mkdir(exist_ok=True)
        for name in names:
            shutil.copy2(Path(folder, name), copy)


@contextmanager
def _name_target_in_errors(path: PathLike, target: Path) -> Iterator[None]:
    """Give an OSError the name that the user knows of the file that is written.

    The error may have no name, that of a temporary path for `target`, or, from `shutil.copy`, first
    the name of the file that is read.
    """
    try:
        with name_file_in_errors(path):
            yield
    except OSError as error:
        for name in (error.filename2, error.filename):
            if final := final_name(name, target):
                relative = os.path.relpath(final, target)
                error.filename = os.path.normpath(os.path.join(path, relative))
                error.filename2 = None
        raise


@contextmanager
def name_file_in_errors(name: PathLike) -> Iterator[None]:
    """Add a file's name to an OSError that has none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno and not error.filename:
            error.filename = os.fspath(name)
        raise
