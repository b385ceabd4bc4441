"""Files by name: `-` is stdin or stdout, .gz and .xz are (de)compressed, writing is atomic."""

import gzip
import io
import lzma
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from depkit.corpus.errors import FormatError
from depkit.corpus.formats import FORMATS, Format, by_name
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import Sentence

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
    with open_lines(path, encoding) as lines:
        yield from read_lines(_unpacked(lines, path), known or by_name(path), path, strict)


def named_format(name: str) -> Format:
    """The format of that name. Raises ValueError, listing the names, if there is none."""
    if name not in FORMATS:
        raise ValueError(f"no format {name!r}; the formats are {', '.join(FORMATS)}")
    return FORMATS[name]


@contextmanager
def open_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[TextIO]:
    r"""A text stream whose lines end at \n alone and keep their terminators.

    Undecodable bytes become surrogates, which the reader reports with their line.
    """
    with _open_binary(path) as binary:
        text = io.TextIOWrapper(
            cast(BinaryIO, binary), encoding=encoding, errors="surrogateescape", newline="\n"
        )
        try:
            yield text
        finally:
            text.detach()


@contextmanager
def _open_binary(path: PathLike) -> Iterator[object]:
    name = os.fspath(path)
    if name == "-":
        yield sys.stdin.buffer
    elif name.endswith(".gz"):
        with gzip.open(name, "rb") as packed:
            yield packed
    elif name.endswith(".xz"):
        with lzma.open(name, "rb") as packed:
            yield packed
    else:
        with open(name, "rb") as file:
            yield file


def _unpacked(lines: Iterable[str], path: str) -> Iterator[str]:
    """The lines, with a damaged archive reported as a FormatError of its file."""
    number = 1
    try:
        for line in lines:
            yield line
            number += 1
    except (gzip.BadGzipFile, lzma.LZMAError, EOFError) as error:
        raise FormatError(path, number, "", f"a damaged archive: {error}") from None


def write(sentences: Iterable[Sentence], target: PathLike | TextIO, encoding: str = "utf-8") -> int:
    """Write sentences to a path (`-` is stdout) or a text stream; returns how many.

    A path is written beside and renamed when all is there, so that it is whole or absent.
    """
    if isinstance(target, str | os.PathLike):
        with open_output(target, encoding) as stream:
            return write(sentences, stream)
    count = 0
    for sentence in sentences:
        ending = sentence.lines[-1]
        target.writelines(sentence.lines)
        if not ending.endswith("\n"):
            target.write("\n\n")  # a last sentence without its end: closed, so that more may follow
        elif ending.strip():
            target.write("\n")
        count += 1
    return count


@contextmanager
def open_output(path: PathLike, encoding: str = "utf-8") -> Iterator[TextIO]:
    """A text stream to a file that appears whole under its name, or not at all; `-` is stdout."""
    name = os.fspath(path)
    if name == "-":
        text = io.TextIOWrapper(
            cast(BinaryIO, sys.stdout.buffer), encoding, errors="surrogateescape", newline="\n"
        )
        try:
            yield text
            text.flush()
        finally:
            with suppress(BrokenPipeError):  # the reader has gone; nothing is left to flush
                text.detach()
        return
    if os.path.exists(name) and not os.path.isfile(name):  # a pipe or a device: no renaming
        with open(name, "w", encoding=encoding, newline="\n") as stream:
            yield stream
        return
    with atomic(name) as beside, _packed(beside, name) as binary:
        text = io.TextIOWrapper(
            cast(BinaryIO, binary), encoding, errors="surrogateescape", newline="\n"
        )
        yield text
        text.flush()
        text.detach()


@contextmanager
def _packed(beside: Path, name: str) -> Iterator[object]:
    if name.endswith(".gz"):
        with gzip.open(beside, "wb", compresslevel=6) as packed:
            yield packed
    elif name.endswith(".xz"):
        with lzma.open(beside, "wb") as packed:
            yield packed
    else:
        with open(beside, "wb") as file:
            yield file


@contextmanager
def atomic(path: PathLike) -> Iterator[Path]:
    """A path beside `path` to write to; renamed to it on success, removed on any failure."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield beside
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
