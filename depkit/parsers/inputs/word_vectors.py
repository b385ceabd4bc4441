"""Reading of pretrained word vectors: GloVe, word2vec (text and binary), fastText's .vec.

The text formats are those of Pennington et al. (2014) and Mikolov et al. (2013): a row is a
word and its numbers, with a header line `count width` in word2vec and fastText.
"""

import bz2
import codecs
import errno
import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, cast

import numpy as np

from depkit.corpus.io import PathLike
from depkit.files.errors import FormatError
from depkit.files.streams import open_bytes
from depkit.files.zip_members import open_member, split_member
from depkit.parsers.inputs.binary_vectors import Block, is_binary, quote, read_binary_blocks

_CHUNK = 1 << 18  # bytes read at a time
_MAX_ROW_LENGTH = 1 << 20  # bytes; a file with longer rows does not contain word vectors
_MAX_FLOAT32 = float(np.finfo(np.float32).max)
_HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t]*\r?(?:\n|\Z)")
_FIELD = re.compile(rb"[^ \t]+")
_NUMBER = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"


@dataclass(frozen=True)
class WordVectors:
    """Word vectors of selected words, and statistics of all rows whose word is readable."""

    words: list[str]  # the selected words without duplicates, in the order of the file
    matrix: np.ndarray  # [words, width] float32, unscaled
    mean: np.ndarray  # [width] float32, over all readable rows, including duplicates
    std: float  # of all numbers of these rows about their common mean (divided by n, not n - 1)
    count: int  # the number of these rows
    notes: list[str]  # warnings of one line each


def read_vectors(path: PathLike, vocabulary: Container[str] | None = None) -> WordVectors:
    """Read word vectors in one pass; only the selected rows are kept in memory.

    The fields of a text row are separated by spaces and tabs. A word may contain spaces and tabs
    unless its last part is a number. Only the first of several rows with the same word is used;
    duplicates of selected words are mentioned in a note. Rows whose word is empty or not UTF-8 are
    ignored, with a note.

    Args:
        path: A file of GloVe (text), word2vec (text or binary) or fastText (.vec); the format is
            recognised by the content. Files .gz, .xz, .bz2 and .zip are unpacked, and
            `archive.zip:member` names one file in an archive.
        vocabulary: The words to select; None for all words.

    Raises:
        FormatError: The file does not contain word vectors, or is damaged.
        OSError: The file cannot be read.
    """
    file = os.fspath(path)
    collector: _Collector | None = None
    notes: list[str] = []
    with _open(file) as binary:
        opening = binary.read(_CHUNK).removeprefix(codecs.BOM_UTF8)
        if opening.startswith(_FASTTEXT_MODEL):
            message = "this is a fastText model; use the .vec file with its vectors instead"
            raise FormatError(file, 0, "", message)
        header = _HEADER.match(opening)
        announced, file_width = (int(header[1]), int(header[2])) if header else (0, 0)
        body = opening[header.end() :] if header else opening
        chunks = chain([body], iter(lambda: binary.read(_CHUNK), b""))
        if header and not 0 < file_width <= _MAX_ROW_LENGTH // 4:
            message = f"the header announces {file_width} numbers per word; correct the header"
            raise FormatError(file, 1, "", message)
        has_binary_rows = header and not _begins_with_text_row(body, file_width) and is_binary(body)
        if has_binary_rows:
            blocks = read_binary_blocks(
                file, chunks, count=announced, width=file_width, notes=notes
            )
        else:
            blocks = _read_text_blocks(file, chunks, 2 if header else 1, file_width)
        for block in blocks:
            file_width = block.matrix.shape[1]
            unit = "row" if has_binary_rows else "line"
            collector = collector or _Collector(file_width, vocabulary, unit)
            collector.add(block)
    if collector is None or not collector.count:
        raise FormatError(file, 0, "", "there are no word vectors; is this the right file?")
    if header and not has_binary_rows and collector.rows != announced:
        notes.append(f"the header announces {announced} rows, but there are {collector.rows}")
    return collector.vectors(notes)


