"""Blocks of a file, which are parsed independently, so that several processes can share a file.

A file is divided at the multiples of `block_size` characters, and a Parquet file at the multiples
of `BLOCK_ROWS` rows. A block contains the paragraphs (of text) or sentences (of other
files) that start between two such positions. A batch never contains sentences of two blocks, so
the result of a block depends neither on the process nor on other blocks.
"""

import io
import os
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast

from depkit.corpus.formats import PARQUET
from depkit.corpus.io import PathLike
from depkit.corpus.parquet.batches import BLOCK_ROWS
from depkit.corpus.parquet.files import find_block_lines
from depkit.corpus.reader import ROWS_BLOCK
from depkit.corpus.text import BLANKS, LINE_END, PARAGRAPH_END, TEXT_BLOCK
from depkit.files.byte_source import ByteSource
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from depkit.files.storage import file_size
from depkit.files.streams import open_bytes, open_lines

_READ = 1 << 20  # bytes
# What separates paragraphs or sentences: a regular expression of white space from its first line
# end to the next paragraph or sentence; all white space characters; and its least number of line
# ends. Every expression begins with a line end, because a search for them is ten times as fast as
# one for `text.PARAGRAPHS`. None repeats a group, which would need memory for each repetition. A
# blank line of a CoNLL file can contain white space; the reader reports that as an error.
_ROWS = (r"\n\s*\n", "".join(filter(str.isspace, BLANKS)), 2)
_SEPARATORS = {
    "text": (PARAGRAPH_END, BLANKS, 2),
    "lines": (LINE_END, BLANKS, 1),
    "tokens": (LINE_END, BLANKS, 1),
}


@dataclass(frozen=True)
class Position:
    """The start of a paragraph or sentence in a file.

    byte: its offset in bytes; character: its offset in characters; line: the number of its line;
    paragraph: the number of paragraphs, or sentences, before it. In a Parquet file, the offset in
    bytes is estimated, and the offset in characters is 0.
    """

    byte: int = 0
    character: int = 0
    line: int = 1
    paragraph: int = 0


@dataclass(frozen=True)
class Part:
    """Consecutive blocks of a file: from `start` up to `end`, or to the end of the file if None."""

    start: Position = Position()
    end: Position | None = None


@dataclass(frozen=True)
class Shard:
    """One of several parts of about equal size, numbered from 1."""

    number: int
    total: int

    @staticmethod
    def parse(text: str) -> "Shard":
        """Parse "I/N". Raises ValueError for other text."""
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(f"{text!r} is no shard; write I/N, with I from 1 to N, e.g. 1/8")
        return Shard(int(match[1]), int(match[2]))

    def name(self, file: str) -> str:
        """Insert the shard into the name of a file: a.b.conllu becomes a.b.003-of-100.conllu."""
        stem, suffix = os.path.splitext(file)
        number = f"{self.number:0{len(str(self.total))}}"
        return f"{stem}.{number}-of-{self.total}{suffix}"

    def select(self, blocks: Sequence[Position]) -> Part | None:
        """Return the blocks of this shard, None if there are none.

        blocks: the positions of all blocks, as `find_blocks` returns them.
        """
        first, stop = self.limits(len(blocks))
        return make_part(blocks, first, stop) if first < stop else None

    def limits(self, count: int) -> tuple[int, int]:
        """Return the indices of the first of the shard's blocks, and of the first one after them.

        count: the number of blocks of the file.
        """
        return count * (self.number - 1) // self.total, count * self.number // self.total


def make_part(blocks: Sequence[Position], first: int, stop: int) -> Part:
    """Return the part with the blocks from index `first` up to, but not including, `stop`."""
    return Part(blocks[first], blocks[stop] if stop < len(blocks) else None)


def block_size(kind: str) -> int:
    """Return the number of characters of a block of this kind of input; see `find_blocks`."""
    return TEXT_BLOCK if kind in _SEPARATORS else ROWS_BLOCK


