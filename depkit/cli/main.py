"""The command `depkit`: its subcommands, and how every one of them ends."""

import gc
import os
import signal
import sys
from types import FrameType

import typer

from depkit.cli.analyze import analyze_command
from depkit.cli.check import check_command
from depkit.cli.convert import convert_command
from depkit.cli.distill import distill_command
from depkit.cli.ensemble import ensemble_command
from depkit.cli.evaluate import evaluate_command
from depkit.cli.info import info_command
from depkit.cli.parse import parse_command
from depkit.cli.show import show_command
from depkit.cli.stats import stats_command
from depkit.cli.tag import tag_command
from depkit.cli.train import train_command
from depkit.parsers.settings import ConfigError

app = typer.Typer(
    name="depkit",
    help="Train, run and evaluate dependency parsers.",
    epilog="Example: depkit parse < in.txt > out.conllu. With --debug, anywhere, an error"
    " shows its traceback.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)
app.command("train")(train_command)
app.command("ensemble")(ensemble_command)
app.command("distill")(distill_command)
app.command("parse")(parse_command)
app.command("tag")(tag_command)
app.command("eval")(evaluate_command)
app.command("analyze")(analyze_command)
app.command("convert")(convert_command)
app.command("check")(check_command)
app.command("stats")(stats_command)
app.command("show")(show_command)
app.command("info")(info_command)


def main() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, _terminated)
    status = run(sys.argv[1:])
    gc.freeze()  # or Python looks for garbage among all objects of torch: 0.4 s
    sys.exit(status)


def _terminated(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)  # so that half-written files are removed on the way out


def run(arguments: list[str]) -> int:
    """Run a command line; mistakes become one line on stderr. Returns the exit status.

    0 ok, 1 bad data or another failure, 2 bad usage, 130 interrupted. `--debug` anywhere
    shows the traceback of an error instead.
    """
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        status = app(args=arguments, prog_name="depkit", standalone_mode=False)
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
        # the usage error's own text ends with a full stop or not, depending on the kind
        message = error.format_message()
        message = message if message.endswith("...") else message.removesuffix(".")
        print(f"depkit: error: {message}; see depkit --help", file=sys.stderr)
        return 2
    except Exception as error:
        if debug:
            raise
        _abandon_stdout()
        print(f"depkit: error: {describe(error)}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1


def describe(error: Exception) -> str:
    """An error in one line: our own as they are, the system's with their file, bugs as such."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | MemoryError | OSError):
        return " ".join(str(error).split()) or type(error).__name__
    name = type(error).__name__
    return f"internal error, {name}: {' '.join(str(error).split())}; --debug shows where"


def _abandon_stdout() -> None:
    """Nothing more goes to stdout, not even what Python would flush at its end."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.close(devnull)
