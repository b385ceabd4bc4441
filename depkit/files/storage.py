"""Files that are named by a path or by a URL, such as s3://bucket/in.txt or memory://in.txt.

URLs are opened by fsspec, which needs a further package for most kinds of store, such as s3fs.
These packages are imported when a URL is used.
"""

import errno
import io
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, cast

from depkit.files.byte_source import ByteSource
from depkit.files.errors import ConfigError
from depkit.files.system import output_descriptor

PathLike = str | os.PathLike[str]

# URLs can be chained, as in simplecache::s3://bucket/in.txt.
_URL = re.compile(r"[A-Za-z][\w+.:-]*://")
_FETCH = 1 << 20  # bytes that are read ahead
_BUFFER = 1 << 16  # bytes


def is_url(path: PathLike) -> bool:
    """Return whether a file is named by a URL."""
    return bool(_URL.match(os.fspath(path)))


def check_url(url: str) -> None:
    """Raise ValueError or OSError if no package is installed that opens URLs of this kind."""
    with _name_url_in_errors(url):
        _find_store(url)


def is_stdout(path: PathLike) -> bool:
    """Return whether an output goes to stdout, which is named - or /dev/stdout."""
    return output_descriptor(path) == 1


def is_rereadable(path: PathLike) -> bool:
    """Return whether a file can be read several times, unlike stdin and pipes.

    Whether there is a file at a URL is not checked.
    """
    return is_url(path) or os.path.isfile(path)


def file_identity(path: PathLike) -> object:
    """Return a value that is the same for all names of a file; None if it is not a regular file.

    `-` is stdin or stdout, not a file with this name. For a URL, the value is the URL itself,
    whether or not there is a file; file:// names a path.
    """
    name = os.fspath(path).removeprefix("file://")
    if is_url(name):
        return name
    status = os.stat(name) if name != "-" and os.path.isfile(name) else None
    return status and (status.st_dev, status.st_ino)


def check_overwriting(sources: Iterable[object], targets: Iterable[PathLike]) -> None:
    """Raise ConfigError if a file to write is also a file to read, under any of its names.

    Sources that do not name a file are ignored, such as sentences, or the text of a pattern.
    """
    paths = (source for source in sources if isinstance(source, str | os.PathLike))
    files_to_read = set(map(file_identity, paths)) - {None}
    for target in targets:
        if file_identity(target) in files_to_read:
            raise ConfigError(
                f"{os.fspath(target)} is one of the files to read; write to another file"
            )


def file_size(path: PathLike) -> int:
    """Return the size of a file in bytes; 0 if the store does not report it.

    Raises OSError, and ValueError for URLs.
    """
    if not is_url(path):
        return os.path.getsize(path)
    with _name_url_in_errors(path):
        store, name = _find_store(path)
        return store.size(name) or 0


def file_version(path: PathLike) -> int | str:
    """Return a value that changes when the file changes.

    It is the time of the last change, or for a URL a digest of what the store reports about the
    file. Raises OSError, and ValueError for URLs.
    """
    if not is_url(path):
        return os.stat(path).st_mtime_ns
    with _name_url_in_errors(path):
        store, name = _find_store(path)
        return store.ukey(name)


def open_file(path: PathLike) -> BinaryIO:
    """Open a file for reading its bytes.

    Raises OSError, and ValueError for URLs and if `path` is a text instead of the name of a file.
    """
    name = os.fspath(path)
    if ("\n" in name or "\t" in name) and not os.path.exists(name):
        raise ValueError(
            f"the name of a file is expected, not a text: {name[:40]!r}; a text can be read from"
            " io.StringIO(text)"
        )
    if not is_url(path):
        return open(path, "rb")
    with _name_url_in_errors(path):
        store, name = _find_store(path)
        stream = _StoredStream(store.open(name, "rb", block_size=_FETCH), os.fspath(path))
    return cast(BinaryIO, io.BufferedReader(stream, _BUFFER))


def upload(source: PathLike, url: str) -> None:
    """Copy a local file to a URL, where it appears only when it is complete.

    Raises OSError and ValueError.
    """
    with _name_url_in_errors(url):
        from fsspec.asyn import AsyncFileSystem

        store, name = _find_store(url)
        if isinstance(store, AsyncFileSystem):  # An object store shows only complete objects.
            store.put_file(source, name)
            return
        partial = f"{name}.{secrets.token_hex(4)}.part"
        store.makedirs(store._parent(name), exist_ok=True)
        try:
            store.put_file(source, partial)
            store.mv(partial, name)
        except BaseException:
            with suppress(Exception):
                store.rm_file(partial)
            raise


def _find_store(url: PathLike) -> tuple[Any, str]:
    """Return the file system of fsspec for a URL, and the file's name in it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError:
        raise ImportError("URLs need fsspec: pip install fsspec") from None
    return url_to_fs(os.fspath(url))


@contextmanager
def _name_url_in_errors(url: PathLike) -> Iterator[None]:
    """Turn the exceptions of fsspec, which have many types, into one that names the URL.

    It is a ValueError if a package is missing, otherwise an OSError.
    """
    url = os.fspath(url)
    try:
        yield
    except ImportError as error:
        raise ValueError(f"{url}: {error}") from error
    except Exception as error:
        number, reason = errno.EIO, " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, FileNotFoundError):  # Its message may be only the name of the file.
            number, reason = errno.ENOENT, os.strerror(errno.ENOENT)
        if isinstance(error, OSError) and error.strerror:
            number, reason = error.errno or number, error.strerror
        raise OSError(number, reason, url) from error


class _StoredStream(ByteSource):
    """A stream of the bytes of a file in a store, whose errors name the URL."""

    def __init__(self, file: Any, url: str) -> None:
        self.file, self.url = file, url

    def read_chunk(self, size: int) -> bytes:
        with _name_url_in_errors(self.url):
            return self.file.read(size)

    def seekable(self) -> bool:
        return self.file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _name_url_in_errors(self.url):
            return self.file.seek(offset, whence)

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()
