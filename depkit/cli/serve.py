"""`depkit serve`: parses texts that other programs send over HTTP."""

import gc
import os
import signal
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated, cast

from depkit.cli import options
from depkit.cli.help import MACHINE, OTHER, option
from depkit.cli.output import print_message
from depkit.parsers.engine.names import EngineName

if TYPE_CHECKING:
    from depkit.serving.http_server import Server

Host = Annotated[str, option(MACHINE, metavar="HOST")]
Port = Annotated[int, option(MACHINE, min=0, max=65_535)]
MaxSize = Annotated[float, option(MACHINE, min=0.001, max=1_000)]
MaxRequests = Annotated[int, option(MACHINE, min=1, max=10_000)]
MaxSeconds = Annotated[float, option(MACHINE, min=1, max=86_400)]
Check = Annotated[bool, option(OTHER, "--check")]


def serve_command(
    *,
    models: options.Models = None,
    host: Host = "127.0.0.1",
    port: Port = 8001,
    max_size: MaxSize = 16,
    max_requests: MaxRequests = 100,
    max_seconds: MaxSeconds = 600,
    check: Check = False,
    device: options.Device = "auto",
    engine: options.Engine = "auto",
    precision: options.PrecisionOption = "auto",
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: Annotated[bool, options.verbose_flag("Print a line for each request.")] = False,
) -> int:
    """Parse texts that other programs send over HTTP."""
    from depkit.parsers.loading import load
    from depkit.serving.http_server import Limits, Server
    from depkit.serving.run import GC_THRESHOLD
    from depkit.serving.udpipe import Models, check_model, name_models

    gc.set_threshold(GC_THRESHOLD)
    names = name_models(models or ["en-ewt"])
    parsers = {}
    for name, model in names.items():
        parser = load(model, device, precision, threads=threads, engine=cast(EngineName, engine))
        check_model(name, parser)
        parser.warm_up()
        parsers[name] = (model, parser)
    gc.freeze()  # The models stay in memory, so the garbage collector need not examine them.
    limits = Limits(int(max_size * 1e6), max_requests, max_seconds)
    log = print_message if verbose and not quiet else lambda line: None
    try:
        server = Server(Models(parsers), host, port, limits=limits, log=log)
    except OSError as error:
        raise OSError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None
    stop = None if check else StopSignals()  # before anyone can know of the server
    server.start()
    if not quiet:
        print_message(f"depkit: note: serving {', '.join(names)} at {server.url}")
        if not server.is_local:
            print_message(
                "depkit: note: programs on other machines can connect, without a password or"
                " encryption; leave --host out to allow only those on this machine"
            )
    if stop is None:
        check_server(server)
        server.stop()
        return 0
    stop.wait()
    if not quiet:
        print_message("depkit: note: finishing the requests that are under way")
    server.stop()
    return stop.status


class StopSignals:
    """SIGINT and SIGTERM, which no longer end the process, but let `wait` return.

    A second signal ends the process at once, without the destructors of the libraries that still
    compute on other threads. There are no files that could be half-written.
    """

    def __init__(self) -> None:
        self.received = Event()
        self.status = 0  # with which the command should end
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def _receive(self, signum: int, frame: FrameType | None) -> None:
        if self.received.is_set():
            os._exit(128 + signum)
        self.status = 130 if signum == signal.SIGINT else 0
        self.received.set()

    def wait(self) -> None:
        """Wait for a signal."""
        while not self.received.wait(0.5):  # On Windows, a signal does not interrupt waiting.
            pass


def check_server(server: "Server") -> None:
    """Send a server a request, and raise OSError if it does not answer as it should."""
    import json
    from urllib.error import HTTPError
    from urllib.parse import urlencode
    from urllib.request import ProxyHandler, build_opener

    abilities = server.models.describe()["models"]
    for name, steps in abilities.items():
        values = {"model": name, "data": "Word\n", "input": "vertical"}
        values |= dict.fromkeys(steps, "")
        # The server is asked directly, even if the environment names a proxy.
        opener = build_opener(ProxyHandler({}))
        data = urlencode(values).encode()
        try:
            with opener.open(f"{server.url}/process", data, timeout=60) as answer:
                result = json.loads(answer.read())["result"]
        except OSError as error:
            reason = getattr(error, "reason", error)
            if isinstance(error, HTTPError):
                reason = error.read().decode().strip()
            raise OSError(f"the model {name} does not answer: {reason}") from None
        if "\tWord\t" not in result:
            raise OSError(f"the model {name} does not answer as it should")
