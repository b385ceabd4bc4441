"""Files by name: `-` is stdin or stdout, .gz and .xz are (de)compressed, writing is atomic."""

import errno
import gzip
import io
import lzma
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from depkit.corpus.encodings import check_encoding
from depkit.corpus.errors import FormatError
from depkit.corpus.formats import Format, by_name, named_format
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import BOM, Sentence, each_sentence

PathLike = str | os.PathLike[str]


def read(
    source: PathLike | Iterable[str],
    format: str | None = None,
    encoding: str = "utf-8",
    strict: bool = True,
) -> Iterator[Sentence]:
    """The sentences of a file, one by one, or of any iterable of lines.

    source: a path (`-` is stdin; .gz and .xz are unpacked) or lines with their
    terminators. format: "conllu", "conllx" or "conll09"; None tells it by the file's name,
    else by its content. strict: see `reader.read_lines`.
    Raises FormatError (file, line, sent_id, message), OSError, ValueError for a format or
    encoding that is not known.
    """
    known = named_format(format) if format else None
    if not isinstance(source, str | os.PathLike):
        yield from read_lines(source, known, strict=strict)
        return
    path = os.fspath(source)
    with open_bytes(path) as binary:
        yield from read_stream(binary, known or by_name(path), encoding, path, strict)


def read_stream(
    binary: BinaryIO,
    format: Format | None = None,
    encoding: str = "utf-8",
    file: str = "-",
    strict: bool = True,
) -> Iterator[Sentence]:
    """The sentences of a stream of bytes; see `reader.read_lines`."""
    _check_opening(binary, encoding, file)
    try:
        with _text(binary, encoding) as lines:
            yield from read_lines(lines, format, file, strict)
    except UnicodeError as error:  # of encodings whose bytes cannot become surrogates
        raise FormatError(file, 0, "", f"{error}; name its own encoding, --encoding") from None


@contextmanager
def open_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[TextIO]:
    r"""A text stream whose lines end at \n alone and keep their terminators.

    Undecodable bytes become surrogates, which the reader reports with their line.
    Raises ValueError for an encoding that is not known, FormatError as `_check_opening`.
    """
    with open_bytes(path) as binary:
        _check_opening(binary, encoding, os.fspath(path))
        with _text(binary, encoding) as text:
            yield text


def _check_opening(binary: BinaryIO, encoding: str, file: str) -> None:
    """Raises FormatError if a file is in UTF-16 or UTF-32, but `encoding` is another."""
    if peek := getattr(binary, "peek", None):
        check_encoding(peek(1024), encoding, file)


@contextmanager
def open_bytes(path: PathLike) -> Iterator[BinaryIO]:
    """A file's bytes, unpacked; `-` is stdin. Raises FormatError for a damaged archive."""
    name = os.fspath(path)
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    with nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb") as file:
        try:
            with _packed(_watched(file), name, "rb") as binary:
                yield binary
        except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError) as error:
            raise FormatError(name, 0, "", f"a damaged archive: {error}") from None


