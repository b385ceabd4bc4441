"""A connection of a client, on which requests are read and answered.

A connection is kept for further requests, as HTTP/1.1 does, unless the client asks for its end or
many clients are connected. So a client that sends many short texts connects only once.
"""

import io
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache, partial
from http import HTTPStatus
from socketserver import BaseRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from depkit.serving.batcher import AbandonedError, BusyError
from depkit.serving.forms import decode_form, decode_query
from depkit.serving.http_head import MAX_FIRST_LINE, Head, RequestError, read_head
from depkit.serving.http_page import POLICY, make_query, render_page
from depkit.serving.http_socket import DeadlineReader, send_parts
from depkit.serving.udpipe import Query, describe_error, render_answer
from depkit.version import __version__

if TYPE_CHECKING:
    from depkit.serving.http_server import Server

RETRY_SECONDS = 1
_NO_HEAD = Head("", "", {}, is_last=True)
_PATHS = {
    "/": ("GET", "HEAD", "POST"),
    "/models": ("GET", "HEAD"),
    "/health": ("GET", "HEAD"),
    "/process": ("GET", "POST"),
}
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 1 << 26
_MAX_MESSAGE = 1_000  # characters


class Connection(BaseRequestHandler):
    """A connection, on its own thread."""

    server: "Server"

    def setup(self) -> None:
        """Read from the socket through `DeadlineReader`."""
        self.socket: socket.socket = self.request
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        self.reader = DeadlineReader(self.socket, self.server.limits.client_seconds)
        self.stream = io.BufferedReader(self.reader)
        self.head = _NO_HEAD
        self.has_unread_body = self.is_kept = self.may_receive_more = False

    def handle(self) -> None:
        """Answer requests until the connection is to end."""
        with suppress(OSError):  # The client is gone, or is late with the head of a request.
            while (first_line := self._await_first_line()) and self._answer_request(first_line):
                self.reader.set_deadline(self.server.limits.client_seconds)

    def _await_first_line(self) -> bytes:
        """Return the first line of a request, or b"" at the end of the connection or the server.

        Some old clients send an empty line after a body; RFC 9112, section 2.2, lets servers skip
        it.
        """
        with self.server.await_request(self.socket):
            line = self.stream.readline(MAX_FIRST_LINE + 1)
            return self.stream.readline(MAX_FIRST_LINE + 1) if line == b"\r\n" else line

    def finish(self) -> None:
        """End the connection so that the client can read the response.

        If the client is still sending (a body, or further requests), closing at once would reset
        the connection, and the client could lose the response (RFC 9112, section 9.6).
        """
        if not self.may_receive_more:
            return
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
            self.reader.set_deadline(_LINGER_SECONDS)
            buffer = bytearray(1 << 16)
            left = _LINGER_BYTES
            while left > 0 and (count := self.reader.readinto(buffer)):
                left -= count

    def _answer_request(self, first_line: bytes) -> bool:
        """Answer a request; return whether another one may follow."""
        began = time.monotonic()
        self.head, self.is_kept = _NO_HEAD, False
        try:
            self.head = read_head(self.stream, first_line)
            self.has_unread_body = self.head.has_body
            status, size = self._answer()
        except RequestError as error:
            # Where the request ends is unknown if its head is wrong.
            self.has_unread_body |= self.head is _NO_HEAD
            status, size = error.status, 0
            self._send_error(error)
        except OSError:  # The client is gone, or is too slow.
            self.may_receive_more = False
            self._log("the client is gone", began)
            return False
        self._log(f"{status.value} {size} bytes", began)
        return self.is_kept

    def _log(self, result: str, began: float) -> None:
        path = self.head.target.partition("?")[0][:100]  # without the text of a user
        milliseconds = 1000 * (time.monotonic() - began)
        self.server.log(
            f"{self.client_address[0]} {self.head.method} {path}: {result}, {milliseconds:.0f} ms"
        )

    def _answer(self) -> tuple[HTTPStatus, int]:
        """Answer the request; return the status and the size. Raises RequestError."""
        try:
            url = urlsplit(self.head.target)
            parameters = decode_query(url.query)
        except ValueError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, f"the address is invalid: {error}") from None
        methods = _PATHS.get(url.path)
        if methods is None:
            raise RequestError(
                HTTPStatus.NOT_FOUND, f"there is nothing here; use {', '.join(_PATHS)}"
            )
        if self.head.method not in methods:
            raise RequestError(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"use {' or '.join(methods)}",
                Allow=", ".join(methods),
            )
        if url.path == "/models":
            return self._send_json([_dump(self.server.models.describe())])
        if url.path == "/health":
            return self._send_json([_dump({"status": "ok"})])
        if url.path == "/":
            return self._show_page(parameters)
        return self._send_json(self._annotate(parameters, self._make_query, render_answer))

    def _make_query(self, parameters: dict[str, str]) -> Query:
        query = self.server.models.parse_query(parameters)
        parameters.clear()  # The text may be large.
        return query

    def _show_page(self, values: dict[str, str]) -> tuple[HTTPStatus, int]:
        models = self.server.models
        parts = self._annotate(
            values, partial(make_query, models), partial(render_page, models, values)
        )
        headers = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
        return HTTPStatus.OK, self._send(HTTPStatus.OK, "text/html; charset=utf-8", parts, headers)

    def _annotate(
        self,
        parameters: dict[str, str],
        make_query: Callable[[dict[str, str]], Query],
        render: Callable[[Query, Iterator[Any]], Iterator[bytes]],
    ) -> list[bytes]:
        """Annotate the text of a request, and return the parts of the body of the response.

        parameters: those of the address; those of a form are added.

        Raises RequestError for every error except those of the connection, which are OSErrors.
        """
        server = self.server
        size = self._body_size() if self.head.method == "POST" else 0
        retry = {"Retry-After": str(RETRY_SECONDS)}
        status = HTTPStatus.BAD_REQUEST
        try:
            with server.reserve(size):
                if self.head.method == "POST":
                    parameters |= self._read_form(size)
                query = make_query(parameters)
                results = server.batcher.annotate(
                    query.sentences,
                    query.annotate,
                    seconds=server.limits.seconds,
                    is_gone=self._is_gone,
                )
                return list(render(query, results))
        except BusyError:
            status, message = HTTPStatus.SERVICE_UNAVAILABLE, "the server is busy; try again"
        except TimeoutError:
            seconds = server.limits.seconds
            status = HTTPStatus.SERVICE_UNAVAILABLE
            message = f"the request took more than {seconds:g} s; send less at once"
        except AbandonedError:
            raise ConnectionAbortedError from None
        except (ValueError, MemoryError) as error:  # as those of a file that cannot be parsed
            message = describe_error(error)
        except (RequestError, OSError):
            raise
        except Exception as error:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            message = f"internal error, {type(error).__name__}: {error}"
        is_busy = status is HTTPStatus.SERVICE_UNAVAILABLE
        raise RequestError(status, message, **retry if is_busy else {})

    def _body_size(self) -> int:
        """Return the size of the body. Raises RequestError if it is unknown or too large."""
        length = self.head.headers.get("content-length", "")
        if "transfer-encoding" in self.head.headers or not length:
            raise RequestError(
                HTTPStatus.LENGTH_REQUIRED, "send the body with a Content-Length, not in chunks"
            )
        if "," in length:
            raise RequestError(HTTPStatus.BAD_REQUEST, "there are several values of Content-Length")
        if not (length.isascii() and length.isdigit()):
            raise RequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is not a number")
        limit = self.server.limits.size
        size = float(length)  # int() refuses numbers of thousands of digits.
        if size > limit:
            raise RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body is larger than {limit:,} bytes; send less at once",
            )
        return int(size)

    def _read_form(self, size: int) -> dict[str, str]:
        limits = self.server.limits
        if self.head.headers.get("expect", "").lower() == "100-continue":
            self.socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.reader.set_deadline(limits.client_seconds + size / limits.client_rate)
        try:
            body = self.stream.read(size)
        except TimeoutError:
            raise RequestError(
                HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time"
            ) from None
        if len(body) < size:
            raise ConnectionAbortedError
        self.has_unread_body = False
        try:
            return decode_form(self.head.headers.get("content-type", ""), body)
        except ValueError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, str(error)) from None

    def _is_gone(self) -> bool:
        """Whether the client has closed the connection, or its side of it.

        The two look the same until something is sent.
        """
        self.socket.settimeout(0)
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _send_error(self, error: RequestError) -> None:
        message = " ".join(error.message.split())
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]} ..."
        body = f"{message}\n".encode(errors="replace")
        try:
            self._send(error.status, "text/plain; charset=utf-8", [body], error.headers)
        except OSError:
            self.is_kept = False  # A part of the response may have been sent.

    def _send_json(self, parts: list[bytes]) -> tuple[HTTPStatus, int]:
        return HTTPStatus.OK, self._send(HTTPStatus.OK, "application/json", parts, {})

    def _send(
        self, status: HTTPStatus, kind: str, parts: Iterable[bytes], headers: dict[str, str]
    ) -> int:
        """Send a response and return the size of its body.

        The connection is kept if the client has sent the whole request: what is left of a body
        would be taken for the next one.
        """
        self.is_kept = not (self.head.is_last or self.has_unread_body) and self.server.has_room
        is_end = self.head.is_last and not self.has_unread_body
        self.may_receive_more = not (self.is_kept or is_end)
        parts = list(parts)
        size = sum(map(len, parts))
        lines = {
            "Server": f"depkit/{__version__}",
            "Date": _format_date(int(time.time())),
            **headers,
            "Content-Type": kind,
            "Content-Length": str(size),
            "X-Content-Type-Options": "nosniff",
        } | ({} if self.is_kept else {"Connection": "close"})
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()
        )
        if self.head.method == "HEAD":
            parts = []
        limits = self.server.limits
        seconds = limits.client_seconds + size / limits.client_rate
        send_parts(self.socket, [f"{head}\r\n".encode(), *parts], seconds)
        return size


def _dump(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


@lru_cache(maxsize=1)
def _format_date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)
