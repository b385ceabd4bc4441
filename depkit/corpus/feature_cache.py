"""Features computed once and kept on disk, to be mapped into memory by every later run.

A cache file is a NumPy .npy of half precision; its name says what the features depend on.
"""

import errno
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np

from depkit.corpus.sentence import Sentence

Produce = Callable[[], Iterator[tuple[int, np.ndarray]]]

_VERSION = 1  # of the layout; another makes other names
_HALF = np.dtype("<f2")
_LARGEST = 65504.0  # of float16
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def cached(
    key: str,
    sizes: np.ndarray,
    shape: tuple[int, int],
    produce: Produce,
    say: Callable[[str], None] | None = None,
) -> np.ndarray:
    """The features of a corpus, from the cache directory or else produced and put there.

    Laid out as `batches.Dataset`: a row of padding, then for each sentence w0's and its
    words'; a read-only float16 map of [1 + sum of sizes, layers, width]. sizes: [sentences],
    words and w0; shape: (layers, width). produce: yields each sentence's number and its
    [size or size - 1, layers, width], in any order; without a row for w0, that is zeros.
    key: all that the values depend on: model, data, layers, precision. say: is told, before
    they are produced, what is written where.
    A file appears whole or not at all; of two processes that produce the same, each writes
    its own and the last one's stays. Raises ValueError for sentences that are missing, twice
    there or of another size, and for numbers that float16 cannot hold; OSError, naming the
    directory, where it cannot be written or is full, before anything is produced if possible.
    """
    layout = _Layout(sizes, shape)
    path = cache_directory() / "features" / f"{_digest(key, layout)}.npy"
    if not _is_whole(path, layout):
        with _complaints(path.parent, layout):
            path.parent.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(path.parent)
            if shutil.disk_usage(path.parent).free < layout.file_bytes:
                raise OSError(errno.ENOSPC, "")
        if say:
            say(f"features: {_readable(layout.file_bytes)} are computed and kept in {path.parent}")
        with _appearing(path, layout) as file:
            _fill(file, layout, produce, path.parent)
    return np.memmap(path, _HALF, "r", len(layout.header), (layout.rows, *shape))


def cache_directory() -> Path:
    """$DEPKIT_CACHE, else depkit in $XDG_CACHE_HOME, else ~/.cache/depkit; it need not exist.

    Raises OSError where none is set and nobody is at home.
    """
    if chosen := os.environ.get("DEPKIT_CACHE"):
        return Path(os.path.expanduser(chosen))
    common = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(common):  # the XDG specification has relative ones ignored
        return Path(common, "depkit")
    try:
        return Path.home() / ".cache" / "depkit"
    except RuntimeError:
        raise OSError("no home directory to keep features in; set DEPKIT_CACHE") from None


