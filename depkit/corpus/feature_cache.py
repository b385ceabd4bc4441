"""Features computed once and kept on disk, to be mapped into memory by every later run.

A cache file is a NumPy .npy of half precision; its name says what the features depend on.
"""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.format import open_memmap

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
    whole = (1 + int(sizes.sum()), *shape)
    path = cache_directory() / "features" / f"{_digest(key, sizes, shape)}.npy"
    features = _mapped(path, whole)
    if features is None:
        with _appearing(path, whole) as rows:
            if say:
                size = _readable(rows.nbytes)
                say(f"features: {size} are computed and kept in {path.parent}")
            _fill(rows, sizes, produce)
        features = open_memmap(path, "r")
    return features


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


def _digest(key: str, sizes: np.ndarray, shape: tuple[int, int]) -> str:
    layers, width = shape
    digest = hashlib.sha256(f"{_VERSION}\n{layers} {width}\n{len(sizes)}\n".encode())
    digest.update(sizes.astype("<i8").tobytes())
    digest.update(key.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _mapped(path: Path, shape: tuple[int, int, int]) -> np.ndarray | None:
    """A file's array; None if there is no such file, or it is not whole, or it is another."""
    try:
        features = open_memmap(path, "r")
        whole = path.stat().st_size == features.offset + features.nbytes
    except (OSError, ValueError):
        return None
    return features if whole and (features.shape, features.dtype) == (shape, _HALF) else None


def _fill(features: np.ndarray, sizes: np.ndarray, produce: Produce) -> None:
    """Write what is produced at its place; what is not written is zeros."""
    starts = 1 + np.cumsum(sizes) - sizes
    missing = np.ones(len(sizes), dtype=bool)
    for number, block in produce():
        if not 0 <= number < len(sizes) or not missing[number]:
            raise ValueError(f"features of sentence {number}, which is not there or came before")
        missing[number] = False
        size, start = int(sizes[number]), int(starts[number])
        without = size - len(block)  # 1 if w0 has no row
        if without not in (0, 1) or block.shape[1:] != features.shape[1:]:
            expected = (size, *features.shape[1:])
            raise ValueError(f"features of sentence {number} are {block.shape}, not {expected}")
        largest = np.abs(block).max(initial=0)
        if not largest <= _LARGEST:  # put this way round, NaN fails it too
            reach = f"{largest:g}; float16 ends at {_LARGEST:.0f}"
            raise ValueError(f"features of sentence {number} reach {reach}")
        features[start + without : start + size] = block
    if missing.any():
        first = int(missing.argmax())
        raise ValueError(f"features of {missing.sum()} sentences are missing, the first is {first}")


@contextmanager
def _appearing(path: Path, shape: tuple[int, int, int]) -> Iterator[np.ndarray]:
    """The array of a file beside `path`, renamed to it on success and removed on any failure.

    Its name is random, as processes in containers can have the same id; it is locked, so that
    one left by a killed process can be told from one that is being written. All its space is
    taken first: to write to a map on a full disk would kill the process.
    """
    size = prod(shape) * _HALF.itemsize
    with _complaints(path.parent, size):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent)
        beside, file = _locked(path)
    try:
        with _complaints(path.parent, size):
            if shutil.disk_usage(path.parent).free < size:
                raise OSError(errno.ENOSPC, "")
            features = open_memmap(beside, "w+", _HALF, shape)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, features.offset + features.nbytes)
        yield features
        with _complaints(path.parent, size):
            features.flush()
            os.replace(beside, path)
    finally:
        file.close()
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
def _complaints(directory: Path, size: int) -> Iterator[None]:
    """Every OSError as one that names the directory and says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            free = "too little"
            with suppress(OSError):
                free = _readable(shutil.disk_usage(directory).free)
            why = f"features need {_readable(size)} here, {free} is free"
            why += "; set DEPKIT_CACHE to a larger disk"
        else:
            why = f"features cannot be kept here ({error.strerror or error}); set DEPKIT_CACHE"
        raise OSError(error.errno, why, str(directory)) from None


def _readable(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 5e7 else f"{size / 1e6:.1f} MB"
