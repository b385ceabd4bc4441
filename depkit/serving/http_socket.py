"""Reading from a socket and sending to it until a deadline, however slow the other side is."""

import io
import socket
import time
from collections.abc import Iterable, Iterator
from typing import Any

_BLOCK = 1 << 16  # bytes that are sent together


class DeadlineReader(io.RawIOBase):
    """Reads from a socket until a deadline, however few bytes arrive at a time."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.connection = connection
        self.set_deadline(seconds)

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline to this number of seconds from now."""
        self.deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


def send_parts(connection: socket.socket, parts: Iterable[bytes], seconds: float) -> None:
    """Send the parts of a message. Raises TimeoutError if this takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    for block in _join_blocks(parts):
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        connection.sendall(block)


def _join_blocks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join small parts, so that fewer packets are sent."""
    block: list[bytes] = []
    length = 0
    for part in parts:
        block.append(part)
        length += len(part)
        if length >= _BLOCK:
            yield b"".join(block)
            block, length = [], 0
    yield b"".join(block)
