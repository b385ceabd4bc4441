"""Small Parquet files that would need much memory, and a program that reads them with little.

`python -m tests.corpus.parquet_attacks DIR` writes the files to DIR, reads each in a process with
little memory, and prints a line of JSON for each: [name, error message].
"""

import json
import os
import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet  # noqa: F401 - imported before the memory is limited

from depkit.corpus.io import read
from depkit.files.errors import FormatError
from tests.corpus.crafted_parquet import (
    DELTA_LENGTHS,
    DELTA_PREFIXES,
    RLE_DICTIONARY,
    column,
    element,
    fields,
    file,
    group,
    int32,
    int64,
    items,
    levels,
    page,
    plain,
    run,
    string_list,
    tokens_file,
    varint,
    zigzag,
)  # fmt: skip

_MEMORY = 700 << 20  # bytes that reading may allocate
_SECONDS = 60  # of processor time
_LIMIT = 1 << 24  # bytes of a sentence
_BILLION = 10**9


def _entry(size: int, rows: int = 1) -> bytes:
    """One text of this size."""
    return tokens_file([page(levels([1]) + plain(b"x" * size), 1)], 1, rows)


def _one_row(rows: int) -> bytes:
    """One row on 100 pages, in a row group that states a number of rows."""
    first = page(levels([1]) + plain(b"x" * _LIMIT), 1)
    repeated = b"".join(len(x).to_bytes(4, "little") + x for x in (run(1, 1), run(3, 1)))
    return tokens_file([first] + [page(repeated + plain(b"x" * _LIMIT), 1)] * 99, 100, rows)


def _nulls(count: int, rows: int) -> bytes:
    return tokens_file([page(levels([count], 2), count)], count, rows)


def _repeated(entry: int, count: int, lengths: list[int]) -> bytes:
    """Rows of these lengths whose tokens are all the same entry of a dictionary."""
    entries = page(plain(b"x" * entry), count, dictionary=True)
    indices = bytes([1]) + run(0, sum(lengths))
    tokens = page(levels(lengths) + indices, sum(lengths), RLE_DICTIONARY)
    return tokens_file([entries, tokens], sum(lengths), len(lengths), dictionary=True)


def _delta(encoding: int) -> bytes:
    """A value whose encoding states a billion values in one block."""
    head = varint(1 << 30) + varint(4) + varint((1 << 30) - 1) + zigzag(0) + zigzag(0)
    return tokens_file([page(levels([1]) + head + bytes(100), 1, encoding)], 1, 1)


def _metadata(values: dict[int, tuple[int, bytes]]) -> bytes:
    footer = fields({1: int32(2), **values})[1]
    return b"PAR1\x15" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _schema(*elements: tuple[int, bytes]) -> tuple[int, bytes]:
    return items([element("schema", children=1), *elements])


def _many_columns(count: int) -> bytes:
    """A row group with more columns than the schema."""
    columns = [fields({2: int64(0)})] * count
    return _metadata(
        {2: _schema(*string_list("tokens")), 3: int64(1), 4: items([group(columns, 1)])}
    )


def _nested(depth: int) -> bytes:
    elements = [element("a", 1, children=1)] * depth + [element("a", 1, type=6)]
    return _metadata({2: _schema(*elements), 3: int64(0), 4: items([])})


def _shared(groups: int) -> bytes:
    """Row groups that have the same pages."""
    pages = page(levels([1] * 2000) + plain(b"abc", 2000), 2000)
    chunk = column("tokens", 4, len(pages), 2000)
    return file(pages, string_list("tokens"), [group([chunk], 2000)] * groups, 2000 * groups)


def _stated(size: int) -> bytes:
    """A page whose header states a size."""
    return tokens_file([page(levels([1]) + plain(b"x"), 1, size=size)], 1, 1)


ATTACKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "one large text": (lambda: _entry(_LIMIT), "row 1: a sentence has more than 16,777,216"),
    "one huge text": (lambda: _entry(1 << 28), "a sentence has more than 16,777,216"),
    "a huge text, many rows stated": (lambda: _entry(1 << 28, _BILLION), "is unpacked to 268,4"),
    "one row of many pages": (lambda: _one_row(1), "a sentence has more than 16,777,216"),
    "many rows stated": (lambda: _one_row(_BILLION), "is unpacked to 1,677,"),
    "nulls": (lambda: _nulls(10**8, 1), "a sentence has more than 16,777,216"),
    "nulls, many rows stated": (lambda: _nulls(10**8, _BILLION), "is unpacked to 1,200,"),
    "two billion nulls": (lambda: _nulls((1 << 31) - 1, 1), "a sentence has more than"),
    "an entry many times in a row": (
        lambda: _repeated(_LIMIT - 100, 1, [1000]), "row 1: a sentence has more than"
    ),
    "an entry in many rows": (
        lambda: _repeated(_LIMIT - 100, 1, [1] * 1000), "the rows up to here have more than 262"
    ),
    "a large entry": (lambda: _repeated(1 << 26, 1, [1] * 9), "row 1: a sentence has more than"),
    "a dictionary of many entries": (
        lambda: _repeated(1, (1 << 31) - 1, [1]), "tokens.list.element is damaged: it has an inv"
    ),
    "lengths": (lambda: _delta(DELTA_LENGTHS), "has the encoding DELTA_LENGTH_BYTE_ARRAY"),
    "prefixes": (lambda: _delta(DELTA_PREFIXES), "has the encoding DELTA_BYTE_ARRAY"),
    "a page states 2 GB": (lambda: _stated((1 << 31) - 1), "a sentence has more than"),
    "a page states a negative size": (lambda: _stated(-1), "is damaged: it has an invalid page"),
    "a column too many": (lambda: _many_columns(2), "too few or too many columns"),
    "a column without metadata": (lambda: _many_columns(1), "the file has 0 rows instead of 1"),
    "a million columns": (lambda: _many_columns(10**6 - 1), "describe too many columns"),
    "deep columns": (lambda: _nested(100_000), "describe too many columns"),
    "row groups that share pages": (lambda: _shared(10_000), "is damaged: its pages are not"),
}  # fmt: skip


def _read_limited(path: Path) -> None:
    """Print the error of reading a file with little memory, and end the process."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, size + _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    message = "no error"
    try:
        for _ in read(path):
            pass
    except FormatError as error:
        message = str(error)
    except BaseException as error:
        message = repr(error)
    print(json.dumps([path.stem, message]), flush=True)
    os._exit(0)


def main() -> None:
    for name, (make, _) in ATTACKS.items():
        path = Path(sys.argv[1], f"{name}.parquet")
        path.write_bytes(make())
        if not (process := os.fork()):
            _read_limited(path)
        os.waitpid(process, 0)


if __name__ == "__main__":
    main()
