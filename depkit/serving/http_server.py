"""The HTTP server of `depkit serve`.

It is made of the standard library's `socketserver` and `http.server`, with a thread for each
connection: parsing takes nearly all of the time, it happens on one thread anyway (see `batcher`),
and so a server package would add a dependency and no speed. What the standard library lacks is
here: limits on the size, number and time of requests, and on the patience with slow clients.

A connection is closed after one request, as UDPipe's server does. Responses carry no permission
for web pages of other sites to read them.
"""

import io
import ipaddress
import json
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import BaseRequestHandler, TCPServer, ThreadingMixIn
from threading import Condition, Thread
from typing import Any, cast
from urllib.parse import urlsplit

from depkit.serving.batcher import AbandonedError, Batcher, BusyError
from depkit.serving.forms import decode_form, decode_query
from depkit.serving.http_page import POLICY, make_query, render_page
from depkit.serving.udpipe import Models, Query, describe_error, render_answer
from depkit.version import __version__

_PATHS = {
    "/": ("GET", "HEAD", "POST"),
    "/models": ("GET", "HEAD"),
    "/health": ("GET", "HEAD"),
    "/process": ("GET", "POST"),
}
_RETRY_SECONDS = 1
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 1 << 26
_MAX_MESSAGE = 1_000  # characters


@dataclass(frozen=True)
class Limits:
    """What the server takes on.

    Attributes:
        size: The maximum size of the body of a request, in bytes.
        requests: The maximum number of requests that are being parsed or wait for it.
        seconds: The maximum time that a request may wait and be parsed.
        client_seconds: The time that a client has to send the head of a request, and besides
            `client_rate` to send the body and to read the response.
        client_rate: The speed that is expected of a client, in bytes per second.
    """

    size: int = 16_000_000
    requests: int = 100
    seconds: float = 600.0
    client_seconds: float = 10.0
    client_rate: float = 50_000.0

    @property
    def total_size(self) -> int:
        """The maximum size of all bodies that are in memory at once, in bytes."""
        return 4 * self.size

    @property
    def connections(self) -> int:
        """The maximum number of connections: some clients are still sending, or being refused."""
        return self.requests + 50


