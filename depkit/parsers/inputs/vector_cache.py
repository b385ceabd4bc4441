"""A cache on disk for contextual vectors, which are computed once and then mapped into memory.

A cache file is a NumPy .npy file in half precision. Its name is a digest of everything that the
vectors depend on.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from math import prod
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap

from depkit.files.lock import remove_abandoned, temporary_path

Produce = Callable[[], Iterator[tuple[int, np.ndarray]]]

_VERSION = 1  # of the layout; it is part of the digest in the file names
_FLOAT16 = np.dtype("<f2")
_MAX_FLOAT16 = 65504.0
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RangeError(ValueError):
    """The vectors of a sentence have a number that float16 cannot represent.

    Attributes:
        sentence: The index of the sentence.
        problem: The largest number and the limit, as a predicate of "the vectors".
    """

    def __init__(self, sentence: int, largest: float) -> None:
        self.sentence = sentence
        self.problem = f"reach {largest:g}; float16 ends at {_MAX_FLOAT16:.0f}"
        super().__init__(f"the vectors of sentence {sentence} {self.problem}")


def load_or_compute(
    key: str,
    sizes: np.ndarray,
    shape: tuple[int, int],
    produce: Produce,
    *,
    report: Callable[[str], None] | None = None,
) -> np.ndarray:
    """Load the contextual vectors of a corpus from the cache, or compute and cache them.

    The rows are laid out as in `dataset.Dataset`: a row of padding, then for each sentence the row
    of w0 (the artificial root) and those of its words. A file appears under its name only when it
    is complete. If two processes compute the same vectors, each writes a file of its own, and the
    file that is finished last remains.

    Args:
        key: A description of all that the values depend on: model, data, layers, precision.
        sizes: [sentences] the number of words of each sentence, plus 1 for w0.
        shape: (layers, width) of a word's vectors.
        produce: A function that yields, for each sentence in any order, its index and its vectors
            [size or size - 1, layers, width]. If there are size - 1 rows, w0 gets zeros.
        report: A function that is called with a message before vectors are computed.

    Returns:
        A read-only float16 memory map [1 + sum of sizes, layers, width].

    Raises:
        RangeError: float16 cannot represent the numbers of a sentence.
        ValueError: Sentences are missing, occur twice or have the wrong shape.
        OSError: The cache directory, which the error names, cannot be written or is full; if
            possible, this is detected before vectors are computed.
    """
    full_shape = (1 + int(sizes.sum()), *shape)
    path = cache_directory() / "features" / f"{_digest(key, sizes, shape)}.npy"
    features = _map_file(path, full_shape)
    if features is None:
        with _create_atomically(path, full_shape) as rows:
            if report:
                size = _format_size(rows.nbytes)
                report(f"vectors: {size} are computed and cached in {path.parent}")
            _fill(rows, sizes, produce)
        features = open_memmap(path, "r")
    return features


def cache_directory() -> Path:
    """Return the directory of depkit's cache, which need not exist.

    It is $DEPKIT_CACHE, else depkit in $XDG_CACHE_HOME, else ~/.cache/depkit. Raises OSError if
    neither variable is set and there is no home directory.
    """
    if directory := os.environ.get("DEPKIT_CACHE"):
        return Path(os.path.expanduser(directory))
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(xdg):  # The XDG specification says to ignore relative paths.
        return Path(xdg, "depkit")
    try:
        return Path.home() / ".cache" / "depkit"
    except RuntimeError:
        message = "there is no home directory for the cache; set DEPKIT_CACHE to a directory"
        raise OSError(message) from None


def _digest(key: str, sizes: np.ndarray, shape: tuple[int, int]) -> str:
    layers, width = shape
    digest = hashlib.sha256(f"{_VERSION}\n{layers} {width}\n{len(sizes)}\n".encode())
    digest.update(sizes.astype("<i8").tobytes())
    digest.update(key.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _map_file(path: Path, shape: tuple[int, int, int]) -> np.ndarray | None:
    """Map a file into memory; None if it is missing, incomplete or has another shape or type."""
    try:
        features = open_memmap(path, "r")
        is_complete = path.stat().st_size == features.offset + features.nbytes
    except (OSError, ValueError):
        return None
    matches = is_complete and (features.shape, features.dtype) == (shape, _FLOAT16)
    return features if matches else None


def _fill(features: np.ndarray, sizes: np.ndarray, produce: Produce) -> None:
    """Write the produced vectors to their rows; all other rows remain zeros."""
    starts = 1 + np.cumsum(sizes) - sizes
    missing = np.ones(len(sizes), dtype=bool)
    for index, vectors in produce():
        if not 0 <= index < len(sizes) or not missing[index]:
            reason = "which does not exist or came before"
            raise ValueError(f"vectors were produced for sentence {index}, {reason}")
        missing[index] = False
        size, start = int(sizes[index]), int(starts[index])
        skipped = size - len(vectors)  # 1 if w0 has no row
        if skipped not in (0, 1) or vectors.shape[1:] != features.shape[1:]:
            expected = (size, *features.shape[1:])
            message = f"the vectors of sentence {index} have shape {vectors.shape}, not {expected}"
            raise ValueError(message)
        largest = np.abs(vectors).max(initial=0)
        if not largest <= _MAX_FLOAT16:  # "not <=" instead of ">", so that NaN is also an error
            raise RangeError(index, float(largest))
        features[start + skipped : start + size] = vectors
    if missing.any():
        first = int(missing.argmax())
        count = f"{missing.sum()} sentences are missing, the first is sentence {first}"
        raise ValueError(f"the vectors of {count}")


@contextmanager
def _create_atomically(path: Path, shape: tuple[int, int, int]) -> Iterator[np.ndarray]:
    """Yield the array of a temporary file, which is renamed on success and removed on failure.

    All its disk space is allocated first: writing to a memory map on a full disk would kill the
    process.
    """
    size = prod(shape) * _FLOAT16.itemsize
    with ExitStack() as stack:
        with _explain_errors(path.parent, size):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_abandoned(path.parent)
            temporary = stack.enter_context(temporary_path(path))
            if shutil.disk_usage(path.parent).free < size:
                raise OSError(errno.ENOSPC, "")
            features = open_memmap(temporary, "w+", _FLOAT16, shape)
            if hasattr(os, "posix_fallocate"):
                with open(temporary, "r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, features.offset + features.nbytes)
        yield features
        with _explain_errors(path.parent, size):
            features.flush()
            os.replace(temporary, path)


@contextmanager
def _explain_errors(directory: Path, size: int) -> Iterator[None]:
    """Replace every OSError by one that names the directory and says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_FULL:
            free = "too little"
            with suppress(OSError):
                free = _format_size(shutil.disk_usage(directory).free)
            reason = f"the cache needs {_format_size(size)} in this directory, but {free} is free"
            reason += "; set DEPKIT_CACHE to a directory on a larger disk"
        else:
            reason = f"the cache cannot be written here ({error.strerror or error})"
            reason += "; set DEPKIT_CACHE to another directory"
        raise OSError(error.errno, reason, str(directory)) from None


def _format_size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 5e7 else f"{size / 1e6:.1f} MB"
