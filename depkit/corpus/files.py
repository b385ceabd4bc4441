"""Reading and writing of files.

The name `-` stands for stdin or stdout, .gz and .xz files are compressed or decompressed, and
written files appear only when they are complete. A file can also be named by a URL, see `storage`.
"""

import errno
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from depkit.corpus.brackets import BLANKS, read_clean_trees, read_groups, read_sentences
from depkit.corpus.encodings import check_encoding
from depkit.corpus.errors import FormatError
from depkit.corpus.formats import (
    NON_TABULAR,
    PARQUET,
    PTB,
    Format,
    format_from_filename,
    get_format,
    is_bracketed,
)
from depkit.corpus.limits import XzStream, limit_stream
from depkit.corpus.lock import final_name, temporary_path
from depkit.corpus.parquet import is_parquet, read_parquet, write_parquet
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import BOM, Sentence, as_iterable
from depkit.corpus.storage import PathLike, check_url, is_url, open_file, upload
from depkit.corpus.terminal import EscapingStream
from depkit.corpus.tree import Tree

STDIN, STDOUT = "standard input", "standard output"  # their names in errors


def read(
    source: PathLike | Iterable[str],
    format: str | None = None,
    encoding: str = "utf-8",
    strict: bool = True,
) -> Iterator[Sentence]:
    """Read the sentences of a file or of an iterable of lines, one by one.

    Args:
        source: A path (`-` is stdin; .gz and .xz are unpacked), or lines with their line ends.
        format: "conllu", "conllx", "conll09", "ptb" or "parquet". None to recognise it by the
            file's name, or else by its content; "ptb" is recognised only if strict. The content
            of a Parquet file is always recognised.
        encoding: The text encoding of a file that is not a Parquet file.
        strict: Whether a broken sentence raises FormatError; see `reader.read_lines`.

    Raises:
        FormatError: The file breaks its format, or a sentence is too large, see `limits`.
        OSError: The file cannot be read.
        ValueError: The format or the encoding is unknown, or pyarrow is not installed.
    """
    given_format = NON_TABULAR.get(format or "") or (get_format(format) if format else None)
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        chosen = given_format or format_from_filename(path)
        with open_bytes(path) as binary:
            yield from read_stream(binary, chosen, encoding, path, strict)
    else:
        yield from _read_lines(source, given_format, "-", strict)


def _read_lines(
    lines: Iterable[str],
    format: Format | None,
    file: str,
    strict: bool,
    line: int = 1,
    character: int = 0,
) -> Iterator[Sentence]:
    """Read the sentences of lines; the arguments are those of `read_stream`."""
    # Reading that is not strict must keep every line, which is impossible with brackets.
    if not format and strict:
        opening, lines = _peek(lines)
        format = PTB if is_bracketed(file, opening) else None
    if format is PTB:
        yield from read_sentences(lines, file, strict)
    else:
        yield from read_lines(lines, format, file, strict, line, character)


def _peek(lines: Iterable[str]) -> tuple[str, Iterable[str]]:
    """Return the first line with more than white space, or "", and an iterable of all lines."""
    lines = iter(lines)
    leading: list[str] = []
    for line in lines:
        leading.append(line)
        if line.strip(BOM + BLANKS):
            return line, chain(leading, lines)
    return "", leading


def is_bracketed_file(path: str, encoding: str = "utf-8") -> bool | None:
    """Return whether a file contains bracketed trees, by its name or content.

    None for standard input and pipes, which could not be read again. Raises OSError and, as `read`,
    FormatError and ValueError.
    """
    if is_bracketed(path) or format_from_filename(path):
        return is_bracketed(path)
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
        return None
    with open_bytes(path) as binary:
        if is_parquet(binary):
            return False
    with _open_source(path, encoding) as (lines, _):
        return is_bracketed(path, _peek(lines)[0])


def bracketed_paths(sources: Sequence[object], encoding: str = "utf-8") -> list[str]:
    """Return the paths of the sources if all are files of bracketed trees, else an empty list.

    Raises what `is_bracketed_file` raises.
    """
    paths = [os.fspath(source) for source in sources if isinstance(source, str | os.PathLike)]
    if len(paths) < len(sources) or not all(is_bracketed_file(x, encoding) for x in paths):
        return []
    return paths


def read_trees(
    source: PathLike | Iterable[str],
    encoding: str = "utf-8",
    strict: bool = True,
    report: Callable[[FormatError], object] | None = None,
) -> Iterator[Tree]:
    r"""Read bracketed trees one by one, without empty elements and without the bracket around them.

    `cleaning.clean_tree` explains what remains of a tree; `read_tree_groups` reads whole trees.

    Args:
        source: A path (`-` is stdin; .gz and .xz are unpacked) or lines.
        encoding: The text encoding of a file.
        strict: Whether a malformed tree, or one without words, raises FormatError. Otherwise
            reading continues at the next line that can begin a tree.
        report: If not strict, a function that is called with the FormatError of each such tree.

    Raises:
        FormatError: A tree is malformed; the error names its line and its number in the file.
        OSError: The file cannot be read.
        ValueError: The encoding is unknown.
    """
    with _open_source(source, encoding) as (lines, file):
        for tree in read_clean_trees(lines, file, strict):
            if isinstance(tree, Tree):
                yield tree
            elif report:
                report(tree)