class _Collector:
    """The rows selected so far, and the statistics of all rows."""

    def __init__(self, width: int, vocabulary: Container[str] | None, unit: str) -> None:
        self.vocabulary = vocabulary
        self.unit = unit  # "line" or "row", the name of the row numbers in notes
        self.words: dict[str, None] = {}  # the selected words, in order
        self.matrix = np.empty((0, width), np.float32)  # [capacity, width]
        self.rows = 0  # the number of all rows
        self.count = 0  # the number of rows whose word is readable
        self.sum = np.zeros(width)
        self.mean = 0.0  # of all numbers
        self.squares = 0.0  # the sum of the squared differences between all numbers and the mean
        self.duplicates: list[str] = []  # descriptions of the first three
        self.duplicate_count = 0
        self.unreadable: list[int] = []  # row numbers

    def add(self, block: Block) -> None:
        words = [_decode_word(word) for word in block.words]
        selected = []
        old_size = len(self.words)
        for row, word in enumerate(words):
            if not word:
                self.unreadable.append(block.row_numbers[row])
            elif self.vocabulary is None or word in self.vocabulary:
                if word not in self.words:
                    self.words[word] = None
                    selected.append(row)
                    continue
                self.duplicate_count += 1
                if self.duplicate_count <= 3:
                    quoted = json.dumps(word, ensure_ascii=False)
                    self.duplicates.append(f"{quoted} at {self.unit} {block.row_numbers[row]}")
        self._reserve(len(self.words))
        self.matrix[old_size : len(self.words)] = block.matrix[selected]
        self.rows += len(words)
        self._update_statistics(
            block.matrix if all(words) else block.matrix[[bool(word) for word in words]]
        )

    def _reserve(self, rows: int) -> None:
        """Enlarge the matrix to `rows` rows if needed, in place and in small steps."""
        capacity, width = self.matrix.shape
        if rows > capacity:
            self.matrix.resize((max(rows, capacity + capacity // 16), width), refcheck=False)

    def _update_statistics(self, matrix: np.ndarray) -> None:
        """Add rows [rows, width] to the statistics as Chan et al. (1979) merge two variances."""
        if not matrix.size:
            return
        numbers = matrix.astype(np.float64)
        old_size, size = self.count * matrix.shape[1], matrix.size
        mean = float(numbers.mean())
        distance = mean - self.mean
        self.sum += numbers.sum(axis=0)
        numbers -= mean
        self.squares += float(np.square(numbers, out=numbers).sum())
        self.squares += distance**2 * old_size * size / (old_size + size)
        self.mean += distance * size / (old_size + size)
        self.count += len(matrix)

    def vectors(self, notes: list[str]) -> WordVectors:
        """Return the result without copying the matrix. The collector cannot be used afterwards."""
        width = self.matrix.shape[1]
        self.matrix.resize((len(self.words), width), refcheck=False)
        if self.duplicate_count:
            more = ", ..." if self.duplicate_count > len(self.duplicates) else ""
            note = f"{self.duplicate_count} rows repeat earlier words and are ignored"
            if self.duplicate_count == 1:
                note = "1 row repeats an earlier word and is ignored"
            notes = [*notes, f"{note}: {', '.join(self.duplicates)}{more}"]
        if self.unreadable:
            note = f"rows whose word is empty or not UTF-8 are ignored: {len(self.unreadable)}"
            notes = [*notes, f"{note}, the first at {self.unit} {self.unreadable[0]}"]
        mean = (self.sum / self.count).astype(np.float32)
        std = (self.squares / (self.count * width)) ** 0.5
        return WordVectors(list(self.words), self.matrix, mean, std, self.count, notes)


def _decode_word(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return ""


def _read_text_blocks(file: str, chunks: Iterable[bytes], line: int, width: int) -> Iterator[Block]:
    r"""Read the rows of a text file in blocks about as large as the chunks; skip blank lines.

    Lines end at \n or \r\n. `line` is the number of the first line; `width` is the width in the
    header, 0 if there is no header.
    """
    expected = "the header announces" if width else "the first row has"
    rest = b""
    for chunk in chain(chunks, (b"\n",)):
        *lines, rest = (rest + chunk).split(b"\n")
        stripped = [row.rstrip(b" \t\r") for row in lines]
        line_numbers = [number for number, row in enumerate(stripped, line) if row]
        rows = [row for row in stripped if row]
        line += len(lines)
        if rows:
            width = width or _find_width(file, line_numbers[0], rows[0])
            yield _parse_block(file, line_numbers, rows, width=width, expected=expected)
        if len(rest) > _MAX_ROW_LENGTH:
            message = "the line is too long for word vectors; is this the right file?"
            raise FormatError(file, line, "", message)


def _parse_block(
    file: str, line_numbers: list[int], rows: list[bytes], *, width: int, expected: str
) -> Block:
    """Parse all numbers together if every row is `word number ... number`, else row by row."""
    spaced = (row.replace(b"\t", b" ").partition(b" ") for row in rows)
    words, _, numbers = zip(*spaced, strict=True)  # [rows] each
    if all(part.count(b" ") == width - 1 for part in numbers):
        joined = b" ".join(numbers)
        try:
            with np.errstate(over="ignore"):  # Overflow gives infinity, which is checked below.
                matrix = np.array(joined.split(b" "), np.float32).reshape(-1, width)
        except ValueError:
            matrix = np.array([np.nan])
        # Python accepts underscores in numbers, but the formats of word vectors do not.
        if np.isfinite(matrix).all() and b"_" not in joined:
            return Block(line_numbers, list(words), matrix)
    parsed = [
        _parse_row(file, line, row, width=width, expected=expected)
        for line, row in zip(line_numbers, rows, strict=True)
    ]
    matrix = np.array([numbers for _, numbers in parsed])
    return Block(line_numbers, [word for word, _ in parsed], matrix)


def _parse_row(
    file: str, line: int, row: bytes, *, width: int, expected: str
) -> tuple[bytes, np.ndarray]:
    """Split a row into its word and its numbers [width]. Raises FormatError if it is malformed.

    The error says with `expected`, the beginning of a clause, where the width is from.
    """
    fields = list(_FIELD.finditer(row))
    has_no_word = row[:1] in b" \t" and len(fields) == width
    parts = [field.group() for field in fields[0 if has_no_word else 1 :]]
    count = _count_last_numbers(parts)
    if count == width:
        numbers = np.array([float(part) for part in parts[-width:]], np.float32)
        return row[: fields[-width].start()].strip(b" \t"), numbers
    if len(parts) == width or (count < width and any(map(_is_number, parts[: len(parts) - count]))):
        raise _not_finite_error(file, line, parts[-count - 1])
    size = "1 number" if count == 1 else f"{count} numbers"
    message = f"the line has {size}, but {expected} {width}; correct or remove the line"
    raise FormatError(file, line, "", message)


def _find_width(file: str, line: int, row: bytes) -> int:
    """Count the numbers at the end of the first row. Raises FormatError if there are none."""
    parts = _FIELD.findall(row)[1:]
    count = _count_last_numbers(parts)
    if not count:
        last = quote(parts[-1] if parts else row)
        message = f"the line is not a word with numbers, as it ends in {last}"
        raise FormatError(file, line, "", f"{message}; is this a file of word vectors?")
    if any(map(_is_number, parts[:-count])):
        raise _not_finite_error(file, line, parts[-count - 1])
    return count


def _not_finite_error(file: str, line: int, part: bytes) -> FormatError:
    message = f"{quote(part)} is not a finite number; correct or remove the line"
    return FormatError(file, line, "", message)


def _begins_with_text_row(body: bytes, width: int) -> bool:
    """Return whether the bytes after a header begin with a row of text."""
    row = body.split(b"\n", 1)[0].rstrip(b" \t\r")
    return _count_last_numbers(_FIELD.findall(row)[1:]) >= width


def _count_last_numbers(parts: list[bytes]) -> int:
    """Count how many parts at the end of a list are numbers."""
    return next((i for i, part in enumerate(reversed(parts)) if not _is_number(part)), len(parts))


def _is_number(part: bytes) -> bool:
    """Return whether a part is a finite decimal number within the range of float32."""
    return bool(_NUMBER.fullmatch(part)) and abs(float(part)) <= _MAX_FLOAT32


@contextmanager
def _open(file: str) -> Iterator[BinaryIO]:
    """Open a stream of a file's decompressed bytes. Raises OSError or FormatError."""
    archive, member = split_member(file)
    try:
        if archive:
            with zipfile.ZipFile(archive) as zipped:
                yield open_member(zipped, file, member)
        elif file.lower().endswith(".bz2"):
            with bz2.open(file, "rb") as binary:
                yield cast(BinaryIO, binary)
        else:
            with open_bytes(file) as binary:
                yield binary
    except (
        EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError,
        UnicodeDecodeError,
    ) as error:  # fmt: skip
        # Errors of bz2 have no number, and zipfile seeks where a damaged archive says.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise FormatError(file, 0, "", f"the archive is damaged: {error}") from None
