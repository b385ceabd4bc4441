"""Runs the blocks of a tutorial in the current directory, as its readers would."""

import doctest
import io
import os
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from depkit.cli.site.markdown import Block
from tests.cli.commands import Command

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = {"console", "pycon"}


class Tutorial:
    """A run of a tutorial; names of Python stay from block to block."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.run_blocks = 0

    def run(self, block: Block) -> None:
        """Write the file of a block, or run its commands and compare what they print."""
        language, _, name = block.info.partition(" ")
        if name:
            path = Path(name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{block.text}\n", "utf-8")
        elif language == "console":
            run_session(block.text)
        elif language == "pycon":
            self._run_python(block.text)
        else:
            return
        self.run_blocks += 1

    def _run_python(self, text: str) -> None:
        test = doctest.DocTestParser().get_doctest(text, self.names, "block", None, 0)
        output: list[str] = []
        runner = doctest.DocTestRunner(optionflags=OPTIONS)
        failed = runner.run(test, out=output.append, clear_globs=False).failed
        assert not failed, "".join(output)
        self.names.update(test.globs)


def run_session(text: str) -> None:
    """Run the commands after $, and compare their outputs with the lines below each of them."""
    before, *steps = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not before
    for step in steps:
        command, _, expected = step.partition("\n")
        found = run_line(command)
        is_equal = doctest.OutputChecker().check_output(expected or "\n", found or "\n", OPTIONS)
        assert is_equal, f"$ {command}\n{found}\ninstead of\n{expected}"


def run_line(line: str, stdin: str = "") -> str:
    """Run a line of a shell that has pipes and assignments only; depkit runs in this process."""
    for part in split_at(shlex.split(line), "|"):
        stdin = run_command(part, stdin)
    return stdin


def split_at(words: list[str], separator: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def run_command(words: list[str], stdin: str) -> str:
    name, *arguments = words
    if "=" in name:
        variable, _, value = name.partition("=")
        os.environ[variable] = value
        return run_command(arguments, stdin)
    if name == "sh":  # a script of such lines
        lines = Path(arguments[0]).read_text("utf-8").splitlines()
        outputs = [run_line(os.path.expandvars(line)) for line in lines if line[:1] != "#"]
        return "".join(outputs)
    if name != "depkit":
        run = subprocess.run(words, input=stdin, capture_output=True, text=True, check=True)
        return run.stdout
    with redirect_stdout(io.StringIO()):
        result = Command(arguments[0]).invoke(tuple(arguments[1:]), stdin)
    if result.exception:
        raise result.exception
    assert result.return_value in (None, 0, 1), result.output  # 1: there are findings
    return result.stdout