def read_tree_groups(
    source: PathLike | Iterable[str], encoding: str = "utf-8"
) -> Iterator[list[Tree]]:
    """Read bracketed trees without any loss, in groups that stand on the same lines.

    See `brackets.read_groups`; the arguments and errors are those of `read_trees` if strict. The
    text of a tree that was read from a single line, `str(tree)`, is the same as in the file.
    """
    with _open_source(source, encoding) as (lines, file):
        for group in read_groups(lines, file):
            if not isinstance(group, FormatError):
                yield group


def write_trees(trees: Iterable[Tree], target: PathLike | TextIO, encoding: str = "utf-8") -> int:
    """Write trees to a file or a text stream, one per line, and return their number.

    target, encoding: As for `write`. A tree that was read from a single line is written as it was.
    """
    if isinstance(target, str | os.PathLike):
        with open_output(target, encoding) as stream:
            return write_trees(trees, stream)
    count = 0
    for tree in trees:
        target.write(f"{tree}\n")
        count += 1
    return count


@contextmanager
def _open_source(
    source: PathLike | Iterable[str], encoding: str
) -> Iterator[tuple[Iterable[str], str]]:
    """Open a path, or use an iterable of lines; yields the lines and the name for errors."""
    if not isinstance(source, str | os.PathLike):
        yield source, "-"
        return
    path = os.fspath(source)
    with _decoding_errors(path), open_lines(path, encoding, has_sentences=True) as lines:
        yield lines, path


def read_stream(
    binary: BinaryIO,
    format: Format | None = None,
    encoding: str = "utf-8",
    file: str = "-",
    strict: bool = True,
    line: int = 1,
    character: int = 0,
) -> Iterator[Sentence]:
    """Read the sentences of a stream of bytes.

    Args:
        binary: The stream, which is not closed.
        format: The format; None to recognise it by the content.
        encoding: The text encoding.
        file: The name of the stream, for errors.
        strict: Whether a broken sentence raises FormatError; see `reader.read_lines`.
        line: As for `reader.read_lines`.
        character: As for `reader.read_lines`.

    Raises:
        FormatError: The stream breaks its format or is in another encoding, or a sentence is too
            large, see `limits`.
        ValueError: The encoding is unknown.
    """
    if format is PARQUET or is_parquet(binary):
        yield from read_parquet(binary, file, strict)
        return
    _check_opening(binary, encoding, file)
    limited = limit_stream(binary, encoding, file, has_sentences=True)
    with _decoding_errors(file), _wrap_text(limited, encoding) as lines:
        yield from _read_lines(lines, format, file, strict, line, character)


@contextmanager
def _decoding_errors(file: str) -> Iterator[None]:
    """Turn errors of encodings whose bytes cannot become surrogates into FormatError."""
    try:
        yield
    except UnicodeError as error:
        message = f"the file cannot be decoded: {error}; name its encoding with --encoding"
        raise FormatError(file, 0, "", message) from None


@contextmanager
def open_lines(
    path: PathLike, encoding: str = "utf-8", has_sentences: bool = False
) -> Iterator[TextIO]:
    r"""Open a text stream whose lines end only at \n and keep their line ends.

    Bytes that cannot be decoded become surrogates, which the reader reports with their line.
    Raises ValueError for an unknown encoding, FormatError for a file in UTF-16 or UTF-32 if
    `encoding` is not, or for a line that is too long, and the errors of `open_bytes`.
    has_sentences: as for `limits.limit_stream`.
    """
    with open_bytes(path) as binary:
        _check_opening(binary, encoding, os.fspath(path))
        limited = limit_stream(binary, encoding, os.fspath(path), has_sentences)
        with _wrap_text(limited, encoding) as text:
            yield text


def _check_opening(binary: BinaryIO, encoding: str, file: str) -> None:
    """Raise FormatError if a file is in UTF-16 or UTF-32, but `encoding` is not."""
    if peek := getattr(binary, "peek", None):
        check_encoding(peek(1024), encoding, file)


@contextmanager
def open_bytes(path: PathLike) -> Iterator[BinaryIO]:
    """Open a stream of a file's decompressed bytes; `-` is stdin.

    Raises OSError, and FormatError for a damaged archive.
    """
    name = os.fspath(path)
    if name == "-" and sys.stdin is None:
        raise OSError("standard input is closed")
    with nullcontext(sys.stdin.buffer) if name == "-" else open_file(name) as file:
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


class _WatchedStream(io.RawIOBase):
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


class _RewoundStream(io.RawIOBase):
    """A stream of the bytes that were already read and of the rest of another stream."""

    def __init__(self, opening: bytes, rest: BinaryIO) -> None:
        self.opening = opening
        self.rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.opening or _read_available(self.rest)
        count = min(len(buffer), len(chunk))
        buffer[:count] = chunk[:count]
        self.opening = chunk[count:]
        return count


