"""Reading of word2vec's binary format: a row is a word, a space and the word's float32 numbers.

A header line `count width` precedes the rows, and a newline may follow each row (Mikolov et al.
2013, word2vec's `distance.c`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depkit.files.errors import FormatError

_MAX_WORD_LENGTH = 1 << 16  # bytes; a longer "word" means that the file is damaged
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a file of word vectors."""

    row_numbers: Sequence[int]  # [rows] 1-based; in a text file these are line numbers
    words: list[bytes]  # [rows], not decoded yet
    matrix: np.ndarray  # [rows, width] float32, finite


def is_binary(body: bytes) -> bool:
    """Return whether the rows after a header are binary, judging by their first line.

    Numbers in float32 contain bytes that text does not contain: zeros, other control characters,
    or bytes that are not UTF-8. The first word may be in any encoding and is not examined.
    """
    try:
        body.split(b"\n", 1)[0].partition(b" ")[2].decode()
    except UnicodeDecodeError:
        return True
    return bool(_CONTROL.search(body, 0, _MAX_WORD_LENGTH))


def read_binary_blocks(
    file: str, chunks: Iterable[bytes], *, count: int, width: int, notes: list[str]
) -> Iterator[Block]:
    """Read the rows after the header, in blocks about as large as the chunks.

    Args:
        file: The name of the file, for errors.
        chunks: The bytes after the header.
        count: The number of rows according to the header.
        width: The numbers per row according to the header.
        notes: A list to which a note is appended if anything follows the last row.

    Raises:
        FormatError: The file ends early, or contains an impossible word, NaN or infinity.
    """
    num_read, rest, has_surplus = 0, b"", False
    for chunk in chunks:
        words, numbers, rest = _split_rows(rest + chunk, count - num_read, 4 * width)
        if words:
            yield _make_block(file, num_read, words=words, numbers=numbers, width=width)
        num_read += len(words)
        if num_read == count:
            has_surplus = bool(rest.strip(b"\n"))
            break
        _check_word(file, num_read + 1, rest.lstrip(b"\n").partition(b" ")[0])
    if num_read < count:
        word, _, last_numbers = rest.lstrip(b"\n").partition(b" ")
        size = f"{len(last_numbers)} of {4 * width} bytes"
        location = f"after {size} of the numbers of {quote(word)}" if word else "at its start"
        message = f"the file ends in row {num_read + 1} of {count}, {location}; download it again"
        raise FormatError(file, 0, "", message)
    if has_surplus or any(chunk.strip(b"\n") for chunk in chunks):
        notes.append(f"the file continues after the {count} rows that its header announces;"
                     " the rest is ignored")  # fmt: skip


def quote(word: bytes) -> str:
    """Quote a part of a file for a message, shortened to 30 characters and on one line."""
    text = word[:40].decode(errors="replace")
    return repr(text[:30] + "..." if len(text) > 30 else text)


def _split_rows(
    data: bytes, max_rows: int, numbers_size: int
) -> tuple[list[bytes], list[bytes], bytes]:
    """Return the words and the numbers of the complete rows, and the bytes after them.

    At most `max_rows` rows are split. The numbers of a row have `numbers_size` bytes.
    """
    words: list[bytes] = []
    numbers: list[bytes] = []
    start = 0
    while len(words) < max_rows:
        while data.startswith(b"\n", start):  # Only word2vec ends rows with newlines.
            start += 1
        space = data.find(b" ", start)
        end = space + 1 + numbers_size
        if space < 0 or end > len(data):
            break
        words.append(data[start:space])
        numbers.append(data[space + 1 : end])
        start = end
    return words, numbers, data[start:]


def _make_block(
    file: str, num_read: int, *, words: list[bytes], numbers: list[bytes], width: int
) -> Block:
    """Make a block of the rows after the first `num_read` rows. Raises FormatError for bad rows."""
    matrix = np.frombuffer(b"".join(numbers), "<f4").reshape(-1, width)
    finite = np.isfinite(matrix).all(axis=1)  # [rows]
    for row, word in enumerate(words):
        _check_word(file, num_read + row + 1, word)
        if not finite[row]:
            message = f"row {num_read + row + 1}, {quote(word)}, has a number that is not finite"
            raise FormatError(file, 0, "", f"{message}; the file is damaged or its header is wrong")
    return Block(range(num_read + 1, num_read + len(words) + 1), words, matrix)


def _check_word(file: str, row: int, word: bytes) -> None:
    """Raise FormatError for an impossible word, a sign that the width in the header is wrong."""
    if len(word) > _MAX_WORD_LENGTH or b"\0" in word or b"\n" in word:
        message = f"row {row} begins with {quote(word)}, which is not a word"
        raise FormatError(file, 0, "", f"{message}; the file is damaged or its header is wrong")
