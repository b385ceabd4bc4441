"""The base class of streams that compute the bytes that are read from them."""

import io
from typing import Any


class ByteSource(io.RawIOBase):
    """A readable stream whose subclasses define `read_chunk`."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self.read_chunk(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def read_chunk(self, size: int) -> bytes:
        """Return at least one byte and at most `size`, b"" only at the end of the stream."""
        raise NotImplementedError
