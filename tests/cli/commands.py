"""What tests of several subcommands call them by."""

from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from depkit.cli import main

ON_CPU = ["--device", "cpu", "--threads", "1"]


class Command:
    """A subcommand; a call gives what it printed on stdout and stderr."""

    def __init__(self, name: str) -> None:
        self.name = name

    def invoke(self, arguments: tuple[object, ...], stdin: str | bytes | None) -> Any:
        words = [self.name, *map(str, arguments)]
        return CliRunner().invoke(main.app, words, input=stdin, standalone_mode=False)

    def __call__(
        self, *arguments: object, code: int = 0, stdin: str | bytes | None = None
    ) -> tuple[str, str]:
        """code: the status that it ends with, as in `main.run`: 1 where something is raised, 2
        where it is wrong usage, or else what the command returns."""
        result = self.invoke(arguments, stdin)
        if isinstance(result.exception, typer.BadParameter):
            assert code == 2, result.exception
            return result.stdout, result.exception.format_message()
        if result.exception and code != 1:
            raise result.exception
        assert result.exception or (result.return_value or 0) == code, result.output
        return result.stdout, result.stderr

    def failure(self, *arguments: object, stdin: str | None = None) -> Exception:
        """What ends it, before it has printed anything."""
        result = self.invoke(arguments, stdin)
        assert result.stdout == ""
        assert isinstance(result.exception, Exception), result.output
        return result.exception


def fails(capfd: Any, arguments: list[str], status: int, *messages: str) -> None:
    """A command line ends with a status and one line on stderr, which has these messages."""
    assert main.run(arguments) == status
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("depkit: error: ") and err.count("\n") == 1
    assert all(message in err for message in messages), err


def sets(*settings: str) -> list[str]:
    """Settings as options."""
    return [word for setting in settings for word in ("--set", setting)]


SMALL = sets(
    "inputs.word=24", "inputs.char=24", "encoder.layers=1", "encoder.size=24",
    "training.batch_tokens=60",
)  # fmt: skip


def write_tree(
    path: str, words: list[tuple[str, ...]], arcs: list[tuple[str, str]], misc: str = "_"
) -> str:
    """A file of one sentence, s1, of words (FORM, UPOS, XPOS) with arcs (HEAD, DEPREL)."""
    rows = [
        f"{i}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{deprel}\t_\t{misc}\n"
        for i, ((form, upos, xpos), (head, deprel)) in enumerate(zip(words, arcs, strict=True), 1)
    ]
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("# sent_id = s1\n" + "".join(rows) + "\n")
    return path
