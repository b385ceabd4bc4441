"""The HTTP server of `depkit serve`.

It is made of the standard library's `socketserver`, with a thread for each connection: parsing
takes most of the time, it happens on one thread anyway (see `batcher`), and so a server package
would add a dependency and no speed. What the standard library lacks is here and in
`http_connection`: limits on the size, number and time of requests, and on the time that slow
clients are given.

Responses have no CORS headers, so web pages of other sites cannot read them.
"""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socketserver import TCPServer, ThreadingMixIn
from threading import Condition, Thread
from typing import Any, cast

from depkit.serving.batcher import Batcher, BusyError
from depkit.serving.http_connection import RETRY_SECONDS, Connection
from depkit.serving.udpipe import Models


@dataclass(frozen=True)
class Limits:
    """What the server takes on.

    Attributes:
        size: The maximum size of the body of a request, in bytes.
        requests: The maximum number of requests that are being parsed or wait for it.
        seconds: The maximum time that a request may wait and be parsed.
        client_seconds: The time that a client has to send the head of a request, which begins when
            it has connected or has been sent the previous response. As much time is added to that
            which follows from `client_rate` for sending the body and for reading the response.
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
        self.changed = Condition()  # of the following
        self.num_connections = self.num_bytes = 0
        self.is_stopping = False
        self.idle: set[socket.socket] = set()  # connections without a request
        address = _resolve(host, port)
        self.address_family = address[0]
        super().__init__(cast(Any, address[1]), Connection)
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
            self.is_stopping = True
            for connection in self.idle:
                _end_reading(connection)
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

    @property
    def has_room(self) -> bool:
        """Whether connections without a request may remain open."""
        return not self.is_stopping and self.num_connections <= self.limits.requests

    @contextmanager
    def await_request(self, connection: socket.socket) -> Iterator[None]:
        """Within the block, a connection has no request; reading from it ends with the server."""
        with self.changed:
            self.idle.add(connection)
            if self.is_stopping:
                _end_reading(connection)
        try:
            yield
        finally:
            with self.changed:
                self.idle.discard(connection)

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


def _end_reading(connection: socket.socket) -> None:
    """Let the thread that reads from a connection find its end, after what has arrived."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RD)


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """Return the address family and the address of a host name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OSError("there is no such host") from None
    return found[0][0], found[0][4]


_BUSY_TEXT = "there are too many clients; try again\n"
_BUSY = (
    f"HTTP/1.1 503 Service Unavailable\r\nRetry-After: {RETRY_SECONDS}\r\nConnection: close\r\n"
    f"Content-Type: text/plain; charset=utf-8\r\nContent-Length: {len(_BUSY_TEXT)}\r\n\r\n"
    f"{_BUSY_TEXT}"
).encode()
