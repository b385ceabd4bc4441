"""Sentences of a pipe are written as soon as they are parsed, while the pipe is still open."""

import os
import signal
import subprocess
import sys
from threading import Semaphore, Timer, current_thread

import pytest

import depkit
from depkit.cli.main import run
from tests.cli.commands import ON_CPU

CAT = "".join(f"{i}\t{form}" + "\t_" * 8 + "\n" for i, form in enumerate(["The", "cat"], 1)) + "\n"
INPUTS = {"lines": "The cat sat.\n", "tokens": "The cat sat .\n", "conllu": CAT}
INPUTS["text"] = "The cat sat.\n\n"
SECONDS = 120  # after which a program that waits is killed, so that the test fails


@pytest.fixture
def start():
    """A function that starts a command of depkit with pipes."""
    started = []

    def start_command(*arguments, **options):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "depkit", *arguments, *ON_CPU]
        process = subprocess.Popen(command, bufsize=0, **{**pipes, **options})
        timer = Timer(SECONDS, process.kill)
        timer.start()
        started.append((process, timer))
        return process

    yield start_command
    for process, timer in started:
        timer.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def handle_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_sentence(process):
    lines = []
    while not lines or lines[-1] not in ("\n", ""):
        lines.append(process.stdout.readline().decode())
    return "".join(lines)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("input", INPUTS)
def test_a_sentence_is_written_before_the_next_one_is_read(start, input, threads):
    process = start("parse", "--input", input, "--threads", threads)
    for _ in range(3):
        process.stdin.write(INPUTS[input].encode())
        assert "\troot\t" in read_sentence(process)
    process.stdin.close()
    assert (process.wait(), process.stderr.read()) == (0, b"")


@pytest.mark.parametrize("arguments", [["tag"], ["parse", "--format", "json"]])
def test_tags_and_json_are_not_delayed(start, arguments):
    process = start(*arguments, "--input", "lines")
    for _ in range(2):
        process.stdin.write(b"Stop it.\n")
        assert b"Stop" in (process.stdout.readline() if "json" in arguments else
                           read_sentence(process).encode())  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_a_named_pipe_is_not_delayed(start, tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    process = start("parse", str(fifo), "--input", "tokens")
    with open(fifo, "wb", buffering=0) as pipe:
        for _ in range(2):
            pipe.write(b"Stop it .\n")
            assert "Stop" in read_sentence(process)


@pytest.mark.parametrize("how", ["interrupt", "reader ends"])
def test_the_command_ends_while_its_input_waits(start, how):
    # Tests that run in the background of a shell are started with Ctrl-C ignored.
    process = start("parse", "--input", "lines", preexec_fn=handle_interrupts)
    process.stdin.write(b"Stop it.\n")
    read_sentence(process)
    if how == "interrupt":
        process.send_signal(signal.SIGINT)
    else:
        process.stdout.close()
        process.stdin.write(b"Stop it.\n")
    assert process.wait() == (130 if how == "interrupt" else 0)
    assert process.stderr.read() == b""


def test_a_pipe_has_the_output_of_a_file(start, tmp_path, capfd):
    """The file is longer than what is read at once, and has blank lines and a cut last line."""
    path = tmp_path / "in.conllu"
    path.write_text("\n\n" + CAT * 1000 + "\n" + CAT + "\n\n" + CAT.rstrip("\n"))
    for input in ("conllu", "tokens"):
        assert run(["parse", str(path), "--input", input, "-q", *ON_CPU]) == 0
        expected = capfd.readouterr().out
        process = start("parse", "--input", input, "-q")
        output, _ = process.communicate(path.read_bytes())
        without_name = expected.replace(" id = in.conllu", "")
        assert output.decode() == without_name


def test_a_generator_is_parsed_as_it_yields():
    parser, parsed = depkit.load(device="cpu"), Semaphore(0)

    def sentences():
        for _ in range(3):
            yield ["Stop", "it", "."]
            assert parsed.acquire(timeout=20), "the tree is late"

    for sentence in parser.parse(sentences()):
        assert len(sentence) == 3
        parsed.release()


def test_a_generator_is_read_on_the_calling_thread_if_it_is_no_stream():
    parser, threads = depkit.load(device="cpu"), []

    def sentences():
        threads.append(current_thread())
        yield ["Stop"]

    assert len(list(parser.parse(sentences(), stream=False))) == 1
    assert len(parser(sentences())) == 1  # the results are wanted all at once
    assert len(list(parser.tag(sentences()))) == 1
    assert [thread is current_thread() for thread in threads] == [True, True, False]
