"""The command `depkit`: its subcommands, and how every one of them ends."""

import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Annotated, Any

import typer

from depkit.cli.help import Command, Group
from depkit.cli.usage import usage_message
from depkit.corpus.suggestion import unknown
from depkit.parsers.settings import ConfigError
from depkit.version import __version__

# Every subcommand with its line in `depkit --help`. A subcommand's module is imported only when it
# is called, so that each starts quickly.
COMMANDS = {
    "train": "Train a parser.",
    "ensemble": "Train several parsers whose predictions are combined.",
    "distill": "Train a small parser on the output of a larger one.",
    "parse": "Parse text or treebanks: a tree for each sentence.",
    "tag": "Tag text or treebanks: UPOS, XPOS, FEATS and LEMMA.",
    "eval": "Score parsed files against a gold file.",
    "analyze": "Break scores down by distance, depth, relation and more.",
    "convert": "Convert Penn trees to dependencies, and between CoNLL formats.",
    "check": "Find errors in CoNLL-U, CoNLL-X and CoNLL-09 files.",
    "stats": "Count words, labels and shapes of trees in treebanks.",
    "show": "Draw trees in the terminal, or as a picture.",
    "info": "Show versions and devices, or describe a model.",
}

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def subcommand(name: str) -> Any:
    """Import the module of a subcommand and return its Click command."""
    module = {"eval": "evaluate"}.get(name, name)
    function = getattr(import_module(f"depkit.cli.{module}"), f"{module}_command")
    paragraphs = [" ".join(each.split()) for each in (function.__doc__ or "").split("\n\n")]
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    # The paragraphs are joined into single lines because Rich would keep their line breaks.
    alone.command(name, cls=Command, help="\n\n".join(paragraphs))(function)
    return typer.main.get_command(alone)


class Subcommands(Group):
    """The group of all subcommands, which imports only the one that is called."""

    def resolve_command(self, context: Any, arguments: list[str]) -> tuple[str, Any, list[str]]:
        """Name and command of the subcommand that is called, and the arguments after its name."""
        name, *rest = arguments
        if name not in COMMANDS:
            context.fail(unknown("command", name, COMMANDS, COMMANDS))
        return name, subcommand(name), rest


app = typer.Typer(
    name="depkit",
    cls=Subcommands,
    help="Train, run and evaluate dependency parsers.",
    epilog="Example: depkit parse in.txt -o out.conllu. With --debug, anywhere, an error"
    " shows its traceback.",
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)  # a placeholder, listed in the help


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"depkit {__version__}")
        raise typer.Exit


@app.callback()
def _depkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, _terminated)
    status = run(sys.argv[1:])
    _flush_stderr()
    gc.freeze()  # or Python looks for garbage among all objects of torch: 0.4 s
    sys.exit(status)


def _flush_stderr() -> None:
    """Flush stderr, or discard what it cannot take, for which Python would exit with 120."""
    try:
        if sys.stderr:
            sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _terminated(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)  # so that half-written files are removed on the way out


def run(arguments: list[str]) -> int:
    """Run a command line; mistakes become one line on stderr. Returns the exit status.

    0 ok, 1 bad data or another failure, 2 bad usage, 130 interrupted. Without arguments, the help
    is printed. `--debug` anywhere shows the traceback of an error instead.
    """
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    try:
        status = app(args=arguments, prog_name="depkit", standalone_mode=False)
        if sys.stdout:
            sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        _abandon_stdout()
        return 130
    except (BrokenPipeError, SystemExit) as closed:
        # the reader, `head` say, has seen enough; Typer turns that into SystemExit(1)
        if isinstance(closed, SystemExit) and closed.code != 1:
            raise
        _abandon_stdout()
        return 0
    except typer.TyperException as error:
        if debug:
            raise
        name = next((each for each in arguments if not each.startswith("-")), "")
        command = f"depkit {name}" if name in COMMANDS else "depkit"
        message = usage_message(error)
        see = " See" if message.endswith("?") else "; see"
        _tell(f"{message}{see} {command} --help")
        return 2
    except Exception as error:
        if debug:
            raise
        _abandon_stdout()
        _tell(describe(error))
        return 2 if isinstance(error, ConfigError) else 1


def describe(error: Exception) -> str:
    """An error in one line: our own as they are, the system's with their file, bugs as such."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | MemoryError | OSError):
        return " ".join(str(error).split()) or type(error).__name__
    name = type(error).__name__
    return f"internal error, {name}: {' '.join(str(error).split())}; --debug shows where"


def _tell(mistake: str) -> None:
    """Print an error message on stderr, if stderr can be written to."""
    with suppress(OSError):
        typer.echo(f"depkit: error: {mistake}", err=True)


def _abandon_stdout() -> None:
    """Nothing more goes to stdout, not even what Python would flush at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.close(devnull)
