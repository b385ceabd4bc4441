"""The rows of word2vec's binary format: a word, a space, float32 numbers, perhaps a newline.

A header line `count width` stands before them (Mikolov et al. 2013, word2vec's `distance.c`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depkit.corpus.errors import FormatError

_LONGEST_WORD = 1 << 16  # bytes; beyond, it is no word
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")


@dataclass(frozen=True)
class Block:
    """Some rows of a file of vectors, one after the other."""

    places: Sequence[int]  # [rows] where each stands: 1-based line in text, row in binary
    words: list[bytes]  # [rows], in no known encoding as yet
    matrix: np.ndarray  # [rows, width] float32, finite


def looks_binary(body: bytes) -> bool:
    """Whether what follows a header is binary; for a first line that cannot be read as text.

    Numbers in float32 have bytes that no text has: zeros, other control characters, or such
    as are not UTF-8. (The first word may be in any encoding, so it is not looked at.)
    """
    try:
        body.split(b"\n", 1)[0].partition(b" ")[2].decode()
    except UnicodeDecodeError:
        return True
    return bool(_CONTROL.search(body, 0, _LONGEST_WORD))


def binary_blocks(
    file: str, chunks: Iterable[bytes], count: int, width: int, notes: list[str]
) -> Iterator[Block]:
    """The rows after the header, in blocks about as large as the chunks.

    count, width: the header's. notes: gets a line if something follows the last row.
    Raises FormatError for a file that ends early, a word that cannot be one, NaN, infinity.
    """
    done, rest, surplus = 0, b"", False
    for chunk in chunks:
        words, numbers, rest = _whole_rows(rest + chunk, count - done, 4 * width)
        if words:
            yield _block(file, done, words, numbers, width)
        done += len(words)
        if done == count:
            surplus = bool(rest.strip(b"\n"))
            break
        _check_word(file, done + 1, rest.lstrip(b"\n").partition(b" ")[0])
    if done < count:
        word, _, begun = rest.lstrip(b"\n").partition(b" ")
        where = f"{len(begun)} of {4 * width} bytes into {shown(word)}" if word else "at its start"
        message = f"the file ends in row {done + 1} of {count}, {where}; fetch it again"
        raise FormatError(file, 0, "", message)
    if surplus or any(chunk.strip(b"\n") for chunk in chunks):
        notes.append(f"more follows the {count} rows that the header promises; it is not read")


def shown(word: bytes) -> str:
    """A piece of a file as it can stand in a message: quoted, short, on one line."""
    text = word[:40].decode(errors="replace")
    return repr(text[:30] + "..." if len(text) > 30 else text)


def _whole_rows(data: bytes, most: int, size: int) -> tuple[list[bytes], list[bytes], bytes]:
    """The words and the numbers of the rows that are there in full, and the bytes left over.

    most: of rows to read; size: the bytes of a row's numbers.
    """
    words: list[bytes] = []
    numbers: list[bytes] = []
    start = 0
    while len(words) < most:
        while data.startswith(b"\n", start):  # word2vec writes one after a row, others don't
            start += 1
        space = data.find(b" ", start)
        end = space + 1 + size
        if space < 0 or end > len(data):
            break
        words.append(data[start:space])
        numbers.append(data[space + 1 : end])
        start = end
    return words, numbers, data[start:]


def _block(file: str, done: int, words: list[bytes], numbers: list[bytes], width: int) -> Block:
    """The rows after the first `done` of the file. Raises FormatError if some cannot be."""
    matrix = np.frombuffer(b"".join(numbers), "<f4").reshape(-1, width)
    finite = np.isfinite(matrix).all(axis=1)  # [rows]
    for row, word in enumerate(words):
        _check_word(file, done + row + 1, word)
        if not finite[row]:
            message = f"row {done + row + 1}, {shown(word)}, has a number that is not finite"
            raise FormatError(file, 0, "", f"{message}; the file is damaged or its header wrong")
    return Block(range(done + 1, done + len(words) + 1), words, matrix)


def _check_word(file: str, row: int, word: bytes) -> None:
    """Numbers taken for words betray themselves: the header's width is not that of the rows."""
    if len(word) > _LONGEST_WORD or b"\0" in word or b"\n" in word:
        message = f"row {row} begins with {shown(word)}, which is no word"
        raise FormatError(file, 0, "", f"{message}; the file is damaged or its header wrong")
