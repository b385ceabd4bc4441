"""The head of an HTTP request: its first line and its headers, as RFC 9112 describes them.

It is not read by `http.server`, because that module parses it with the parser for e-mail, which
takes a third of the time of a small request. A head that could be understood in two ways is
refused, because further requests follow on the same connection.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import BinaryIO

MAX_LINE = 65_536  # bytes
MAX_FIRST_LINE = MAX_LINE + len("OPTIONS  HTTP/1.1\r\n")  # The address can have MAX_LINE bytes.
MAX_HEADERS = 100
_VERSION = re.compile(rb"HTTP/([0-9])\.([0-9])")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class RequestError(Exception):
    """A request that is answered with an error: a status and one line of text."""

    def __init__(self, status: HTTPStatus, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


@dataclass(frozen=True)
class Head:
    """The head of a request.

    Attributes:
        method: The method, such as GET.
        target: The address that the client asks for.
        headers: The values by name in lower case. Those of a repeated name are joined by commas.
        is_last: Whether the client sends no further request on this connection.
    """

    method: str
    target: str
    headers: dict[str, str]
    is_last: bool

    @property
    def has_body(self) -> bool:
        length = self.headers.get("content-length", "0")
        return length != "0" or "transfer-encoding" in self.headers


def read_head(stream: BinaryIO, first_line: bytes) -> Head:
    """Read the rest of a head after its first line.

    Raises RequestError if the head is wrong, ConnectionError if the stream ends within it.
    """
    method, target, version = _split_first_line(first_line)
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADERS + 1):
        line = stream.readline(MAX_LINE + 1)
        if line in (b"\r\n", b"\n"):
            is_last = version < (1, 1) or "close" in headers.get("connection", "").lower()
            if version < (1, 1):  # such a client would take "100 Continue" for the response
                headers.pop("expect", None)
            return Head(method, target, headers, is_last)
        if len(line) > MAX_LINE:
            raise RequestError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"a header is longer than {MAX_LINE:,} bytes",
            )
        if not line.endswith(b"\n"):
            raise ConnectionAbortedError
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not _NAME.fullmatch(name):
            raise RequestError(
                HTTPStatus.BAD_REQUEST, "a header is not a name, a colon and a value"
            )
        name, value = name.lower(), value.strip(" \t\r\n")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    raise RequestError(
        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"there are more than {MAX_HEADERS} headers"
    )


def _split_first_line(line: bytes) -> tuple[str, str, tuple[int, int]]:
    """Return the method, the address and the version of HTTP."""
    words = line.rstrip(b"\r\n").split(b" ")
    if len(line) > MAX_FIRST_LINE or max(map(len, words)) > MAX_LINE:
        raise RequestError(
            HTTPStatus.REQUEST_URI_TOO_LONG,
            f"the address is longer than {MAX_LINE:,} bytes; send the text by POST",
        )
    match = _VERSION.fullmatch(words[-1]) if len(words) == 3 else None
    if not match:
        raise RequestError(
            HTTPStatus.BAD_REQUEST,
            "the request does not begin with a method, an address and the version of HTTP",
        )
    version = int(match[1]), int(match[2])
    if not (1, 0) <= version < (2, 0):
        raise RequestError(
            HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "the version of HTTP must be 1.0 or 1.1"
        )
    try:
        target = words[1].decode()
    except UnicodeDecodeError:
        raise RequestError(HTTPStatus.BAD_REQUEST, "the address is not valid UTF-8") from None
    return words[0].decode("latin-1"), target, version