class RequestError(Exception):
    """A request that is answered with an error: a status and one line of text."""

    def __init__(self, status: HTTPStatus, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers


class Server(ThreadingMixIn, TCPServer):
    """A server that listens on a port from its creation on; `start` begins to answer.

    Raises OSError if it cannot listen there.
    """

    allow_reuse_address = True
    daemon_threads = True  # `stop` waits for them; a second interruption does not
    request_queue_size = 128

    def __init__(
        self,
        models: Models,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        limits: Limits | None = None,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Listen on an address; port 0 is any free port. log: called with a line per request."""
        self.models, self.limits, self.log = models, limits or Limits(), log
        self.batcher = Batcher(self.limits.requests)
        self.changed = Condition()  # of the following two
        self.num_connections = self.num_bytes = 0
        address = _resolve(host, port)
        self.address_family = address[0]
        super().__init__(cast(Any, address[1]), cast(type[BaseRequestHandler], _Handler))
        self.thread = Thread(target=self.serve_forever, args=(0.1,), name="listener", daemon=True)

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address, for people."""
        host = str(self.socket.getsockname()[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        host = str(self.socket.getsockname()[0]).partition("%")[0]
        return ipaddress.ip_address(host).is_loopback

    def start(self) -> None:
        """Begin to answer requests, on other threads."""
        self.batcher.start()
        self.thread.start()

    def stop(self) -> None:
        """Accept no more connections, finish those that are open, and stop."""
        self.shutdown()
        self.server_close()
        with self.changed:
            self.changed.wait_for(lambda: not self.num_connections)
        self.batcher.stop()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection, or refuse it if there are too many."""
        with self.changed:
            is_free = self.num_connections < self.limits.connections
            self.num_connections += is_free
        if not is_free:
            with suppress(OSError):
                request.settimeout(0)  # A new connection has room for so short a text.
                request.send(_BUSY)
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # The system has no more threads.
            self._end_connection()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a connection, on its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._end_connection()

    def _end_connection(self) -> None:
        with self.changed:
            self.num_connections -= 1
            self.changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that are gone; other errors have been answered by the handler."""

    @contextmanager
    def reserve(self, size: int) -> Iterator[None]:
        """Count the bytes of a body while it is in memory; raise BusyError if there are too many.

        size: at most `limits.size`.
        """
        with self.changed:
            if self.num_bytes + size > self.limits.total_size:
                raise BusyError
            self.num_bytes += size
        try:
            yield
        finally:
            with self.changed:
                self.num_bytes -= size


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """Return the address family and the address of a host name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OSError("there is no such host") from None
    return found[0][0], found[0][4]


class _Handler(BaseHTTPRequestHandler):
    """A connection with one request."""

    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        """Read from the socket through `_DeadlineReader`."""
        super().setup()
        self.reader = _DeadlineReader(self.connection, self.server.limits.client_seconds)
        self.rfile = io.BufferedReader(self.reader)
        self.has_unread_body = False

    def finish(self) -> None:
        """End the connection so that the client can read the response.

        If the client is still sending, closing the connection at once would discard the response.
        """
        super().finish()
        if not self.has_unread_body:
            return
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.reader.set_deadline(_LINGER_SECONDS)
            buffer = bytearray(1 << 16)
            left = _LINGER_BYTES
            while left > 0 and (count := self.reader.readinto(buffer)):
                left -= count

    def do_GET(self) -> None:
        """Answer a request of any method; http.server calls it by this name."""
        self.close_connection = True
        began = time.monotonic()
        try:
            status, size = self._answer()
        except RequestError as error:
            status, size = error.status, 0
            self._send_error(error)
        except OSError:  # The client is gone, or is too slow in reading.
            self._log("the client is gone", began)
            return
        self._log(f"{status.value} {size} bytes", began)

    do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def handle_expect_100(self) -> bool:
        """Do not ask the client for a body that will be refused."""
        length = self.headers.get("Content-Length", "")
        if _is_number(length) and int(length) > self.server.limits.size:
            return True  # `_body_size` refuses it.
        return super().handle_expect_100()

    def handle_one_request(self) -> None:
        """Close the connection if it is reset; http.server does so if the head is late."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that http.server cannot read: with a line of text, not with a page."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:  # a method that is unknown
            status, message = HTTPStatus.METHOD_NOT_ALLOWED, "the method is not supported"
        self.close_connection = self.has_unread_body = True
        self._send_error(RequestError(status, message or status.phrase))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing: `_log` does."""

    def _log(self, result: str, began: float) -> None:
        path = self.path.partition("?")[0][:100]  # without the text of a user
        milliseconds = 1000 * (time.monotonic() - began)
        self.server.log(
            f"{self.client_address[0]} {self.command} {path}: {result}, {milliseconds:.0f} ms"
        )

    def _answer(self) -> tuple[HTTPStatus, int]:
        """Answer the request; return the status and the size. Raises RequestError."""
        self.has_unread_body = "Content-Length" in self.headers or (
            "Transfer-Encoding" in self.headers
        )
        try:
            url = urlsplit(self.path)
            parameters = decode_query(url.query)
        except ValueError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, f"the address is invalid: {error}") from None
        methods = _PATHS.get(url.path)
        if methods is None:
            raise RequestError(
                HTTPStatus.NOT_FOUND, f"there is nothing here; use {', '.join(_PATHS)}"
            )
        if self.command not in methods:
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
        size = self._body_size() if self.command == "POST" else 0
        retry = {"Retry-After": str(_RETRY_SECONDS)}
        status = HTTPStatus.BAD_REQUEST
        try:
            with server.reserve(size):
                if self.command == "POST":
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
        length = self.headers.get("Content-Length", "").strip()
        if "Transfer-Encoding" in self.headers or not length:
            raise RequestError(
                HTTPStatus.LENGTH_REQUIRED, "send the body with a Content-Length, not in chunks"
            )
        if not _is_number(length):
            raise RequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is not a number")
        limit = self.server.limits.size
        if int(length) > limit:
            raise RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body is larger than {limit:,} bytes; send less at once",
            )
        return int(length)

    def _read_form(self, size: int) -> dict[str, str]:
        limits = self.server.limits
        self.reader.set_deadline(limits.client_seconds + size / limits.client_rate)
        try:
            body = self.rfile.read(size)
        except TimeoutError:
            raise RequestError(
                HTTPStatus.REQUEST_TIMEOUT, "the body did not arrive in time"
            ) from None
        if len(body) < size:
            raise ConnectionAbortedError
        self.has_unread_body = False
        try:
            return decode_form(self.headers.get("Content-Type", ""), body)
        except ValueError as error:
            raise RequestError(HTTPStatus.BAD_REQUEST, str(error)) from None

    def _is_gone(self) -> bool:
        """Whether the client has closed the connection."""
        self.connection.settimeout(0)
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _send_error(self, error: RequestError) -> None:
        message = " ".join(error.message.split())
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]} ..."
        body = f"{message}\n".encode(errors="replace")
        with suppress(OSError):
            self._send(error.status, "text/plain; charset=utf-8", [body], error.headers)

    def _send_json(self, parts: list[bytes]) -> tuple[HTTPStatus, int]:
        return HTTPStatus.OK, self._send(HTTPStatus.OK, "application/json", parts, {})

    def _send(
        self, status: HTTPStatus, kind: str, parts: Iterable[bytes], headers: dict[str, str]
    ) -> int:
        """Send a response and return the size of its body."""
        parts = list(parts)
        size = sum(map(len, parts))
        lines = {
            "Server": f"depkit/{__version__}",
            "Date": self.date_time_string(),
            **headers,
            "Content-Type": kind,
            "Content-Length": str(size),
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()
        )
        if self.command == "HEAD":
            parts = []
        limits = self.server.limits
        # The timeout is that of sending everything, however slowly the client reads.
        deadline = time.monotonic() + limits.client_seconds + size / limits.client_rate
        for block in _join_blocks([f"{head}\r\n".encode(), *parts]):
            self.connection.settimeout(max(0.01, deadline - time.monotonic()))
            self.connection.sendall(block)
        return size


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket until a deadline, however few bytes arrive at a time."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.connection = connection
        self.set_deadline(seconds)

    def set_deadline(self, seconds: float) -> None:
        """Let the deadline be so many seconds from now."""
        self.deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


def _join_blocks(parts: Iterable[bytes], size: int = 1 << 16) -> Iterator[bytes]:
    """Join small parts, so that fewer packets are sent."""
    block: list[bytes] = []
    length = 0
    for part in parts:
        block.append(part)
        length += len(part)
        if length >= size:
            yield b"".join(block)
            block, length = [], 0
    yield b"".join(block)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _dump(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"


_BUSY_TEXT = "there are too many clients; try again\n"
_BUSY = (
    f"HTTP/1.1 503 Service Unavailable\r\nRetry-After: {_RETRY_SECONDS}\r\nConnection: close\r\n"
    f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(_BUSY_TEXT)}\r\n\r\n"
    f"{_BUSY_TEXT}"
).encode()
