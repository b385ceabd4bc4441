"""`depkit serve` as a process: its messages, its end, and wrong usage."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.cli.commands import ON_CPU, Command, assert_fails

ENVIRONMENT = os.environ | {"DEPKIT_ENGINE": "onnx"}
PROGRAM = [sys.executable, "-m", "depkit", "serve", "--port", "0", *ON_CPU]
run = Command("serve")


@pytest.fixture
def process():
    """Start a server process; it is killed if it still runs after the test."""
    process = subprocess.Popen(
        [*PROGRAM, "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_the_server(number, status, process):
    line = process.stderr.readline()
    url = re.fullmatch(r"depkit: note: serving en-ewt at (http://127\.0\.0\.1:\d+)\n", line)
    assert url, line
    with build_opener(ProxyHandler({})).open(f"{url[1]}/health", timeout=60) as answer:
        assert answer.status == 200
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert out == ""
    request, end = sorted(err.splitlines())  # The line of a request follows its response.
    assert re.fullmatch(r"127\.0\.0\.1 GET /health: 200 \d+ bytes, \d+ ms", request)
    assert end == "depkit: note: finishing the requests that are under way"


def test_a_second_signal_ends_the_server_at_once(process):
    port = int(process.stderr.readline().rpartition(":")[2])
    text = "data=" + "The+cat+sleeps+on+the+mat.+" * 5000 + "&tokenizer=&tagger=&parser="
    head = (
        "POST /process HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(text)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall((head + text).encode())
        time.sleep(0.5)  # so that the parser is probably at work
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline().endswith("the requests that are under way\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert process.stderr.read() == ""


def test_check_asks_each_model_and_ends():
    command = [*PROGRAM, "--check", "--model", "af", "--model", "en"]
    result = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert result.returncode == 0
    assert result.stdout == ""
    assert result.stderr.startswith("depkit: note: serving af, en-ewt at http://127.0.0.1:")
    assert result.stderr.count("\n") == 1


def test_an_address_that_cannot_be_used_is_named(capfd):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        arguments = ["serve", "--port", str(port), "--engine", "onnx", *ON_CPU]
        message = f"cannot listen on 127.0.0.1, port {port}: Address already in use"
        assert_fails(capfd, arguments, 1, message)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--model", "no-such-model"], 1, "there is no model"),
        (["--model", "en", "--model", "en-ewt"], 2, "two models are called en-ewt"),
        (["--port", "70000"], 2, "from 0 to 65535"),
        (["--max-size", "0"], 2, "--max-size"),
    ],
)
def test_wrong_usage_is_one_line(arguments, status, message, capfd):
    assert_fails(capfd, ["serve", *arguments], status, message)