def digest_of_forms(sentences: Iterable[Sentence]) -> str:
    """16 hexadecimal digits that tell the words of a corpus, and where sentences end."""
    digest = hashlib.sha256()
    for sentence in sentences:  # forms hold no line ends, and the number tells where they stop
        lines = "\n".join([str(len(sentence)), *sentence.form, ""])
        digest.update(lines.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class _Layout:
    """Where the rows of a corpus lie in a file."""

    sizes: np.ndarray
    shape: tuple[int, int]

    @cached_property
    def rows(self) -> int:
        return 1 + int(self.sizes.sum())

    @cached_property
    def row_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * _HALF.itemsize

    @cached_property
    def header(self) -> bytes:
        """What a .npy file of these sizes begins with."""
        header = io.BytesIO()
        described = {"descr": _HALF.str, "fortran_order": False, "shape": (self.rows, *self.shape)}
        np.lib.format.write_array_header_1_0(header, described)
        return header.getvalue()

    @cached_property
    def file_bytes(self) -> int:
        return len(self.header) + self.rows * self.row_bytes


def _digest(key: str, layout: _Layout) -> str:
    layers, width = layout.shape
    digest = hashlib.sha256(f"{_VERSION}\n{layers} {width}\n{len(layout.sizes)}\n".encode())
    digest.update(layout.sizes.astype("<i8").tobytes())
    digest.update(key.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _is_whole(path: Path, layout: _Layout) -> bool:
    """Whether there is a file with that header and as many bytes as it promises."""
    try:
        with open(path, "rb") as file:
            right_size = os.fstat(file.fileno()).st_size == layout.file_bytes
            return right_size and file.read(len(layout.header)) == layout.header
    except OSError:
        return False


def _fill(file: BinaryIO, layout: _Layout, produce: Produce, directory: Path) -> None:
    """Write what is produced at its place; what is not written is zeros."""
    sizes = layout.sizes
    starts = 1 + np.cumsum(sizes) - sizes
    missing = np.ones(len(sizes), dtype=bool)
    with _complaints(directory, layout):
        file.write(layout.header)
        file.truncate(layout.file_bytes)
    for number, features in produce():
        if not 0 <= number < len(sizes) or not missing[number]:
            raise ValueError(f"features of sentence {number}, which is not there or came before")
        missing[number] = False
        without = int(sizes[number]) - len(features)  # 1 if w0 has no row
        if without not in (0, 1) or features.shape[1:] != layout.shape:
            expected = (int(sizes[number]), *layout.shape)
            raise ValueError(f"features of sentence {number} are {features.shape}, not {expected}")
        half = _halved(number, features)
        with _complaints(directory, layout):
            file.seek(len(layout.header) + (int(starts[number]) + without) * layout.row_bytes)
            file.write(half.tobytes())
    if missing.any():
        first = int(missing.argmax())
        raise ValueError(f"features of {missing.sum()} sentences are missing, the first is {first}")


def _halved(number: int, features: np.ndarray) -> np.ndarray:
    """In half precision. Raises ValueError for a NaN and what it cannot hold."""
    largest = np.abs(features).max(initial=0)
    if not largest <= _LARGEST:
        message = f"features of sentence {number} reach {largest:g}; float16 ends at {_LARGEST:.0f}"
        raise ValueError(message)
    return features.astype(_HALF)


@contextmanager
def _appearing(path: Path, layout: _Layout) -> Iterator[BinaryIO]:
    """A file beside `path`, renamed to it on success and removed on any failure.

    Its name is random, as processes in containers can have the same id; it is locked, so that
    one left by a killed process can be told from one that is being written.
    """
    with _complaints(path.parent, layout):
        beside, file = _locked(path)
    try:
        yield file
        with _complaints(path.parent, layout):
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, path)
    finally:
        with suppress(OSError):
            file.close()  # what a full disk left in the buffer is not written
        with suppress(OSError):
            beside.unlink()


def _locked(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside `path`, and its lock where there are locks."""
    while True:
        beside = path.with_name(f".{path.stem}.{secrets.token_hex(8)}.part")
        file = open(beside, "xb")
        with suppress(OSError):
            _lock(file)
        if beside.exists():  # or another process took it for abandoned before it was locked
            return beside, file
        file.close()


def _lock(file: BinaryIO) -> None:
    """Locks a file; OSError where another process has, or where there are no locks."""
    try:
        import fcntl
    except ModuleNotFoundError:
        raise OSError(errno.ENOTSUP, "no locks") from None  # Windows
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_abandoned(directory: Path) -> None:
    """Removes what killed processes left half-written: files that nobody locks."""
    for beside in directory.glob(".*.part"):
        with suppress(OSError), open(beside, "rb+") as file:
            _lock(file)
            beside.unlink()


@contextmanager
def _complaints(directory: Path, layout: _Layout) -> Iterator[None]:
    """Every OSError as one that names the directory and says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            free = "too little"
            with suppress(OSError):
                free = _readable(shutil.disk_usage(directory).free)
            why = f"features need {_readable(layout.file_bytes)} here, {free} is free"
            why += "; set DEPKIT_CACHE to a larger disk"
        else:
            why = f"features cannot be kept here ({error.strerror or error}); set DEPKIT_CACHE"
        raise OSError(error.errno, why, str(directory)) from None


def _readable(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 5e7 else f"{size / 1e6:.1f} MB"
