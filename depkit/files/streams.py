"""Streams of the bytes and lines of files.

The name `-` stands for stdin or stdout, and .gz and .xz files are compressed or decompressed.
"""

import codecs
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from depkit.files.atomic import atomic, name_file_in_errors
from depkit.files.byte_source import ByteSource
from depkit.files.compression import check_first_bytes, check_output_suffix
from depkit.files.encodings import BOM, check_encoding
from depkit.files.errors import FormatError
from depkit.files.limits import XzStream, limit_stream
from depkit.files.storage import PathLike, is_stdout, open_file
from depkit.files.system import output_descriptor
from depkit.files.terminal import EscapingStream

STDIN, STDOUT = "standard input", "standard output"  # their names in errors


@contextmanager
def open_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[TextIO]:
    r"""Open a text stream whose lines end only at \n and keep their line ends.

    Bytes that cannot be decoded become surrogates, which the reader reports with their line.
    Raises ValueError for an unknown encoding, FormatError for a file in UTF-16 or UTF-32 if
    `encoding` is not, or for a line that is too long, and the errors of `open_bytes`.
    """
    with (
        open_bytes(path) as binary,
        decode_lines(binary, encoding, os.fspath(path), has_sentences=False) as lines,
    ):
        yield lines


@contextmanager
def decode_lines(
    binary: BinaryIO, encoding: str, file: str, has_sentences: bool | None
) -> Iterator[TextIO]:
    """Decode a stream of bytes as `open_lines` does; the stream stays open.

    file: The name of the stream, for errors; has_sentences: as for `limits.limit_stream`.
    """
    if peek := getattr(binary, "peek", None):
        check_encoding(peek(1024), encoding, file)
    limited = limit_stream(binary, encoding, file, has_sentences)
    with _wrap_text(limited, encoding) as text:
        yield text


def lines_on_arrival(
    binary: BinaryIO,
    encoding: str,
    file: str,
    *,
    has_sentences: bool | None,
    has_arrived: Callable[[], bool],
) -> Iterator[str]:
    """Yield the lines of a pipe as `decode_lines` does, and "" whenever no more have arrived.

    Raises the errors of `decode_lines`. has_arrived: see `arrival.make_arrival_test`.
    """
    if peek := getattr(binary, "peek", None):
        check_encoding(peek(1024), encoding, file)
    limited = limit_stream(binary, encoding, file, has_sentences)
    try:
        decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    except LookupError:
        raise ValueError(f"the text encoding {encoding!r} is unknown") from None
    rest = ""
    for data in chain(read_on_arrival(limited, has_arrived), [b""]):
        if data is None:
            yield ""
            continue
        *lines, rest = (rest + decoder.decode(data, not data)).split("\n")
        for line in lines:
            yield line + "\n"
    if rest:
        yield rest


def read_on_arrival(
    binary: BinaryIO, has_arrived: Callable[[], bool] | None
) -> Iterator[bytes | None]:
    """Yield the bytes that are available, and None whenever no more have arrived."""
    while True:
        if has_arrived and not has_arrived():
            yield None
        data = _read_available(binary)
        if not data:
            return
        yield data


@contextmanager
def open_bytes(path: PathLike, stream: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """Open a stream of a file's decompressed bytes; `-` is stdin.

    stream: the bytes of the file, if it is open already. Raises OSError, and FormatError for a
    damaged archive or an unknown compression.
    """
    name = os.fspath(path)
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    if name == "-":
        stream = stream or sys.stdin.buffer
    with nullcontext(stream) if stream else open_file(name) as file:
        try:
            with (
                name_file_in_errors(STDIN if name == "-" else name),
                _wrap_compression(_wrap_watch(file), name, "rb") as binary,
            ):
                yield binary
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError) as error:
            raise FormatError(name, 0, "", f"the archive is damaged: {error}") from None


