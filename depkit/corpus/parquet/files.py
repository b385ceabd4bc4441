"""Parquet files: recognising, reading and writing them."""

import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import BinaryIO, cast

from depkit.corpus.parquet.arrow import import_pyarrow
from depkit.corpus.parquet.batches import (
    BLOCK_ROWS,
    convert_batches,
    count_lines,
    parse_batches,
    to_batches,
)
from depkit.corpus.parquet.limits import copy_limited, max_text
from depkit.corpus.parquet.row_groups import read_batches
from depkit.corpus.parquet.schema import make_schema
from depkit.corpus.sentence import Sentence

# The first bytes of every Parquet file: the magic number PAR1 and the first byte of a header. A
# text can also begin with PAR1, but not with this control character after it.
MAGIC = b"PAR1\x15"


def is_parquet(binary: BinaryIO) -> bool:
    """Return whether the next bytes of a stream begin a Parquet file, without consuming them."""
    peek = getattr(binary, "peek", None)
    return bool(peek and peek(len(MAGIC))[: len(MAGIC)] == MAGIC)


def write_parquet(sentences: Sentence | Iterable[Sentence], binary: BinaryIO) -> int:
    """Write sentences in CoNLL-U to a binary stream as a Parquet file, and return their number.

    Raises the errors of `to_batches`.
    """
    import_pyarrow()
    from pyarrow.parquet import ParquetWriter

    count = 0
    with ParquetWriter(
        binary, make_schema(), compression="zstd", write_page_checksum=True
    ) as writer:
        for batch in to_batches(sentences):
            writer.write_batch(batch)
            count += len(batch)
    return count


def read_parquet(
    binary: BinaryIO,
    file: str = "-",
    *,
    strict: bool = True,
    first: int = 0,
    stop: int | None = None,
    line: int = 1,
) -> Iterator[Sentence]:
    """Read the sentences of a Parquet file, a few hundred at a time.

    A stream that cannot seek, such as a pipe, is first copied to a temporary file, because the
    metadata of a Parquet file are at its end.

    Args:
        binary: The stream, which is not closed.
        file: The name of the stream, for errors.
        strict: As for `from_batches`.
        first: The index of the first row to read.
        stop: The index of the row after the last row to read; None to read to the end of the file.
        line: The line number of the first row, as in `from_batches`.

    Raises:
        FormatError: The file is not a Parquet file or is damaged; and the errors of `from_batches`.
        ValueError: pyarrow is not installed.
    """
    import_pyarrow()
    with ExitStack() as stack:
        if not (isinstance(binary, io.BufferedReader) and binary.seekable()):
            copy = cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))
            copy_limited(binary, copy, file)
            binary = copy
        batches = read_batches(binary, file, first, stop)
        yield from parse_batches(
            batches, file, strict=strict, first=first, line=line, limit=max_text(binary)
        )


def find_block_lines(binary: BinaryIO, file: str) -> list[int]:
    """Return the line number of the first row of each block of a Parquet file.

    An empty file has one block. Lines are counted as in `from_batches`. Raises the errors of
    `read_parquet`.
    """
    lines = [1]
    line = 1
    blocks = convert_batches(read_batches(binary, file), file, 1, max_text(binary))
    for row, block in enumerate(blocks):
        if row and not row % BLOCK_ROWS:
            lines.append(line)
        line += count_lines(block)
    return lines
