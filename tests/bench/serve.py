"""Measure `depkit serve` under load, beside `depkit parse` on the same text. It needs Linux.

Each client sends one sentence of a treebank and waits for its tree before it sends the next one.
All trees are compared with those of depkit parse. Latencies and words per second depend on the
server, the clients and other programs; words per second of processor time on the server alone.
"""

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from threading import Thread
from typing import NamedTuple
from urllib.parse import urlencode

from depkit.corpus.io import read
from tests.bench.measure import EWT, ROOT, BenchError, Program, Run, with_path

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
WARM_UP = 200  # requests
COLUMNS = (
    "what", "median, ms", "99th percentile, ms", "words/s", "words/s of processor time",
    "MB before", "MB after",
)  # fmt: skip


class Usage(NamedTuple):
    """What the process of the server has used."""

    processor: float  # seconds
    megabytes: float


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench serve", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    train = EWT.with_name("en_ewt-ud-train.conllu")
    add("--data", metavar="FILE", type=Path, default=train, help="treebank; default: EWT train")
    add("--model", default="en-ewt", help="default: en-ewt")
    add("--threads", type=int, default=1, help="of depkit; default: 1")
    add("--requests", type=int, default=10_000, help="for each number of clients; default: 10,000")
    add("--clients", type=int, nargs="+", default=[1, 8, 64], help="default: 1 8 64")
    arguments = parser.parse_args(argv)
    if not arguments.data.is_file():
        parser.error(f"{arguments.data} does not exist; name a treebank with --data")
    return arguments


def main(argv: Sequence[str]) -> None:
    arguments = parse_arguments(argv)
    sentences = itertools.cycle(s.text or " ".join(s.form) for s in read(arguments.data))
    texts = [f"{text}\n\n" for text in itertools.islice(sentences, arguments.requests)]
    options = ("--model", arguments.model, "--threads", str(arguments.threads), "--quiet")
    parse, start_up = (measure_parse(part, options) for part in (texts, texts[:1]))
    trees = remove_comments(parse.output)
    words = sum(line.partition("\t")[0].isdigit() for line in trees)
    print(f"{len(texts):,} sentences, {words:,} words; {arguments.threads} threads")
    print_row(*COLUMNS)
    print_row(*["---"] * len(COLUMNS))
    for name, run in (
        ("`depkit parse`", parse),
        ("`depkit parse` without its start-up", subtract(parse, start_up)),
    ):
        print_row(name, "", "", *format_rates(words, run.seconds, run.processor), "", "")
    loads = [(clients, False) for clients in arguments.clients]
    with start_server(options) as (process, port):
        send_all(port, texts[:WARM_UP], 8, False)
        for clients, reconnect in [*loads, (arguments.clients[-1], True)]:
            before, began = read_usage(process), time.perf_counter()
            latencies, answers = send_all(port, texts, clients, reconnect)
            seconds, after = time.perf_counter() - began, read_usage(process)
            if remove_comments("".join(answers)) != trees:
                raise BenchError("the answers differ from the output of depkit parse")
            percentiles = quantiles(latencies, n=100)
            print_row(
                f"{clients} client{'s' * (clients > 1)}"
                + ", a connection for each request" * reconnect,
                f"{1000 * percentiles[49]:.1f}",
                f"{1000 * percentiles[98]:.1f}",
                *format_rates(words, seconds, after.processor - before.processor),
                f"{before.megabytes:.0f}",
                f"{after.megabytes:.0f}",
            )


def measure_parse(texts: Sequence[str], options: Sequence[str]) -> Run:
    """Run depkit parse on texts, twice, because the first run may compile functions."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("".join(texts))
        file.flush()
        command = [sys.executable, "-m", "depkit", "parse", file.name, "--tags", "predict"]
        program = Program([*command, *options], environment=with_path(ROOT))
        program()
        return program()


def subtract(run: Run, start_up: Run) -> Run:
    """Subtract the time of a run on one sentence."""
    return run._replace(
        seconds=run.seconds - start_up.seconds, processor=run.processor - start_up.processor
    )


def remove_comments(trees: str) -> list[str]:
    """Return the lines of trees in CoNLL-U without comments; blank lines are empty.

    The comments differ, because each request is a text of its own, with its own numbers.
    """
    return [line for line in trees.split("\n") if line[:1] != "#"]


@contextmanager
def start_server(options: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Start depkit serve in a process; yield the number of the process, and the port."""
    options = [option for option in options if option != "--quiet"]
    command = [sys.executable, "-m", "depkit", "serve", "--port", "0", *options]
    environment = os.environ | with_path(ROOT)
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            lines = iter(server.stderr)
            url = next((line for line in lines if "http://" in line), "")
            if not url:
                raise BenchError("depkit serve did not start")
            yield server.pid, int(url.rpartition(":")[2])
        finally:
            server.terminate()


def read_usage(process: int) -> Usage:
    """Return the processor time and the memory of a process; it must be one of Linux."""
    folder = Path(f"/proc/{process}")
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    pages = int((folder / "statm").read_text().split()[1])
    processor = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return Usage(processor, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def send_all(
    port: int, texts: Sequence[str], clients: int, reconnect: bool
) -> tuple[list[float], list[str]]:
    """Send texts from several clients at the same time; return the latencies and the answers.

    reconnect: whether each request has a connection of its own.
    """
    steps = {"tokenizer": "", "tagger": "", "parser": ""}
    requests = [urlencode({"data": text} | steps) for text in texts]
    latencies, answers = [0.0] * len(texts), [""] * len(texts)
    numbers = itertools.count()

    def send() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while (number := next(numbers)) < len(texts):
            began = time.perf_counter()
            connection.request("POST", "/process", requests[number], FORM)
            response = connection.getresponse()
            body = response.read()
            if reconnect:
                connection.close()
            latencies[number] = time.perf_counter() - began
            if response.status == 200:
                answers[number] = json.loads(body)["result"]
        connection.close()

    threads = [Thread(target=send, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return latencies, answers


def format_rates(words: int, seconds: float, processor: float) -> tuple[str, str]:
    return f"{words / seconds:,.0f}", f"{words / processor:,.0f}"


def print_row(*cells: str) -> None:
    """Print a row of a table in Markdown."""
    print(f"| {' | '.join(cells)} |", flush=True)