Watch = Callable[[int], None]
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watch_reading(watch: Watch) -> Iterator[None]:
    """Within the block, call `watch` with the number of bytes of every chunk read from a file.

    For a compressed file, the compressed bytes are counted, so that their sum can be compared with
    the file's size.
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def _wrap_watch(file: BinaryIO) -> BinaryIO:
    """Wrap a file so that its reads are reported if this is called within `watch_reading`."""
    watch = _watch.get()
    if not watch:
        return file
    return cast(BinaryIO, io.BufferedReader(_WatchedStream(file, watch), _OPENING_SIZE))


class _WatchedStream(ByteSource):
    """A stream that calls `watch` with the number of bytes of every read."""

    def __init__(self, file: BinaryIO, watch: Watch) -> None:
        self.file = file
        self.watch = watch

    def read_chunk(self, size: int) -> bytes:
        chunk: bytes = self.file.read1(size)  # type: ignore[attr-defined]
        self.watch(len(chunk))
        return chunk

    def fileno(self) -> int:
        return self.file.fileno()

    def seekable(self) -> bool:
        return self.file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self.file.seek(offset, whence)


def read_opening(binary: BinaryIO, encoding: str) -> tuple[list[str], BinaryIO]:
    """Read the lines up to the blank line after the first sentence or paragraph of a stream.

    At most 64 KB are read; a line that does not end within them is omitted. Returns the lines, and
    a stream that contains all bytes, including those that have been read.
    """
    opening, lines, end = b"", [""], 0  # end: the index of the blank line
    while not end and len(opening) < _OPENING_SIZE:
        chunk = _read_available(binary)
        if not chunk:
            binary = io.BytesIO()  # Reading a terminal again would need a second Ctrl-D.
            break
        opening += chunk
        lines = opening.decode(encoding, "replace").removeprefix(BOM).split("\n")
        indices = (i for i, line in enumerate(lines) if not _is_blank_or_comment(line))
        first = next(indices, len(lines))
        end = next((i for i, line in enumerate(lines[:-1]) if i > first and not line.strip()), 0)
    stream = io.BufferedReader(_RewoundStream(opening, binary))
    return lines[: end or (None if len(opening) < _OPENING_SIZE else -1)], cast(BinaryIO, stream)


_OPENING_SIZE = 1 << 16  # bytes


def _is_blank_or_comment(line: str) -> bool:
    return line.startswith("#") or not line.strip()


def _read_available(binary: BinaryIO) -> bytes:
    """Read what is available without waiting for more; b"" at the end."""
    return binary.read1(_OPENING_SIZE)  # type: ignore[attr-defined]


class _RewoundStream(ByteSource):
    """A stream of the bytes that were already read and of the rest of another stream."""

    def __init__(self, opening: bytes, rest: BinaryIO) -> None:
        self.opening = opening
        self.rest = rest

    def fileno(self) -> int:
        return self.rest.fileno()

    def read_chunk(self, size: int) -> bytes:
        available = self.opening or _read_available(self.rest)
        self.opening = available[size:]
        return available[:size]


class RecordedStream(ByteSource):
    """A stream that records what is read of its beginning, to be read again after `rewind`."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.record, self.has_ended = file, b"", False

    def fileno(self) -> int:
        return self.file.fileno()

    def read_chunk(self, size: int) -> bytes:
        chunk: bytes = self.file.read1(size)  # type: ignore[attr-defined]
        self.record += chunk
        self.has_ended = not chunk
        return chunk

    def open(self) -> BinaryIO:
        """Return a stream for reading the beginning."""
        return cast(BinaryIO, io.BufferedReader(self, _OPENING_SIZE))

    def rewind(self) -> BinaryIO:
        """Return a stream of all bytes, to be used when the beginning has been read."""
        # Reading a terminal again would need a second Ctrl-D.
        rest = cast(BinaryIO, io.BytesIO()) if self.has_ended else self.file
        return cast(BinaryIO, io.BufferedReader(_RewoundStream(self.record, rest), _OPENING_SIZE))


