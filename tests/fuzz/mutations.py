"""Random changes to files: of bytes, and of values in JSON, safetensors, npz and Parquet."""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any

# Returns a mutation of the first file, which can contain parts of the second one.
Mutate = Callable[[Random, bytes, bytes], bytes]

_MAX_SIZE = 1 << 16  # bytes of a mutated file
_PARTS = [
    *(bytes([value]) for value in b"\0\t\n\r\x1b \"#'()*,-.0123:=[]_{}\x7f\x80\xff"),
    b"\r\n", b"\n\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "\u2028".encode(), b"1-2",
    b"1.1", b"-1", b"nan", b"inf", b"1e999", b"2147483648", b"9" * 20, b"9" * 5000,
    b"(" * 300, b"[" * 2000, b"a." * 40, b"true", b"null", b"# sent_id = ", b"# text = ",
]  # fmt: skip
_VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 0.5, -0.0, 1 << 31, 1 << 63, 10**30, float("nan"),
    float("inf"), "", "x", "0", "\x1b[2J", "\ud800", "a\tb", "x" * 5000, [], [1], ["x"], [[]],
    {}, {"x": 1}, "../x", "/dev/zero",
]  # fmt: skip


def mutate_bytes(random: Random, data: bytes, other: bytes) -> bytes:
    """Change up to four parts of a file."""
    for _ in range(random.choice((1, 1, 2, 4))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 1, 2, 4, 16, 64, 1024)))
        source = random.randrange(len(other) + 1)
        new = random.choice(
            (
                b"", bytes([random.randrange(256)]), random.choice(_PARTS), data[start:end] * 2,
                other[source : source + random.choice((4, 16, 64, 1024))],
            )
        )  # fmt: skip
        if random.random() < 0.1:
            start, end = _find_line(data, start)
        data = data[:start] + new + data[end:]
    return data[:_MAX_SIZE]


def _find_line(data: bytes, position: int) -> tuple[int, int]:
    """Return start and end of the line at a position."""
    end = data.find(b"\n", position)
    return data.rfind(b"\n", 0, position) + 1, len(data) if end < 0 else end + 1


def mutate_json(random: Random, data: bytes, other: bytes) -> bytes:
    """Change values of JSON, or bytes."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(random, data, other)
    if random.random() < 0.1:
        return mutate_bytes(random, data, other)
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _change_value(random, value)
    return json.dumps(value, ensure_ascii=random.random() < 0.8).encode(errors="surrogatepass")


def _change_value(random: Random, value: Any) -> Any:
    """Replace, remove or duplicate one value within a value."""
    if not isinstance(value, dict | list) or not value or random.random() < 0.1:
        return deepcopy(random.choice(_VALUES))
    keys: Sequence[Any] = list(value) if isinstance(value, dict) else range(len(value))
    key = random.choice(keys)
    change = random.random()
    if change < 0.1:
        del value[key]
    elif change < 0.2 and isinstance(value, list):
        value.insert(random.randrange(len(value)), deepcopy(value[key]))
    elif change < 0.2:
        value[random.choice(keys)] = deepcopy(value[key])
    else:
        value[key] = _change_value(random, value[key])
    return value


def mutate_safetensors(random: Random, data: bytes, other: bytes) -> bytes:
    """Change the header, the JSON texts in its metadata, or any bytes."""
    size = int.from_bytes(data[:8], "little")
    header, body = data[8 : 8 + size], data[8 + size :]
    if random.random() < 0.2:
        return mutate_bytes(random, data, other)
    try:
        tables = json.loads(header)
        name, text = random.choice(list(tables["__metadata__"].items()))
        tables["__metadata__"][name] = mutate_json(random, text.encode(), b"").decode()
        header = json.dumps(tables).encode()
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    if random.random() < 0.5:
        header = mutate_json(random, header, other)
    return len(header).to_bytes(8, "little") + header + body


def mutate_table(random: Random, data: bytes, other: bytes) -> bytes:
    """Change values of the rows of a Parquet file, or any bytes."""
    if random.random() < 0.3:
        return mutate_bytes(random, data, other)
    try:
        import pyarrow as pa
        from pyarrow import parquet

        rows = parquet.read_table(io.BytesIO(data), use_threads=False).to_pylist()
        for _ in range(random.choice((1, 1, 2, 3))):
            rows = _change_value(random, rows)
        target = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows), target)
        return target.getvalue()
    except Exception:  # The file has been damaged before, or the rows are not a table.
        return mutate_bytes(random, data, other)


def generate_inputs(
    random: Random, corpus: list[bytes], mutate: Mutate, count: int | None = None
) -> Iterator[bytes]:
    """Yield the files of a corpus, then mutated ones; `count` files in all, None for no limit.

    The corpus may grow meanwhile; the newest files are mutated more often.
    """

    def generate() -> Iterator[bytes]:
        yield from list(corpus)
        while True:
            latest = random.random() < 0.3
            data = random.choice(corpus[-8:] if latest else corpus)
            yield mutate(random, data, random.choice(corpus))

    return islice(generate(), count)
