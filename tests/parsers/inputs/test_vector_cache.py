import errno
import fcntl
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from depkit.files.lock import remove_abandoned
from depkit.parsers.inputs import vector_cache as feature_cache
from depkit.parsers.inputs.vector_cache import cache_directory, load_or_compute

SIZES = np.array([3, 2, 4])  # words and w0
SHAPE = (2, 5)  # layers, width
Blocks = Iterator[tuple[int, np.ndarray]]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEPKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "features"


def block(sentence: int, rows: int) -> np.ndarray:
    values = 100 * (sentence + 1) + np.arange(rows * 10, dtype=np.float32)
    return values.reshape(rows, *SHAPE)


def produce(order: tuple[int, ...] = (2, 0, 1), words_only: tuple[int, ...] = (0,)) -> Blocks:
    for sentence in order:
        yield sentence, block(sentence, int(SIZES[sentence]) - (sentence in words_only))


def refuse() -> Blocks:
    raise AssertionError("the vectors are already in the cache")


def expected() -> np.ndarray:
    parts = [np.zeros((2, *SHAPE)), block(0, 2), block(1, 2), block(2, 4)]  # padding and a w0
    return np.concatenate(parts).astype(np.float16)


def check_works(directory: Path) -> None:
    """Check that no file is left and that the next call works."""
    assert not list(directory.iterdir())
    np.testing.assert_array_equal(load_or_compute("key", SIZES, SHAPE, produce), expected())


def check_fails(
    directory: Path, produce_blocks: Callable[[], Blocks], kind: type[BaseException], message: str
) -> None:
    with pytest.raises(kind, match=message):
        load_or_compute("key", SIZES, SHAPE, produce_blocks)
    check_works(directory)


def test_vectors_are_stored_in_float16_under_a_constant_name(directory: Path) -> None:
    features = load_or_compute("key", SIZES, SHAPE, produce)
    assert isinstance(features, np.memmap)
    assert features.dtype == np.float16
    assert not features.flags.writeable
    np.testing.assert_array_equal(features, expected())
    (path,) = directory.iterdir()
    assert path.name == "2efc62e51e342f822f13c0a27954480a9ac96e2b0cd4a561d32378b8a027ae25.npy"
    np.testing.assert_array_equal(np.load(path), expected())


def test_a_second_call_produces_nothing(directory: Path) -> None:
    messages: list[str] = []
    first = load_or_compute("key", SIZES, SHAPE, produce, report=messages.append).tobytes()
    assert (
        load_or_compute(
            "key", SIZES.astype(np.int32), SHAPE, refuse, report=messages.append
        ).tobytes()
        == first
    )
    assert len(messages) == 1 and str(directory) in messages[0]
    assert len(list(directory.glob("*"))) == 1


@pytest.mark.parametrize(
    ("key", "sizes", "shape"),
    [("other", SIZES, SHAPE), ("key", SIZES[[1, 0, 2]], SHAPE), ("key", SIZES, (5, 2))],
)
def test_key_sizes_and_shape_select_the_file(
    directory: Path, key: str, sizes: np.ndarray, shape: tuple[int, int]
) -> None:
    first = load_or_compute("key", SIZES, SHAPE, produce)
    blocks = [np.ones((size, *shape)) for size in sizes]
    assert load_or_compute(key, sizes, shape, lambda: enumerate(blocks))[1:].all()
    assert len(list(directory.iterdir())) == 2
    np.testing.assert_array_equal(first, expected())


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content.replace(b"<f2", b"<i2"),
    ],
    ids=["empty", "shorter", "longer", "other header"],
)
def test_a_damaged_file_is_computed_again(
    directory: Path, damage: Callable[[bytes], bytes]
) -> None:
    load_or_compute("key", SIZES, SHAPE, produce)
    (path,) = directory.iterdir()
    original = path.read_bytes()
    path.write_bytes(damage(original))
    np.testing.assert_array_equal(load_or_compute("key", SIZES, SHAPE, produce), expected())
    assert path.read_bytes() == original


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt("^C"), SystemExit(143), OSError("a lost file")]
)
def test_an_interrupted_call_leaves_nothing(directory: Path, error: BaseException) -> None:
    def produce_blocks() -> Blocks:
        yield 2, block(2, 4)
        raise error

    check_fails(directory, produce_blocks, type(error), f"^{re.escape(str(error))}$")


@pytest.mark.parametrize(
    ("sentence", "features", "message"),
    [
        (1, block(1, 2), "sentence 1, which does not exist or came before"),
        (3, block(2, 4), "sentence 3, which does not exist"),
        (-1, block(2, 4), "sentence -1, which does not exist"),
        (0, block(0, 1), r"sentence 0 have shape \(1, 2, 5\), not \(3, 2, 5\)"),
        (0, block(0, 4), r"sentence 0 have shape \(4, 2, 5\), not \(3, 2, 5\)"),
        (0, block(0, 3)[:, :1], r"sentence 0 have shape \(3, 1, 5\), not \(3, 2, 5\)"),
        (0, block(0, 3).swapaxes(1, 2), r"sentence 0 have shape \(3, 5, 2\), not \(3, 2, 5\)"),
        (0, block(0, 3) * -1000, "sentence 0 reach 129000; float16 ends at 65504"),
        (0, block(0, 3) * np.inf, "sentence 0 reach inf"),
        (0, block(0, 3) * np.nan, "sentence 0 reach nan"),
    ],
)
def test_wrong_sentences_shapes_or_values_are_an_error(
    directory: Path, sentence: int, features: np.ndarray, message: str
) -> None:
    blocks = [(1, block(1, 2)), (sentence, features), (2, block(2, 4))]
    check_fails(directory, lambda: iter(blocks), ValueError, message)