Watch = Callable[[int], None]
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watch_reading(watch: Watch) -> Iterator[None]:
    """Within the block, call `watch` with the number of bytes of every chunk read from a file.

    Of a compressed file these are the compressed bytes, so that their sum can be compared with the
    file's size.
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def _watched(file: BinaryIO) -> BinaryIO:
    """The file, wrapped within `watch_reading` so that its reads are reported."""
    watch = _watch.get()
    return cast(BinaryIO, io.BufferedReader(_Watched(file, watch), _OPENING)) if watch else file


class _Watched(io.RawIOBase):
    """A stream that calls `watch` with the number of bytes of every read."""

    def __init__(self, file: BinaryIO, watch: Watch) -> None:
        self.file = file
        self.watch = watch

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.file.read1(len(buffer))  # type: ignore[attr-defined]
        buffer[: len(chunk)] = chunk
        self.watch(len(chunk))
        return len(chunk)


def read_opening(binary: BinaryIO, encoding: str) -> tuple[list[str], BinaryIO]:
    """The lines of a stream up to the blank line after its first block; and the whole stream.

    At most 64 KB are looked at; a line that goes on beyond is left out.
    """
    opening, lines, end = b"", [""], 0
    while not end and len(opening) < _OPENING:
        chunk = _some(binary)
        if not chunk:
            binary = io.BytesIO()  # reading on from a keyboard would need a second Ctrl-D
            break
        opening += chunk
        lines = opening.decode(encoding, "replace").removeprefix(BOM).split("\n")
        begun = next((i for i, line in enumerate(lines) if not _says_nothing(line)), len(lines))
        end = next((i for i, line in enumerate(lines[:-1]) if i > begun and not line.strip()), 0)
    stream = io.BufferedReader(_Rewound(opening, binary))
    return lines[: end or (None if len(opening) < _OPENING else -1)], cast(BinaryIO, stream)


_OPENING = 1 << 16


def _says_nothing(line: str) -> bool:
    """Blank lines and comments can stand before any format."""
    return line.startswith("#") or not line.strip()


def _some(binary: BinaryIO) -> bytes:
    """What there is to be read without waiting for more; b"" at the end."""
    return binary.read1(_OPENING)  # type: ignore[attr-defined]


class _Rewound(io.RawIOBase):
    """A stream of which a piece has been read already."""

    def __init__(self, opening: bytes, rest: BinaryIO) -> None:
        self.opening = opening
        self.rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.opening or _some(self.rest)
        count = min(len(buffer), len(chunk))
        buffer[:count] = chunk[:count]
        self.opening = chunk[count:]
        return count


def write(
    sentences: Sentence | Iterable[Sentence], target: PathLike | TextIO, encoding: str = "utf-8"
) -> int:
    """Write a sentence or several to a path (`-` is stdout) or a text stream; returns how many.

    A path is written beside and renamed when all is there, so that it is whole or absent.
    A sentence without a blank line at its end gets one; a byte order mark stays only at the
    very beginning.
    """
    if isinstance(target, str | os.PathLike):
        with open_output(target, encoding) as stream:
            return write(sentences, stream)
    count = 0
    for sentence in each_sentence(sentences):
        lines = sentence.lines
        target.writelines(lines[1:] if count and lines[0] == BOM else lines)
        if not lines[-1].isspace():
            end = "\r\n" if lines[0].endswith("\r\n") else "\n"
            target.write(end if lines[-1].endswith("\n") else end + end)
        count += 1
    return count


@contextmanager
def open_output(path: PathLike, encoding: str = "utf-8") -> Iterator[TextIO]:
    """A text stream to a file that appears whole under its name, or not at all; `-` is stdout.

    A pipe or a device is written to directly. Raises ValueError for an encoding that is not
    known.
    """
    name = os.fspath(path)
    if name == "-":
        if sys.stdout is None:
            raise OSError("standard output is closed")
        with _text(sys.stdout.buffer, encoding) as text:
            yield text
        return
    direct = os.path.exists(name) and not os.path.isfile(name)
    with nullcontext(Path(name)) if direct else atomic(name) as place, open(place, "wb") as file:
        try:
            with _packed(file, name, "wb") as binary, _text(binary, encoding) as text:
                yield text
        except OSError as error:
            error.filename = error.filename or name  # a full disk is named
            raise


@contextmanager
def _packed(file: BinaryIO, name: str, mode: str) -> Iterator[BinaryIO]:
    """The file, or what (de)compresses it if its name asks for that."""
    if name.lower().endswith(".gz"):
        # no name and time inside: the same sentences give the same bytes
        with gzip.GzipFile("", mode, compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif name.lower().endswith(".xz"):
        with lzma.open(file, mode) as packed:
            yield cast(BinaryIO, packed)
    else:
        yield file


@contextmanager
def _text(binary: BinaryIO, encoding: str) -> Iterator[TextIO]:
    """The binary stream as text, flushed but not closed at the end."""
    try:
        text = io.TextIOWrapper(binary, encoding, errors="surrogateescape", newline="\n")
    except LookupError:
        raise ValueError(f"no text encoding {encoding!r} is known") from None
    try:
        yield text
        text.flush()
    finally:
        with suppress(OSError, ValueError):  # flush has said it already, or the stream is closed
            text.detach()


def check_parent(path: PathLike) -> None:
    """Raises NotADirectoryError where a file to write would stand below another file."""
    above = next((each for each in Path(path).parents if each.exists()), Path())
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(above))


@contextmanager
def atomic(path: PathLike) -> Iterator[Path]:
    """A path beside `path` to write to; renamed to it on success, removed on any failure.

    Missing directories are created, and removed again on failure. A symbolic link stays one: the
    file that it points to is replaced.
    """
    check_parent(path)
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    missing = [each for each in Path(path).parents if not each.exists()]
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        yield beside
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
            for each in missing:
                each.rmdir()
        if isinstance(error, OSError) and error.filename == os.fspath(beside):
            error.filename = os.fspath(path)  # the name that the user knows
        raise


@contextmanager
def atomic_directory(path: PathLike) -> Iterator[Path]:
    """As `atomic`, a directory to write into, empty; in the end it stands in place of `path`."""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    beside.mkdir(parents=True)
    try:
        yield beside
        shutil.rmtree(target, ignore_errors=True)
        os.replace(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
