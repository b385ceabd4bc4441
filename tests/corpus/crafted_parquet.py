"""Parquet files of given pages and metadata, also of such as no library writes.

Structs are written in Thrift's compact protocol; the numbers of their fields are those of
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

import struct
from collections.abc import Sequence

import pyarrow as pa

PLAIN, RLE_DICTIONARY, DELTA_BINARY, DELTA_LENGTHS, DELTA_PREFIXES = 0, 8, 5, 6, 7
_BOOL, _INT32, _INT64, _BINARY, _LIST, _STRUCT = 1, 5, 6, 8, 9, 12
_CODECS = {"none": 0, "gzip": 2, "zstd": 6}


def varint(value: int) -> bytes:
    """Encode an integer with seven bits in a byte, the lowest ones first."""
    result = bytearray()
    while value > 127:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes([*result, value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def int32(value: int) -> tuple[int, bytes]:
    return _INT32, zigzag(value)


def int64(value: int) -> tuple[int, bytes]:
    return _INT64, zigzag(value)


def text(value: str) -> tuple[int, bytes]:
    return _BINARY, varint(len(value.encode())) + value.encode()


def items(values: Sequence[tuple[int, bytes]]) -> tuple[int, bytes]:
    """Encode a list of values of the same type."""
    kind = values[0][0] if values else _STRUCT
    head = bytes([min(len(values), 15) << 4 | kind])
    size = varint(len(values)) if len(values) >= 15 else b""
    return _LIST, head + size + b"".join(data for _, data in values)


def fields(values: dict[int, tuple[int, bytes]]) -> tuple[int, bytes]:
    """Encode a struct."""
    result = bytearray()
    last = 0
    for number, (kind, data) in values.items():
        step = number - last
        result += bytes([step << 4 | kind]) if step < 16 else bytes([kind]) + zigzag(number)
        result += data
        last = number
    return _STRUCT, bytes(result) + b"\0"


def run(value: int, count: int) -> bytes:
    """Encode a value of at most eight bits that is repeated."""
    return varint(count << 1) + bytes([value])


def levels(lengths: Sequence[int], entry: int = 3) -> bytes:
    """Encode the levels of lists of these lengths; entry: the level of an entry, 2 for a null."""
    repeated = b"".join(run(0, 1) + (run(1, n - 1) if n > 1 else b"") for n in lengths)
    defined = run(entry, sum(lengths))
    return b"".join(len(x).to_bytes(4, "little") + x for x in (repeated, defined))


def plain(value: bytes, count: int = 1) -> bytes:
    return (len(value).to_bytes(4, "little") + value) * count


def page(
    body: bytes, count: int, encoding: int = PLAIN, *, codec: str = "zstd",
    dictionary: bool = False, size: int | None = None,
) -> bytes:  # fmt: skip
    """Encode a page; size: the size that its header states instead of that of the body."""
    packed = body if codec == "none" else pa.Codec(codec).compress(body, asbytes=True)
    header = {1: int32(2 if dictionary else 0), 2: int32(len(body) if size is None else size)}
    header[3] = int32(len(packed))
    if dictionary:
        header[7] = fields({1: int32(count), 2: int32(PLAIN)})
    else:
        header[5] = fields({1: int32(count), 2: int32(encoding), 3: int32(3), 4: int32(3)})
    return fields(header)[1] + packed


def element(
    name: str, repetition: int | None = None, *, children: int = 0, type: int | None = None,
    converted: int | None = None,
) -> tuple[int, bytes]:  # fmt: skip
    """Encode an element of a schema."""
    values = {1: type, 3: repetition, 5: children or None, 6: converted}
    known = {number: int32(value) for number, value in values.items() if value is not None}
    return fields(dict(sorted({**known, 4: text(name)}.items())))


def string_list(name: str) -> list[tuple[int, bytes]]:
    """Encode the elements of a column of lists of strings."""
    return [
        element(name, 1, children=1, converted=3),
        element("list", 2, children=1),
        element("element", 1, type=6, converted=0),
    ]


def column(
    name: str, start: int, size: int, values: int, *, dictionary: int = 0, codec: str = "zstd",
    unpacked: int | None = None,
) -> tuple[int, bytes]:  # fmt: skip
    """Encode the metadata of a column of lists of strings.

    start: where its pages begin; dictionary: the size of the page of the dictionary, if any;
    unpacked: the size that is stated for its pages.
    """
    offsets = {9: int64(start + dictionary)} | ({11: int64(start)} if dictionary else {})
    details = fields({
        1: int32(6), 2: items([int32(PLAIN), int32(RLE_DICTIONARY)]),
        3: items([text(part) for part in (name, "list", "element")]), 4: int32(_CODECS[codec]),
        5: int64(values), 6: int64(size if unpacked is None else unpacked), 7: int64(size),
        **offsets,
    })  # fmt: skip
    return fields({2: int64(0), 3: details})


def group(columns: Sequence[tuple[int, bytes]], rows: int, size: int = 100) -> tuple[int, bytes]:
    return fields({1: items(columns), 2: int64(size), 3: int64(rows)})


def file(
    pages: bytes, schema: Sequence[tuple[int, bytes]], groups: Sequence[tuple[int, bytes]],
    rows: int,
) -> bytes:  # fmt: skip
    """Encode a file; schema: its elements after the root, all of them below one child."""
    children = sum(1 for _, data in schema if b"list" not in data and b"element" not in data)
    _, footer = fields({
        1: int32(2), 2: items([element("schema", children=children), *schema]), 3: int64(rows),
        4: items(groups),
    })  # fmt: skip
    return b"PAR1" + pages + footer + struct.pack("<I", len(footer)) + b"PAR1"


def tokens_file(
    pages: Sequence[bytes], values: int, rows: int, *, dictionary: bool = False,
    codec: str = "zstd",
) -> bytes:  # fmt: skip
    """Encode a file with the column tokens and one row group of these pages."""
    body = b"".join(pages)
    size = len(pages[0]) if dictionary else 0
    chunk = column("tokens", 4, len(body), values, dictionary=size, codec=codec)
    return file(body, string_list("tokens"), [group([chunk], rows)], rows)
