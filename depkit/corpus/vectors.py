"""Word vectors trained by others: GloVe, word2vec (text and binary), fastText's .vec.

The text formats are those of Pennington et al. (2014) and Mikolov et al. (2013): a row is a
word and its numbers, with a header line `count width` in word2vec and fastText.
"""

import bz2
import codecs
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

from depkit.corpus.binary_vectors import Block, binary_blocks, looks_binary, shown
from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike, open_bytes

_CHUNK = 1 << 18  # bytes read at a time
_LONGEST_ROW = 1 << 24  # bytes; beyond, they are no word vectors
_LARGEST = float(np.finfo(np.float32).max)
_HEADER = re.compile(rb"([0-9]{1,12})[ \t]+([0-9]{1,9})[ \t]*\r?(?:\n|\Z)")
_FIELD = re.compile(rb"[^ \t]+")
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FASTTEXT_MODEL = b"\xba\x16\x4f\x2f"


@dataclass(frozen=True)
class Vectors:
    """Word vectors, and what they are scaled by. Rows whose word is unreadable count nowhere."""

    words: list[str]  # those kept, in the file's order, each once
    matrix: np.ndarray  # [words, width] float32, unscaled
    mean: np.ndarray  # [width] float32, over all rows of the file, kept or not
    std: float  # of all numbers of all rows about their one mean (divided by n, not n - 1)
    count: int  # rows of the file, kept or not; a duplicate is a row as any other
    notes: list[str]  # warnings, a line each


def read_vectors(
    path: PathLike, wanted: Container[str] | None = None, width: int | None = None
) -> Vectors:
    """Reads word vectors in one pass, in hardly more memory than the rows kept.

    path: GloVe text, word2vec text or binary, fastText .vec, told by content; .gz, .xz, .bz2
    and .zip are unpacked; `archive.zip:member` names one member of several.
    wanted: the words to keep, None for all. width: numbers a word, None for what there is.
    Fields of text are separated by spaces and tabs alone. A word may hold some, but not with
    a number as its last part. Of a word's duplicates the first is kept; those of words kept
    are noted. Rows whose word is empty or not UTF-8 are left out, with a note.
    Raises FormatError (file, line, message), OSError if the file cannot be opened.
    """
    file = os.fspath(path)
    collection: _Collection | None = None
    notes: list[str] = []
    with _open(file) as binary:
        opening = binary.read(_CHUNK).removeprefix(codecs.BOM_UTF8)
        if opening.startswith(_FASTTEXT_MODEL):
            raise FormatError(file, 0, "", "a fastText model; take the .vec file of its vectors")
        header = _HEADER.match(opening)
        promised, found = (int(header[1]), int(header[2])) if header else (0, 0)
        body = opening[header.end() :] if header else opening
        chunks = chain([body], iter(lambda: binary.read(_CHUNK), b""))
        if header and not 0 < found <= _LONGEST_ROW // 4:
            raise FormatError(file, 1, "", f"the header says {found} numbers a word; mend it")
        packed = header and not _is_text(body, found) and looks_binary(body)
        if packed:
            blocks = binary_blocks(file, chunks, promised, found, notes)
        else:
            blocks = _text_blocks(file, chunks, 2 if header else 1, found)
        for block in blocks:
            found = block.matrix.shape[1]
            if width not in (None, found):
                message = f"the vectors have {found} numbers a word, but {width} are asked for"
                raise FormatError(file, 0, "", message)
            collection = collection or _Collection(found, wanted, "row" if packed else "line")
            collection.add(block)
    if collection is None or not collection.count:
        raise FormatError(file, 0, "", "no word vectors in it; is it the right file?")
    if header and not packed and collection.rows != promised:
        notes.append(f"the header promises {promised} rows, but there are {collection.rows}")
    return collection.vectors(notes)


