"""Whether the next bytes of a stream have arrived."""

import io
import os
import time

import pytest

from depkit.files.arrival import GRACE, make_arrival_test
from depkit.files.streams import lines_on_arrival, open_lines, read_on_arrival


@pytest.fixture
def pipe():
    """The two ends of a pipe, for reading with a buffer, and for writing without one."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        yield reader, writer


def test_a_regular_file_and_bytes_in_memory_need_no_test(tmp_path):
    path = tmp_path / "file"
    path.write_text("a")
    with open(path, "rb") as binary:
        assert make_arrival_test(binary) is None
    assert make_arrival_test(io.BytesIO(b"a")) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot tell")
def test_bytes_and_the_end_of_a_pipe_arrive(pipe):
    reader, writer = pipe
    has_arrived = make_arrival_test(reader)
    began = time.monotonic()
    assert not has_arrived()
    assert time.monotonic() - began >= 0.9 * GRACE / 1000
    writer.write(b"a")
    assert has_arrived()
    assert reader.read1() == b"a" and not has_arrived()
    writer.close()
    assert has_arrived()


def test_there_is_a_pause_before_each_wait(pipe):
    reader, writer = pipe
    arrived = iter([True, False, True])
    writer.write(b"ab")
    chunks = read_on_arrival(reader, lambda: next(arrived))
    assert next(chunks) == b"ab"
    assert next(chunks) is None
    writer.write(b"c")
    assert next(chunks) == b"c"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_lines_are_those_of_a_file(tmp_path, encoding):
    """Only \\n ends a line, undecodable bytes become surrogates, and the last line may be cut."""
    path = tmp_path / "file"
    path.write_bytes(
        "é a\r\n\n\u0085b\x0cc\nlast".encode(encoding) + b"\xff" * (encoding == "utf-8")
    )
    with open_lines(path, encoding) as lines:
        expected = list(lines)
    for size in (1, 3, 100):
        with open(path, "rb", buffering=0) as raw:
            small = io.BufferedReader(SmallReads(raw, size))
            lines = list(
                lines_on_arrival(
                    small, encoding, "file", has_sentences=False, has_arrived=lambda: False
                )
            )
        assert [line for line in lines if line] == expected
        assert lines[0] == ""


class SmallReads(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, raw, size):
        self.raw, self.size = raw, size

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.raw.read(min(self.size, len(buffer)))
        buffer[: len(data)] = data
        return len(data)