@contextmanager
def open_output(
    path: PathLike,
    encoding: str = "utf-8",
    colours: bool = False,
    *,
    renames: ExitStack | None = None,
) -> Iterator[TextIO]:
    """Open a text stream for a file that appears under its name only when it is complete.

    `-` is stdout. If it is a terminal, control characters are escaped: people look at it, and a
    program that reads the data reads them from a pipe or a file, where every byte stays. A pipe, a
    device or a file that is open already, such as /dev/fd/3, is written to directly.

    Args:
        path: The path of the file.
        encoding: The text encoding.
        colours: Whether colours stay on a terminal, see `terminal.escape_controls`.
        renames: A stack whose exit gives the file its name. Files that share a stack appear only
            when all of them are complete. By default, the file gets its name when it is closed.

    Raises:
        ConfigError: The name asks for a compression that depkit does not write, such as .zip.
        OSError: The file cannot be written.
        ValueError: The encoding is unknown.
    """
    with open_binary_output(path, renames) as binary, _wrap_text(binary, encoding) as text:
        is_terminal = is_stdout(path) and sys.stdout.isatty()
        yield cast(TextIO, EscapingStream(text, colours)) if is_terminal else text


def is_written_directly(path: PathLike) -> bool:
    """Return whether bytes go to the named file at once: it is open, a pipe or a device."""
    name = os.fspath(path)
    is_open = output_descriptor(name) is not None
    return is_open or (os.path.exists(name) and not os.path.isfile(name))


@contextmanager
def open_binary_output(path: PathLike, renames: ExitStack | None = None) -> Iterator[BinaryIO]:
    """Open a stream of the bytes of a file or of stdout; see `open_output`."""
    name = os.fspath(path)
    if not is_written_directly(name):
        check_output_suffix(name)
    if is_stdout(name):
        if sys.stdout is None:
            raise OSError("standard output is closed")
        with name_file_in_errors(STDOUT):
            yield cast(BinaryIO, _NamedOutput(sys.stdout.buffer, STDOUT))
        return
    with (
        name_file_in_errors(name),
        ExitStack() as own_renames,
        open((renames or own_renames).enter_context(_choose_destination(name)), "wb") as file,
        _wrap_compression(cast(BinaryIO, _NamedOutput(file, name)), name, "wb") as binary,
    ):
        yield binary


class _NamedOutput:
    """A stream whose errors have the name of its file.

    They get it here, because several files may be written at the same time.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file, self.file_name = file, name

    def write(self, data: bytes) -> int:
        with name_file_in_errors(self.file_name):
            return self.file.write(data)

    def flush(self) -> None:
        with name_file_in_errors(self.file_name):
            self.file.flush()

    def close(self) -> None:
        """Do nothing: a text stream that is left after an error must not close stdout."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def _choose_destination(name: str) -> AbstractContextManager[int | Path]:
    """Return what is opened for an output: a temporary path, the path, or a copy of a descriptor.

    Raises OSError if no file is open with that descriptor.
    """
    descriptor = output_descriptor(name)
    if descriptor is not None:
        return nullcontext(os.dup(descriptor))
    return nullcontext(Path(name)) if is_written_directly(name) else atomic(name)


@contextmanager
def _wrap_compression(file: BinaryIO, name: str, mode: str) -> Iterator[BinaryIO]:
    """Wrap a file to be compressed or decompressed if its name ends in .gz or .xz.

    Raises FormatError for a file to read that is compressed in another way.
    """
    if name.lower().endswith(".gz"):
        # The archive has no name and time, so that the same sentences give the same bytes.
        with gzip.GzipFile("", mode, compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif name.lower().endswith(".xz"):
        if mode == "rb":
            yield cast(BinaryIO, io.BufferedReader(XzStream(file), _OPENING_SIZE))
        else:
            with lzma.open(file, mode) as packed:
                yield cast(BinaryIO, packed)
    else:
        if mode == "rb":
            check_first_bytes(file, name)
        yield file


@contextmanager
def _wrap_text(binary: BinaryIO, encoding: str) -> Iterator[TextIO]:
    """Wrap a binary stream as text, which is flushed, but not closed, at the end."""
    try:
        text = io.TextIOWrapper(binary, encoding, errors="surrogateescape", newline="\n")
    except LookupError:
        raise ValueError(f"the text encoding {encoding!r} is unknown") from None
    try:
        yield text
        text.flush()
    finally:
        # If flush has raised an error, or the stream is closed, detach also fails.
        with suppress(OSError, ValueError):
            text.detach()