class _Collection:
    """The rows kept so far, and the statistics of all."""

    def __init__(self, width: int, wanted: Container[str] | None, unit: str) -> None:
        self.wanted = wanted
        self.unit = unit  # what a place counts: "line" or "row"
        self.kept: dict[str, None] = {}  # in order
        self.matrix = np.empty((0, width), np.float32)  # [capacity, width]
        self.rows = 0
        self.count = 0  # of rows less those that are unreadable
        self.sum = np.zeros(width)
        self.mean = 0.0  # of all numbers
        self.squares = 0.0  # the sum of their squared distances to it
        self.duplicates: list[str] = []  # the first few
        self.duplicated = 0
        self.unreadable: list[int] = []  # places

    def add(self, block: Block) -> None:
        words = [_decoded(word) for word in block.words]
        chosen = []
        before = len(self.kept)
        for row, word in enumerate(words):
            if not word:
                self.unreadable.append(block.places[row])
            elif self.wanted is None or word in self.wanted:
                if word not in self.kept:
                    self.kept[word] = None
                    chosen.append(row)
                    continue
                self.duplicated += 1
                if self.duplicated <= 3:
                    quoted = json.dumps(word, ensure_ascii=False)
                    self.duplicates.append(f"{quoted} at {self.unit} {block.places[row]}")
        self._reserve(len(self.kept))
        self.matrix[before : len(self.kept)] = block.matrix[chosen]
        self.rows += len(words)
        self._count(block.matrix if all(words) else block.matrix[[bool(word) for word in words]])

    def _reserve(self, rows: int) -> None:
        """Room for so many rows. Growing in place, by little, is what keeps memory low."""
        capacity, width = self.matrix.shape
        if rows > capacity:
            self.matrix.resize((max(rows, capacity + capacity // 16), width), refcheck=False)

    def _count(self, matrix: np.ndarray) -> None:
        """Takes rows into the statistics, as Chan et al. (1979) merge two samples' variances.

        matrix: [rows, width].
        """
        if not matrix.size:
            return
        numbers = matrix.astype(np.float64)
        before, size = self.count * matrix.shape[1], matrix.size
        mean = float(numbers.mean())
        distance = mean - self.mean
        self.sum += numbers.sum(axis=0)
        numbers -= mean
        self.squares += float(np.square(numbers, out=numbers).sum())
        self.squares += distance**2 * before * size / (before + size)
        self.mean += distance * size / (before + size)
        self.count += len(matrix)

    def vectors(self, notes: list[str]) -> Vectors:
        """All that was collected, without a copy; the collection is of no use afterwards."""
        width = self.matrix.shape[1]
        self.matrix.resize((len(self.kept), width), refcheck=False)
        if self.duplicated:
            more = ", ..." if self.duplicated > len(self.duplicates) else ""
            what = "duplicate of a word" if self.duplicated == 1 else "duplicates of words"
            listed = ", ".join(self.duplicates) + more
            notes = [*notes, f"{self.duplicated} {what}, the first is kept: {listed}"]
        if self.unreadable:
            what = f"rows left out, for a word empty or not UTF-8: {len(self.unreadable)}"
            notes = [*notes, f"{what}, the first at {self.unit} {self.unreadable[0]}"]
        mean = (self.sum / self.count).astype(np.float32)
        std = (self.squares / (self.count * width)) ** 0.5
        return Vectors(list(self.kept), self.matrix, mean, std, self.count, notes)


def _decoded(word: bytes) -> str:
    """The word; "" if it is not UTF-8."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        return ""


def _text_blocks(file: str, chunks: Iterable[bytes], line: int, width: int) -> Iterator[Block]:
    r"""The rows of text, in blocks about as large as the chunks; blank lines are passed over.

    line: the number of the first; width: the header's, 0 if it is the first row that tells.
    Lines end at \n, with a \r before it or not.
    """
    whose = "the header says" if width else "the first row has"
    rest = b""
    for chunk in chain(chunks, (b"\n",)):
        *lines, rest = (rest + chunk).split(b"\n")
        stripped = [row.rstrip(b" \t\r") for row in lines]
        places = [place for place, row in enumerate(stripped, line) if row]
        rows = [row for row in stripped if row]
        line += len(lines)
        if rows:
            width = width or _first_width(file, places[0], rows[0])
            yield _text_block(file, places, rows, width, whose)
        if len(rest) > _LONGEST_ROW:
            raise FormatError(file, line, "", "the line does not end; these are no word vectors")


def _text_block(file: str, places: list[int], rows: list[bytes], width: int, whose: str) -> Block:
    """All numbers at once if every row is `word number ... number`, else row by row."""
    spaced = (row.replace(b"\t", b" ").partition(b" ") for row in rows)
    words, _, numbers = zip(*spaced, strict=True)  # each [rows]
    if all(part.count(b" ") == width - 1 for part in numbers):
        joined = b" ".join(numbers)
        try:
            with np.errstate(over="ignore"):  # becomes infinity, which is found below
                matrix = np.array(joined.split(b" "), np.float32).reshape(-1, width)
        except ValueError:
            matrix = np.array([np.nan])
        # Python's own notation of numbers has underscores, which are an error here
        if np.isfinite(matrix).all() and b"_" not in joined:
            return Block(places, list(words), matrix)
    parsed = [_row(file, place, row, width, whose) for place, row in zip(places, rows, strict=True)]
    return Block(places, [word for word, _ in parsed], np.array([numbers for _, numbers in parsed]))


def _row(file: str, line: int, row: bytes, width: int, whose: str) -> tuple[bytes, np.ndarray]:
    """Any row's word and numbers, [width], from the right. Raises FormatError if it is wrong."""
    fields = list(_FIELD.finditer(row))
    wordless = row[:1] in b" \t" and len(fields) == width
    parts = [field.group() for field in fields[0 if wordless else 1 :]]
    run = _run(parts)
    if run == width:
        numbers = np.array([float(part) for part in parts[-width:]], np.float32)
        return row[: fields[-width].start()].strip(b" \t"), numbers
    if len(parts) == width or (run < width and any(map(_is_number, parts[: len(parts) - run]))):
        raise _not_finite(file, line, parts[-run - 1])
    numbers_there = "1 number" if run == 1 else f"{run} numbers"
    message = f"{numbers_there}, but {whose} {width}; mend the line or take it out"
    raise FormatError(file, line, "", message)


def _first_width(file: str, line: int, row: bytes) -> int:
    """How many numbers the first row ends in. Raises FormatError if there are none."""
    parts = _FIELD.findall(row)[1:]
    run = _run(parts)
    if not run:
        last = shown(parts[-1] if parts else row)
        message = f"no word vectors: the line is not a word and its numbers, it ends in {last}"
        raise FormatError(file, line, "", message)
    if any(map(_is_number, parts[:-run])):
        raise _not_finite(file, line, parts[-run - 1])
    return run


def _not_finite(file: str, line: int, part: bytes) -> FormatError:
    message = f"{shown(part)} is not a finite number; mend the line or take it out"
    return FormatError(file, line, "", message)


def _is_text(body: bytes, width: int) -> bool:
    """Whether what follows a header begins with a row of text."""
    return _run(_FIELD.findall(body.split(b"\n", 1)[0].rstrip(b" \t\r"))[1:]) >= width


def _run(parts: list[bytes]) -> int:
    """How many numbers there are at the end of a list."""
    return next((i for i, part in enumerate(reversed(parts)) if not _is_number(part)), len(parts))


def _is_number(part: bytes) -> bool:
    """Whether it is a decimal number, as float32 can hold it (so "nan" is a word)."""
    return bool(_NUMBER.fullmatch(part)) and abs(float(part)) <= _LARGEST


@contextmanager
def _open(file: str) -> Iterator[BinaryIO]:
    """A file's bytes, unpacked. Raises FormatError for a damaged archive, OSError."""
    archive, member = _zip_and_member(file)
    try:
        if archive:
            with zipfile.ZipFile(archive) as packed, _open_member(packed, file, member) as binary:
                yield binary
        elif file.lower().endswith(".bz2"):
            with bz2.open(file, "rb") as binary:
                yield cast(BinaryIO, binary)
        else:
            with open_bytes(file) as binary:
                yield binary
    except (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        if isinstance(error, OSError) and error.errno is not None:  # bz2's own has no number
            raise
        raise FormatError(file, 0, "", f"a damaged archive: {error}") from None


def _zip_and_member(file: str) -> tuple[str, str]:
    """The archive of `archive.zip:member` or `archive.zip`, and the member; "" for neither."""
    end = file.lower().find(".zip:") + 4
    if end > 3 and not os.path.exists(file):
        return file[:end], file[end + 1 :]
    return (file, "") if file.lower().endswith(".zip") else ("", "")


def _open_member(archive: zipfile.ZipFile, file: str, member: str) -> BinaryIO:
    """The member of that name; "" is the only one there is. Raises FormatError if it is not."""
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if member in names or (len(names) == 1 and not member):
        try:
            return cast(BinaryIO, archive.open(member or names[0]))
        except RuntimeError as error:  # a password, an unknown compression
            raise FormatError(file, 0, "", f"cannot be unpacked: {error}") from None
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    if member or not names:
        raise FormatError(file, 0, "", f"no such member; the archive has {listed or 'none'}")
    message = f"{len(names)} members; name one as in {file}:{names[0]}: {listed}"
    raise FormatError(file, 0, "", message)
