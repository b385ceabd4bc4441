"""Limits of the memory for the content of Parquet files; for that of single pages, see `pages`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from depkit.corpus.parquet.arrow import raise_row_error
from depkit.corpus.parquet.schema import LISTS
from depkit.files.errors import FormatError
from depkit.files.limits import OBJECT, max_sentence, too_large
from depkit.files.storage import file_size

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

# A batch, which becomes a row group of a file, has at most this number of sentences, and ends with
# the sentence that brings it to this number of characters.
BATCH_SENTENCES = 2000
BATCH_CHARACTERS = 1 << 22
_COPY = 1 << 20  # bytes copied at a time
MAX_REPETITION = 1000  # how many times as large as its file the text of all rows can be
_MAX_PACKING = 100  # how many times as large as its archive a Parquet file can be


def divide(batch: "RecordBatch", file: str, row: int) -> "Iterator[tuple[RecordBatch, int]]":
    """Divide a batch into batches that have at most the size of a sentence, and their sizes.

    row: the number of the first row. Raises FormatError if a row exceeds the limit of a sentence.
    """
    limit = max_sentence()
    sizes = np.zeros(len(batch), np.int64)
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        sizes += _measure(values, 1 if name in LISTS[1:] else OBJECT)
    if sizes.max(initial=0) > limit:
        message = too_large(file, 0, "sentence").message
        raise_row_error(file, row + int(np.argmax(sizes > limit)), message)
    ends = sizes.cumsum()
    start = 0
    while start < len(batch):
        end = int(np.searchsorted(ends, ends[start] - sizes[start] + limit, side="right"))
        yield batch[start:end], int(sizes[start:end].sum())
        start = end


def _measure(values: "Array", entry: int) -> np.ndarray:
    """Return the number of bytes of each value as text; each entry of a list has `entry` more."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        lengths = np.append(_measure(values.dictionary, entry), 0)
        return lengths[pc.fill_null(values.indices, len(lengths) - 1).to_numpy()]
    if pa.types.is_struct(kind):
        return np.sum([_measure(field, entry) for field in values.flatten()], axis=0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.append(0, (_measure(values.flatten(), entry) + entry).cumsum())
        counts = pc.fill_null(values.value_lengths(), 0).to_numpy().cumsum()
        return np.diff(ends[counts], prepend=0)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(pc.binary_length(values), 0).to_numpy()
    return np.zeros(len(values), np.int64)


def max_text(binary: BinaryIO) -> int:
    """Return the most bytes of text of a file, in which a text that is repeated is stored once."""
    return MAX_REPETITION * (binary.seek(0, 2) + (max_sentence() >> 6))


def copy_limited(binary: BinaryIO, copy: BinaryIO, file: str) -> None:
    """Copy a stream to a file. Raises FormatError if an archive is far smaller than its content.

    The pages of a Parquet file are compressed themselves, so that packing gains little.
    """
    limit = None
    if file.lower().endswith((".gz", ".xz")):
        limit = max_sentence() + _MAX_PACKING * file_size(file)
    size = 0
    while chunk := binary.read(_COPY):
        size += len(chunk)
        if limit is not None and size > limit:
            message = f"the archive is unpacked to more than {limit:,} bytes, {_MAX_PACKING} times"
            raise FormatError(file, 0, "", f"{message} its size; unpack it first, and check it")
        copy.write(chunk)
    copy.seek(0)
