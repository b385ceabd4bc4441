"""Limits of what must be in memory at once, so that a small archive cannot fill the memory.

A sentence, a tree and a line of text are held in memory as a whole; files are not. Their limit is
DEPKIT_MAX_SENTENCE in the environment, in bytes. The memory for reading is a multiple of it.
"""

import io
import lzma
import os
from collections.abc import Iterator
from typing import BinaryIO, cast

from depkit.files.byte_source import ByteSource
from depkit.files.errors import FormatError

_MAX_SENTENCE = 1 << 24  # bytes
OBJECT = 64  # Every line and bracket counts as this many bytes more, as it is an object in memory.
_BUFFER = 1 << 16
_LEADING = " \t\r\n\f\v\ufeff"  # white space and the byte order mark
LZMA_MEMORY = 1 << 27  # bytes; twice what the files of `xz -9` need


def max_sentence() -> int:
    """Return the maximum size of a sentence, a tree or a line in bytes.

    Raises ValueError if DEPKIT_MAX_SENTENCE is not a number.
    """
    value = os.environ.get("DEPKIT_MAX_SENTENCE") or str(_MAX_SENTENCE)
    if not (value.isascii() and value.isdigit() and 0 < int(value[:19])):
        raise ValueError(f"DEPKIT_MAX_SENTENCE is {value[:40]!r}; set it to a number of bytes")
    return int(value[:19])


def too_large(file: str, line: int, unit: str) -> FormatError:
    """Return the error for a unit ("sentence", "tree" or "line") that exceeds `max_sentence`."""
    return FormatError(
        file, line, "",
        f"a {unit} has more than {max_sentence():,} bytes here; is this the right file? If it is,"
        " set DEPKIT_MAX_SENTENCE to a larger number",
    )  # fmt: skip


def limit_stream(
    binary: BinaryIO, encoding: str, file: str = "-", has_sentences: bool | None = False
) -> BinaryIO:
    """Return a stream of the same bytes that raises FormatError at an endless line or sentence.

    Args:
        binary: The stream.
        encoding: The text encoding of the stream. An unknown one is reported by whoever decodes.
        file: The name of the file, for errors.
        has_sentences: Whether blank lines separate sentences, which are limited then; otherwise
            lines are limited. None if the file is read as bracketed trees, each of which their
            reader limits, where its first character is a bracket, and else as sentences.

    Raises:
        ValueError: See `max_sentence`.
    """
    stream = _LimitedStream(binary, encoding, file, has_sentences)
    return cast(BinaryIO, io.BufferedReader(stream, _BUFFER))


class _LimitedStream(ByteSource):
    """See `limit_stream`."""

    def __init__(
        self, binary: BinaryIO, encoding: str, file: str, has_sentences: bool | None
    ) -> None:
        self.binary = binary
        self.file = file
        self.has_sentences = has_sentences is not False
        self.newline, self.bracket = _encode("\n", encoding)[-1:], _encode("(", encoding)[-1:]
        self.leading = _encode(_LEADING, encoding)
        self.limit = max_sentence()
        self.is_start = has_sentences is None
        self.line = 1
        self.size = 0  # of the sentence or line that the last chunk has not finished
        self.last = b""  # the end of the last chunk, for a blank line between two chunks

    def read_chunk(self, size: int) -> bytes:
        chunk: bytes = self.binary.read1(size)  # type: ignore[attr-defined]
        self._count(chunk)
        return chunk

    def _count(self, chunk: bytes) -> None:
        # In UTF-16 and UTF-32, there are zeros between and within line ends.
        text = chunk.replace(b"\0", b"") if b"\0" in chunk else chunk
        if self.is_start and (content := text.lstrip(self.leading)):
            self.is_start = False
            self.has_sentences = not content.startswith(self.bracket)
        start = self._find_start(text)
        if start < 0:
            self.size += len(chunk)
        else:
            self.size = len(text) - start
        self.size += OBJECT * text.count(self.newline, max(start, 0))
        self.line += text.count(self.newline)
        if self.size > self.limit:
            unit = "sentence" if self.has_sentences else "line"
            raise too_large(self.file, self.line, unit)

    def _find_start(self, text: bytes) -> int:
        """Return where the last sentence or line of a chunk begins; -1 if it began before."""
        newline = self.newline
        if not self.has_sentences:
            return text.rfind(newline) + 1 or -1
        joined, shift = self.last + text, len(self.last)
        self.last = joined[-3:]
        # Blank lines belong to the sentence before them.
        body = joined.rstrip(newline + b"\r")
        end = body.rfind(newline + newline)
        if b"\r" in body:
            end = max(end, body.rfind(newline + b"\r" + newline))
        return -1 if end < 0 else max(end + 2 - shift, 0)


def _encode(text: str, encoding: str) -> bytes:
    """Encode characters without the zeros of UTF-16 and UTF-32; an unknown one is as UTF-8."""
    try:
        return text.encode(encoding, "ignore").replace(b"\0", b"")
    except LookupError:
        return text.encode()


class XzStream(ByteSource):
    """The decompressed bytes of an .xz file; `lzma.open` would accept a dictionary of any size.

    Raises lzma.LZMAError for a damaged file, and EOFError if its end is missing.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.chunks = _decompress_xz(file)
        self.rest = b""

    def read_chunk(self, size: int) -> bytes:
        while not self.rest:
            try:
                self.rest = next(self.chunks)
            except StopIteration:
                return b""
            except lzma.LZMAError as error:
                if "Memory" in str(error):
                    raise lzma.LZMAError("it needs too much memory; pack it with xz -9") from None
                raise
        chunk, self.rest = self.rest[:size], self.rest[size:]
        return chunk


def _decompress_xz(file: BinaryIO) -> Iterator[bytes]:
    archive: lzma.LZMADecompressor | None = lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
    while chunk := file.read(_BUFFER):
        while chunk:
            if archive is None:
                chunk = chunk.lstrip(b"\0")  # Zeros may separate two archives.
                if not chunk:
                    break
                archive = lzma.LZMADecompressor(memlimit=LZMA_MEMORY)
            yield archive.decompress(chunk, _BUFFER)
            while not (archive.eof or archive.needs_input):
                yield archive.decompress(b"", _BUFFER)
            chunk, archive = (archive.unused_data, None) if archive.eof else (b"", archive)
    if archive:
        raise EOFError("its end is missing")
