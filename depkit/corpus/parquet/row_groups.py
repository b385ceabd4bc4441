"""Reading the row groups of a Parquet file as batches of limited size."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from depkit.corpus.parquet.arrow import arrow_errors
from depkit.corpus.parquet.limits import BATCH_SENTENCES
from depkit.corpus.parquet.pages import check_metadata, check_row_group
from depkit.corpus.parquet.schema import PROBABILITIES, check_types, make_schema
from depkit.files.errors import FormatError
from depkit.files.limits import max_sentence

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile


def read_batches(
    binary: BinaryIO, file: str, first: int = 0, stop: int | None = None
) -> "Iterator[RecordBatch]":
    """Yield batches of the known columns, in which a text that is repeated is stored once.

    first, stop: As for `read_parquet`.
    """
    check_metadata(binary, file)
    with arrow_errors(file, "the file is not a Parquet file, or it is damaged"):
        parquet = _open(binary)
        metadata = parquet.metadata
        schema = parquet.schema_arrow
        check_types(schema, file)
        names = [name for name in make_schema().names if name not in PROBABILITIES]
        names = [name for name in names if name in schema.names]
        leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
        texts = {leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"}
        paths = [leaf.path for leaf in leaves]
        groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    if len(set(paths)) < len(paths):
        raise FormatError(file, 0, "", "two columns have the same name")
    if sum(group.num_rows for group in groups) != metadata.num_rows:
        raise FormatError(file, 0, "", "the row groups have more or fewer rows than the file")
    stop = metadata.num_rows if stop is None else stop
    end = offset = 0
    for index, group in enumerate(groups):
        start, end = end, end + group.num_rows
        if start >= stop or end <= first:
            continue
        if group.num_columns != metadata.num_columns or group.num_rows < 0:
            raise FormatError(file, 0, "", "a row group has too few or too many columns or rows")
        with arrow_errors(file, f"row {start + 1} or a row after it cannot be read"):
            columns = {
                path: group.column(number)
                for number, path in enumerate(paths)
                if path.partition(".")[0] in names
            }
            size, offset, indices = check_row_group(
                columns, group.num_rows, binary=binary, file=file, after=offset
            )
            indices = {path: counts for path, counts in indices.items() if path in texts}
            repetitive = _find_repetitive(binary, metadata, index, indices)
            parquet = _open(binary, metadata=metadata, read_dictionary=repetitive)
            rows = 1 + max_sentence() * group.num_rows // max(size, 1)
            batches = parquet.iter_batches(
                min(rows, BATCH_SENTENCES), [index], names, use_threads=False
            )
        row = start
        while True:
            with arrow_errors(file, f"row {row + 1} or a row after it cannot be read"):
                batch = next(batches, None)
            if batch is None:
                break
            begin, row = row, row + len(batch)
            if begin < stop and row > first:
                yield batch[max(0, first - begin) : stop - begin]
        if row != end:
            message = f"the file has {row} rows instead of {end}; it is damaged"
            raise FormatError(file, 0, "", message)


def _open(binary: BinaryIO, **options: Any) -> "ParquetFile":
    from pyarrow.parquet import ParquetFile

    return ParquetFile(
        binary, buffer_size=1 << 16, pre_buffer=False, page_checksum_verification=True, **options
    )


def _find_repetitive(
    binary: BinaryIO, metadata: Any, group: int, indices: dict[str, tuple[int, bool]]
) -> list[str]:
    """Return the columns of a row group that must be read with a dictionary of their texts.

    Otherwise, small indices become many copies of a large text. But where a column also has texts
    without indices, pyarrow's dictionary grows with each of them.

    metadata, group, indices: see `check_row_group`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    repetitive = []
    copies = 4 * max_sentence()  # bytes of all copies
    for path, (count, is_complete) in indices.items():
        size = 0
        if not is_complete:
            parquet = _open(binary, metadata=metadata, read_dictionary=[path])
            values = next(parquet.iter_batches(1, [group], [path], use_threads=False)).column(0)
            while not pa.types.is_dictionary(values.type):
                is_struct = pa.types.is_struct(values.type)
                values = values.field(0) if is_struct else values.flatten()
            size = count * (pc.max(pc.binary_length(values.dictionary)).as_py() or 0)
        if is_complete or size > copies:
            repetitive.append(path)
        else:
            copies -= size
    return repetitive
