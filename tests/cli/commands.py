"""Helpers with which the tests call subcommands."""

from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from depkit.cli import main

ON_CPU = ["--device", "cpu", "--threads", "1"]


class Command:
    """A subcommand; calling it returns its output on stdout and stderr."""

    def __init__(self, name: str) -> None:
        self.name = name

    def invoke(self, arguments: tuple[object, ...], stdin: str | bytes | None) -> Any:
        command_line = [self.name, *map(str, arguments)]
        return CliRunner().invoke(main.app, command_line, input=stdin, standalone_mode=False)

    def __call__(
        self, *arguments: object, code: int = 0, stdin: str | bytes | None = None
    ) -> tuple[str, str]:
        """Run the command and check its exit status.

        code: the expected status, as in `main.run`: 1 for an error, 2 for wrong usage, else the
        value that the command returns.
        """
        result = self.invoke(arguments, stdin)
        if isinstance(result.exception, typer.BadParameter):
            assert code == 2, result.exception
            return result.stdout, result.exception.format_message()
        if result.exception and code != 1:
            raise result.exception
        assert result.exception or (result.return_value or 0) == code, result.output
        return result.stdout, result.stderr

    def failure(self, *arguments: object, stdin: str | None = None) -> Exception:
        """Run a command that fails before it prints anything; return its exception."""
        result = self.invoke(arguments, stdin)
        assert result.stdout == ""
        assert isinstance(result.exception, Exception), result.output
        return result.exception


def assert_fails(capfd: Any, arguments: list[str], status: int, *messages: str) -> None:
    """Check that a command line fails with a status and one line with these messages on stderr."""
    assert main.run(arguments) == status
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("depkit: error: ") and err.count("\n") == 1
    assert all(message in err for message in messages), err


def set_options(*settings: str) -> list[str]:
    """Return the arguments --set KEY=VALUE for each setting."""
    return [argument for setting in settings for argument in ("--set", setting)]


SMALL = set_options(
    "inputs.word=24", "inputs.char=24", "encoder.layers=1", "encoder.size=24",
    "training.batch_tokens=60",
)  # fmt: skip


def write_tree(
    path: str, words: list[tuple[str, ...]], arcs: list[tuple[str, str]], misc: str = "_"
) -> str:
    """Write a file with the sentence s1; a word is (FORM, UPOS, XPOS), an arc (HEAD, DEPREL)."""
    rows = [
        f"{i}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{deprel}\t_\t{misc}\n"
        for i, ((form, upos, xpos), (head, deprel)) in enumerate(zip(words, arcs, strict=True), 1)
    ]
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("# sent_id = s1\n" + "".join(rows) + "\n")
    return path