def write(
    sentences: Sentence | Iterable[Sentence],
    target: PathLike | TextIO,
    encoding: str = "utf-8",
    parquet: bool = False,
) -> int:
    """Write a sentence or several sentences to a file or a text stream.

    A file appears under its name only when it is complete. A missing blank line after a sentence is
    added; a byte order mark is written only before the first sentence. A path that ends in .parquet
    becomes a Parquet file, see `parquet`, whose sentences must be in CoNLL-U.

    Args:
        sentences: A sentence or an iterable of sentences.
        target: A path (`-` is stdout; .gz and .xz are compressed) or a text stream.
        encoding: The text encoding of a file that is not a Parquet file.
        parquet: Whether to write a Parquet file even if the path does not end in .parquet.

    Returns:
        The number of sentences written.

    Raises:
        FormatError: A sentence cannot be in a Parquet file; see `parquet.to_batches`.
        OSError: The file cannot be written.
        ValueError: The encoding is unknown, or pyarrow is not installed.
    """
    if isinstance(target, str | os.PathLike):
        if parquet or format_from_filename(os.fspath(target)) is PARQUET:
            if os.fspath(target) == "-" and sys.stdout and sys.stdout.isatty():
                raise ValueError("a terminal cannot show Parquet; name an output file")
            with _open_binary_output(target) as binary:
                return write_parquet(sentences, binary)
        with open_output(target, encoding) as stream:
            return write(sentences, stream)
    count = 0
    for sentence in as_iterable(sentences):
        lines = sentence.lines
        target.writelines(lines[1:] if count and lines[0] == BOM else lines)
        if not lines[-1].isspace():
            end = "\r\n" if lines[0].endswith("\r\n") else "\n"
            target.write(end if lines[-1].endswith("\n") else end + end)
        count += 1
    return count


@contextmanager
def open_output(path: PathLike, encoding: str = "utf-8", colours: bool = False) -> Iterator[TextIO]:
    """Open a text stream for a file that appears under its name only when it is complete.

    `-` is stdout. If it is a terminal, control characters are escaped: people look at it, and a
    program that reads the data reads them from a pipe or a file, where every byte stays. A pipe or
    a device is written to directly.

    Args:
        path: The path of the file.
        encoding: The text encoding.
        colours: Whether colours stay on a terminal, see `terminal.escape_controls`.

    Raises:
        OSError: The file cannot be written.
        ValueError: The encoding is unknown.
    """
    with _open_binary_output(path) as binary, _wrap_text(binary, encoding) as text:
        is_terminal = os.fspath(path) == "-" and sys.stdout.isatty()
        yield cast(TextIO, EscapingStream(text, colours)) if is_terminal else text


@contextmanager
def _open_binary_output(path: PathLike) -> Iterator[BinaryIO]:
    """Open a stream of the bytes of a file or of stdout; see `open_output`."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdout is None:
            raise OSError("standard output is closed")
        with name_file_in_errors(STDOUT):
            yield sys.stdout.buffer
        return
    direct = os.path.exists(name) and not os.path.isfile(name)
    with (
        name_file_in_errors(name),
        nullcontext(Path(name)) if direct else atomic(name) as destination,
        open(destination, "wb") as file,
        _wrap_compression(file, name, "wb") as binary,
    ):
        yield binary


@contextmanager
def _wrap_compression(file: BinaryIO, name: str, mode: str) -> Iterator[BinaryIO]:
    """Wrap a file to be compressed or decompressed if its name ends in .gz or .xz."""
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


def check_parent(path: PathLike) -> None:
    """Raise NotADirectoryError if a parent of a path to be written is a file."""
    existing = next((parent for parent in Path(path).parents if parent.exists()), Path())
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(existing))


def check_writable(path: PathLike) -> None:
    """Raise OSError if a file cannot be written, for example before a long computation.

    A temporary file is made and removed again, because permissions alone do not tell: root and
    network file systems ignore them. `-`, directories, pipes and devices are not checked. For a
    URL, this only checks that the package that opens it is installed.
    """
    if os.fspath(path) != "-" and (os.path.isfile(path) or not os.path.exists(path)):
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
    missing = [parent for parent in Path(path).parents if not parent.exists()]
    try:
        with _name_target_in_errors(path, target):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with temporary_path(target) as temporary:
                yield temporary
                if target.exists():
                    shutil.copymode(target, temporary)
                os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise


@contextmanager
def atomic_directory(path: PathLike) -> Iterator[Path]:
    """Yield an empty temporary directory, which replaces `path` on success.

    On failure the temporary directory is removed and `path` stays unchanged.
    """
    target = Path(os.path.realpath(path))
    with _name_target_in_errors(path, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_path(target) as temporary:
            temporary.mkdir()
            yield temporary
            shutil.rmtree(target, ignore_errors=True)
            os.replace(temporary, target)


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