def test_missing_vectors_are_an_error(directory: Path) -> None:
    message = "the vectors of 2 sentences are missing, the first is sentence 0"
    check_fails(directory, lambda: produce(order=(2,)), ValueError, message)


def test_the_largest_float16_number_is_accepted() -> None:
    blocks = [np.full((size, *SHAPE), -65504.0) for size in SIZES]
    assert (load_or_compute("key", SIZES, SHAPE, lambda: enumerate(blocks))[1:] == -65504).all()


def test_too_small_a_disk_is_reported_before_anything_is_produced(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=300_000_000)
    with monkeypatch.context() as context:
        context.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(OSError) as caught:
            load_or_compute("key", np.array([120_000_000]), SHAPE, refuse)
    message = "the cache needs 2.4 GB in this directory, but 0.3 GB is free"
    message += "; set DEPKIT_CACHE to a directory on a larger disk"
    assert caught.value.args == (errno.ENOSPC, message)
    assert caught.value.filename == str(directory)
    assert not list(directory.iterdir())


def raise_disk_full(*arguments: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("owner", "call"), [(os, "posix_fallocate"), (np.memmap, "flush"), (os, "replace")]
)
def test_a_full_disk_is_reported(
    directory: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, call: str
) -> None:
    with monkeypatch.context() as context:
        context.setattr(owner, call, raise_disk_full)
        with pytest.raises(OSError, match=r"the cache needs 0.0 MB in this .* is free") as caught:
            load_or_compute("key", SIZES, SHAPE, refuse if call == "posix_fallocate" else produce)
    assert caught.value.filename == str(directory)
    check_works(directory)


def test_a_file_size_limit_is_reported(directory: Path) -> None:
    """The operating system refuses to write the file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="set DEPKIT_CACHE to a directory on a larger disk"):
            load_or_compute("key", SIZES, SHAPE, produce)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(directory.iterdir())


def check_no_access(directory: Path, reason: str) -> None:
    message = rf"the cache cannot be written here \({reason}\); set DEPKIT_CACHE"
    with pytest.raises(OSError, match=message) as caught:
        load_or_compute("key", SIZES, SHAPE, refuse)
    assert caught.value.filename == str(directory)


def test_a_directory_that_cannot_be_made_is_reported(directory: Path) -> None:
    directory.parent.write_text("a file in the way")
    check_no_access(directory, ".*")


def test_files_without_access_are_reported(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_permission_error(path: Path, mode: str) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(feature_cache, "open", raise_permission_error, raising=False)
    check_no_access(directory, "Permission denied")


def test_two_calls_at_once_give_the_same_vectors(directory: Path) -> None:
    """Both calls produce vectors, and neither removes the other's file as abandoned."""
    barrier = threading.Barrier(2, timeout=10)

    def produce_in_parallel() -> Blocks:
        barrier.wait()
        yield from produce()
        barrier.wait()

    def remove_and_produce() -> Blocks:
        remove_abandoned(directory)
        yield from produce_in_parallel()

    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(load_or_compute, "key", SIZES, SHAPE, function)
            for function in (produce_in_parallel, remove_and_produce)
        ]
    for call in calls:
        np.testing.assert_array_equal(call.result(), expected())
    assert len(list(directory.iterdir())) == 1


def test_locks_and_reserving_are_optional(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*arguments: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    other = directory / ".other.1.part"
    other.mkdir(parents=True)
    (other / ".lock").touch()
    monkeypatch.setattr(fcntl, "flock", unsupported)
    monkeypatch.delattr(os, "posix_fallocate")
    np.testing.assert_array_equal(load_or_compute("key", SIZES, SHAPE, produce), expected())
    assert other.exists()  # it may still be written


KILLED = """
import sys, numpy as np
from depkit.parsers.inputs.vector_cache import load_or_compute

def produce():
    yield 2, np.ones((4, 2, 5))
    print("half-way", flush=True)
    sys.stdin.read()

load_or_compute("key", np.array([3, 2, 4]), (2, 5), produce)
"""


def test_the_file_of_a_killed_process_is_removed(directory: Path) -> None:
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"half-way\n"
        (unfinished,) = directory.iterdir()
        remove_abandoned(directory)
        assert unfinished.exists()  # it is being written
        process.kill()
    assert unfinished.exists()
    np.testing.assert_array_equal(load_or_compute("key", SIZES, SHAPE, produce), expected())
    assert [path.suffix for path in directory.iterdir()] == [".npy"]


def test_cache_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setenv("DEPKIT_CACHE", "~/large")
    assert cache_directory() == Path("/home/ann/large")
    monkeypatch.setenv("DEPKIT_CACHE", "")
    assert cache_directory() == Path("/cache/depkit")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == Path("/home/ann/.cache/depkit")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() == Path("/home/ann/.cache/depkit")

    def raise_no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("DEPKIT_CACHE")
    monkeypatch.setattr(Path, "home", raise_no_home)
    with pytest.raises(OSError, match="set DEPKIT_CACHE"):
        cache_directory()