def find_blocks(path: PathLike, encoding: str, kind: str) -> list[Position]:
    """Return the position of each block of a file, at least one.

    Args:
        path: The file.
        encoding: The text encoding.
        kind: "text", "lines" or "tokens", "rows" for the CoNLL formats, or "parquet".

    Raises:
        FormatError: If text in this encoding cannot be decoded from the middle, such as UTF-16, or
            a sentence or the white space between two words is too large; see also
            `streams.open_lines`.
        OSError, ValueError: As `streams.open_lines`.
    """
    if kind == PARQUET.name:
        return _find_parquet_blocks(os.fspath(path))
    pattern, blanks, min_line_ends = _SEPARATORS.get(kind, _ROWS)
    separator, size = re.compile(pattern), block_size(kind)
    here = Position()
    blocks, has_begun = [here], False
    line_ends = 0  # in the white space at the end of what has been read
    with open_lines(path, encoding) as text:
        if "\n".encode(encoding) != b"\n":
            message = f"a file in {encoding} cannot be divided; convert it to UTF-8 first"
            raise FormatError(os.fspath(path), 0, "", message)
        while chunk := text.read(_READ) + text.readline():
            # White space before the first paragraph belongs to it.
            opening = chunk.lstrip(blanks if has_begun else BOM + blanks)
            begin, end = len(chunk) - len(opening), len(chunk.rstrip(blanks))
            line_ends += chunk.count("\n", 0, begin)
            starts: list[int] = []  # the indices in `chunk` at which paragraphs start
            if opening:
                if has_begun and line_ends >= min_line_ends:
                    # The start of a row is that of its line.
                    starts = [chunk.rfind("\n", 0, begin) + 1 if pattern is _ROWS[0] else begin]
                starts += [match.end() for match in separator.finditer(chunk, begin, end)]
                has_begun, line_ends = True, chunk.count("\n", end)
            consumed = index = 0
            has_mark = not here.byte and chunk.startswith(BOM)
            offset, first = here.character - has_mark, here.paragraph + 1
            while True:
                next_block = (blocks[-1].character // size + 1) * size
                index = bisect_left(starts, next_block - offset, index)
                if index == len(starts):
                    break
                here = _move(here, chunk[consumed : starts[index]], encoding, first + index)
                consumed = starts[index]
                blocks.append(here)
            here = _move(here, chunk[consumed:], encoding, first - 1 + len(starts))
    return blocks


def _find_parquet_blocks(path: str) -> list[Position]:
    with open_bytes(path) as binary:
        lines = find_block_lines(binary, path)
    size = file_size(path)
    return [
        Position(size * index // len(lines), 0, line, index * BLOCK_ROWS)
        for index, line in enumerate(lines)
    ]


def _move(position: Position, text: str, encoding: str, paragraph: int) -> Position:
    """Return the position at the end of a text that begins at `position`.

    paragraph: the number of paragraphs before that end.
    """
    has_mark = not position.byte and text.startswith(BOM)
    return Position(
        position.byte + len(text.encode(encoding, "surrogateescape")),
        position.character + len(text) - has_mark,
        position.line + text.count("\n"),
        paragraph,
    )


def open_part(binary: BinaryIO, part: Part) -> BinaryIO:
    """Return a stream of the bytes of a part; binary: a seekable file."""
    binary.seek(part.start.byte)
    if part.end is None:
        return binary
    limited = _Limited(binary, part.end.byte - part.start.byte)
    return cast(BinaryIO, io.BufferedReader(limited, 1 << 16))


class _Limited(ByteSource):
    """A stream of the next `size` bytes of another stream."""

    def __init__(self, binary: BinaryIO, size: int) -> None:
        self.binary, self.size = binary, size

    def read_chunk(self, size: int) -> bytes:
        data = self.binary.read(min(self.size, size))
        self.size -= len(data)
        return data
