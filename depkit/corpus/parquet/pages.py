"""What a Parquet file states about its size, checked before pyarrow allocates memory for it.

pyarrow allocates what the header of a page states, whatever the metadata at the end of the file
state, and a page of a few bytes can contain millions of values. Page headers and metadata are
structs in Thrift's compact protocol; see https://parquet.apache.org/docs/file-format.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from depkit.files.errors import FormatError
from depkit.files.limits import OBJECT, max_sentence, too_large

_STRUCTS = 1 << 18  # structs in the metadata, each of which takes up to 700 bytes in memory
_STRUCT_BYTES = 64  # bytes of the file for each further struct
_ELEMENTS = 2000  # columns of a file, and the elements that contain them
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3  # types of pages
_HEADERS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}  # the field of the header of each type
_ENCODINGS = {_DATA: 2, _DICTIONARY: 2, _DATA_V2: 4}  # the field of the encoding in that header
_INDICES = (2, 8)  # the encodings of values as indices of a dictionary
# Encodings whose own header in a page states how much memory they need. Few files have them.
_DELTAS = {5: "DELTA_BINARY_PACKED", 6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}
# Any row can have most of its row group. Therefore a row group has at most `_GROUP` times
# `max_sentence` bytes, or `_PACKING` times its size in the file.
_GROUP, _PACKING = 8, 100
_VALUE = 12  # bytes that pyarrow needs for a value besides its text: two levels and an index


@dataclass
class _Pages:
    """The pages of a column, as their headers describe them."""

    size: int = 0  # bytes, unpacked
    values: int = 0
    indices: int = 0  # those values that are indices of a dictionary


def check_metadata(binary: BinaryIO, file: str) -> None:
    """Raise FormatError if the metadata at the end of a file need too much memory."""
    size = binary.seek(0, 2)
    binary.seek(max(0, size - 8))
    length = int.from_bytes(binary.read(4), "little")
    if length > size - 8:
        return  # pyarrow reports it.
    binary.seek(size - 8 - length)
    # Every struct ends with a zero.
    zeros = sum(binary.read(min(1 << 20, length - x)).count(0) for x in range(0, length, 1 << 20))
    binary.seek(size - 8 - length)
    if zeros > _STRUCTS + size // _STRUCT_BYTES or _count_elements(binary) > _ELEMENTS:
        message = "the metadata describe too many columns or row groups for this size of file"
        raise FormatError(file, 0, "", message)


def _count_elements(binary: BinaryIO) -> int:
    """Return the number of elements of the schema, the list after the version number."""
    try:
        if _read_byte(binary) == 0x15:  # an integer, the first field
            _read_integer(binary)
            if _read_byte(binary) == 0x19:  # a list, the next field
                size = _read_byte(binary) >> 4
                return size if size < 15 else _read_varint(binary)
    except ValueError:
        pass
    return 0  # pyarrow reports that this is no schema.


def check_row_group(
    columns: Mapping[str, Any], rows: int, *, binary: BinaryIO, file: str, after: int = 0
) -> tuple[int, int, dict[str, tuple[int, bool]]]:
    """Return the size of a row group in memory, the offset of its end, and its indices.

    The latter are the number of indices of a dictionary in each column that has one, and whether
    all its values are indices.

    Args:
        columns: pyarrow's metadata of the columns that are read, by their paths in the schema.
        rows: The number of rows.
        binary: The file.
        file: Its name, for errors.
        after: The end of the row group before.

    Raises:
        FormatError: The row group needs too much memory or is damaged, or it has pages of the one
            before, so that a small file could have any number of rows.
    """
    limit, size, packed, indices = max_sentence(), 0, 0, {}
    for path, column in sorted(columns.items(), key=lambda item: _find_start(item[1])):
        start = _find_start(column)
        try:
            if start < after:
                raise ValueError("is damaged: its pages are not after those before it")
            after = start + column.total_compressed_size
            pages = _measure_pages(column, binary, start, after)
        except ValueError as error:
            message = f"the column {path} {error}"
            raise FormatError(file, 0, "", message) from None
        # Reading finds the row that exceeds the limit if their mean does not exceed it twice.
        if max(pages.size, pages.values * OBJECT) > 2 * limit * max(rows, 1):
            raise too_large(file, 0, "sentence")
        size += pages.size + pages.values * _VALUE
        packed += column.total_compressed_size
        if pages.indices:
            indices[path] = pages.indices, pages.indices == pages.values
    if size > _GROUP * limit + _PACKING * packed:
        message = f"a row group of {packed:,} bytes is unpacked to {size:,} bytes"
        raise FormatError(file, 0, "", f"{message}; check the file, or write smaller row groups")
    return size, after, indices


def _find_start(column: Any) -> int:
    """Return where the pages of a column begin."""
    start = column.data_page_offset
    has_dictionary = column.has_dictionary_page and 0 < column.dictionary_page_offset < start
    return column.dictionary_page_offset if has_dictionary else start


def _measure_pages(column: Any, binary: BinaryIO, start: int, end: int) -> _Pages:
    """Measure the pages of a column of a row group.

    Raises ValueError for an invalid page.
    """
    position, pages = start, _Pages()
    while pages.values < column.num_values:
        binary.seek(position)
        header = _read_struct(binary)
        kind, unpacked, packed = (_get_number(header, field) for field in (1, 2, 3))
        position = binary.tell() + packed
        details = header.get(_HEADERS.get(kind, -1))
        details = details if isinstance(details, dict) else {}
        count = _get_number(details, 1)
        if min(unpacked, packed, count) < 0 or position > end:
            raise ValueError("is damaged: it has an invalid page")
        if kind == _DICTIONARY:
            if 4 * count > unpacked:
                raise ValueError("is damaged: it has an invalid dictionary")
        elif (encoding := _get_number(details, _ENCODINGS[kind])) in _DELTAS:
            raise ValueError(f"has the encoding {_DELTAS[encoding]}; write it as PLAIN")
        else:
            if encoding in _INDICES and pages.indices < pages.values:
                raise ValueError("is damaged: it has indices after other values")
            pages.values += count
            pages.indices += count * (encoding in _INDICES)
        pages.size += unpacked
    return pages


def _get_number(fields: dict[int, Any], number: int) -> int:
    """Return a field of a struct, or -1 if there is none or it is no number."""
    value = fields.get(number)
    return value if isinstance(value, int) else -1


def _read_struct(binary: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """Read the numbers and structs of a struct by the numbers of their fields."""
    fields: dict[int, Any] = {}
    number = 0
    while byte := _read_byte(binary):
        number = number + (byte >> 4) if byte >> 4 else _read_integer(binary)
        kind = byte & 15
        if number in fields or not 0 < number < 100:
            raise ValueError("is damaged: it has a page header with an invalid field")
        fields[number] = None
        if kind in (5, 6):
            fields[number] = _read_integer(binary)
        elif kind == 8:
            binary.seek(min(_read_varint(binary), 1 << 31), 1)
        elif kind == 12 and depth < 3:
            fields[number] = _read_struct(binary, depth + 1)
        elif kind not in (1, 2):  # True and False have no further bytes.
            raise ValueError("is damaged: it has an invalid page header")
    return fields


def _read_integer(binary: BinaryIO) -> int:
    """Read a signed integer, whose sign is its last bit."""
    value = _read_varint(binary)
    return (value >> 1) ^ -(value & 1)


def _read_varint(binary: BinaryIO) -> int:
    """Read an integer with seven bits in a byte, the lowest ones first."""
    value = 0
    for shift in range(0, 64, 7):
        byte = _read_byte(binary)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError("is damaged: it has an invalid page header")


def _read_byte(binary: BinaryIO) -> int:
    byte = binary.read(1)
    if not byte:
        raise ValueError("is damaged: it has a page outside the file")
    return byte[0]
