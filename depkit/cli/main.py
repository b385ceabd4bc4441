"""The command `depkit`: its subcommands, its errors and its exit status."""

import gc
import io
import os
import select
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from depkit.cli.help import Command, Group
from depkit.cli.output import print_message, print_output
from depkit.cli.usage import usage_message
from depkit.files.suggestion import describe_unknown
from depkit.parsers.launcher import started_by_torchrun
from depkit.parsers.settings import ConfigError
from depkit.version import __version__

# Every subcommand with its line in `depkit --help`. A subcommand's module is imported only when the
# subcommand is called, so that every command starts quickly.
COMMANDS = {
    "train": "Train a parser.",
    "ensemble": "Train several parsers and combine their predictions.",
    "distill": "Train a small parser on the output of a larger one.",
    "parse": "Parse text or treebanks into dependency trees.",
    "tag": "Tag text or treebanks with UPOS, XPOS, FEATS and LEMMA.",
    "serve": "Parse texts that other programs send over HTTP.",
    "jackknife": "Tag a training file by taggers that have not seen it.",
    "export": "Export a model, to parse without torch.",
    "eval": "Score parsed files against a gold file.",
    "analyze": "Break scores down by distance, depth, relation and more.",
    "convert": "Convert Penn trees to dependencies, and between CoNLL formats.",
    "check": "Find errors in CoNLL-U, CoNLL-X and CoNLL-09 files.",
    "diff": "Show what differs between two versions of a treebank.",
    "suspects": "List annotations of a treebank that are probably wrong.",
    "search": "Find the sentences of treebanks that match a pattern.",
    "select": "Filter, sample, split and concatenate treebanks.",
    "edit": "Correct treebanks by rewrite rules.",
    "stats": "Count words, tags, relations and tree shapes in treebanks.",
    "show": "Draw dependency trees in the terminal or as an SVG image.",
    "report": "Compare parsed files with a gold file on one HTML page.",
    "docs": "Write a site that explains depkit.",
    "info": "Show versions and devices, or describe a model.",
}

_TORCHRUN_SIGNAL = (
    "depkit: error: torchrun has ended this process; if another process has failed, its message"
    " says why"
)
_MAX_MESSAGE = 2000  # characters; a message may quote a file

DESCRIPTIONS = Path(__file__).parent / "descriptions"

# The exception that a signal handler raised, kept because an import of compiled code can replace it
# by an ImportError.
_raised_by_signal: BaseException | None = None
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def subcommand(name: str) -> Any:
    """Import the module of a subcommand and return its Click command."""
    module = {"eval": "evaluate"}.get(name, name)
    function = getattr(import_module(f"depkit.cli.{module}"), f"{module}_command")
    paragraphs, option_help = read_description(name, function.__doc__ or "")
    _, shared_help = read_description("options", "")
    single_command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single_command.command(name, cls=Command, help="\n\n".join(paragraphs))(function)
    command: Any = typer.main.get_command(single_command)
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        key = parameter.metavar if is_argument else max(parameter.opts, key=len)
        parameter.help = option_help.get(key) or parameter.help or shared_help.get(key)
    return command


def read_description(name: str, docstring: str) -> tuple[list[str], dict[str, str]]:
    """Return the paragraphs of a subcommand's long help, and the help of arguments and options.

    They begin with the docstring; the rest stands in descriptions/. There, a paragraph of indented
    lines below the name of an option, or of an argument, is its help. In options.txt, it is the
    help of all commands that say nothing else about the option.
    """
    path = DESCRIPTIONS / f"{name}.txt"
    text = f"{docstring}\n\n{path.read_text('utf-8') if path.exists() else ''}"
    paragraphs, option_help = [], {}
    for paragraph in text.strip().split("\n\n"):
        first, _, rest = paragraph.partition("\n")
        # Lines are joined because Rich would keep the line breaks.
        if rest.startswith("    ") and " " not in first:
            option_help[first] = " ".join(rest.split())
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return paragraphs, option_help


def called_command(arguments: list[str]) -> str:
    """Return the name of the subcommand in a command line; that of `tag --folds` is jackknife."""
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    has_folds = any(argument.partition("=")[0] == "--folds" for argument in arguments)
    return "jackknife" if name == "tag" and has_folds else name


class Subcommands(Group):
    """The group of all subcommands, which imports only the one that is called."""

    def resolve_command(self, context: Any, arguments: list[str]) -> tuple[str, Any, list[str]]:
        """Return the called subcommand's name, the command and the arguments after the name."""
        rest, name = arguments[1:], called_command(arguments)
        if name not in COMMANDS:
            context.fail(describe_unknown("command", name, COMMANDS, COMMANDS))
        if name != arguments[0] and not {"-q", "--quiet"} & set(rest):
            print_message("depkit: note: depkit tag --folds is now depkit jackknife --folds")
        if name != "train" and started_by_torchrun():
            raise ConfigError(f"torchrun can start only depkit train; run depkit {name} without it")
        return name, subcommand(name), rest


app = typer.Typer(
    name="depkit",
    cls=Subcommands,
    help="Train, run and evaluate dependency parsers.",
    epilog="Example: depkit parse in.txt -o out.conllu. Add --debug to any command to see the"
    " traceback of an error.",
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)  # a placeholder that the help lists


def _print_version(version: bool) -> None:
    if version:
        print_output(f"depkit {__version__}")
        raise typer.Exit


@app.callback()
def _depkit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, _exit_on_signal)
    # SIGHUP: the terminal was closed. Windows does not have this signal.
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up and signal.getsignal(hang_up) is signal.SIG_DFL:  # not started by nohup
        signal.signal(hang_up, _exit_on_signal)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # Ctrl-C is not ignored
        signal.signal(signal.SIGINT, _interrupt)
    _buffer_stdout()
    try:
        status = run(sys.argv[1:])
    except Exception:  # with --debug; the message may contain text from a file
        for line in traceback.format_exc().splitlines():
            print_message(line)
        status = 1
    # No file is half-written now, so SIGTERM may end the process at once, without a second message.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _flush_stderr()
    gc.freeze()  # otherwise Python's last garbage collection visits all of torch's objects: 0.4 s
    sys.exit(status)


def _buffer_stdout() -> None:
    """Give stdout a buffer if it has none, because of PYTHONUNBUFFERED or `python -u`.

    Without a buffer, Python ignores how many bytes of a text the operating system has written, so
    it does not notice if the disk becomes full in the middle of the text.
    """
    stdout = sys.stdout
    if isinstance(getattr(stdout, "buffer", None), io.RawIOBase):
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(stdout.buffer), stdout.encoding, stdout.errors,
            line_buffering=stdout.isatty(),
        )  # fmt: skip


def _flush_stderr() -> None:
    """Flush stderr; discard what cannot be written, because Python would exit with 120 for it."""
    try:
        if sys.stderr:
            sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _exit_on_signal(signum: int, frame: FrameType | None) -> None:
    # An exception, so that half-written files are removed
    _raise(SystemExit(_TORCHRUN_SIGNAL if started_by_torchrun() else 128 + signum))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    _raise(KeyboardInterrupt())


def _raise(error: BaseException) -> NoReturn:
    global _raised_by_signal
    _raised_by_signal = error
    raise error


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status; an error becomes one line on stderr.

    The status is 0 for success, 1 for bad data or another failure, 2 for bad usage and 130 for an
    interruption. Without arguments, the help is printed. With `--debug` among the arguments, an
    error is raised instead, so that its traceback can be seen.
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
    except (BrokenPipeError, SystemExit) as error:
        # Typer turns a BrokenPipeError into SystemExit(1).
        broken = error if isinstance(error, BrokenPipeError) else error.__context__
        if not isinstance(broken, BrokenPipeError):
            raise
        # The program that reads stdout has ended, for example `head`.
        is_success = _is_of_stdout(broken)
        if debug and not is_success:
            raise broken from None
        _abandon_stdout()
        if not is_success:
            _print_error(describe(broken))
        return 0 if is_success else 1
    except typer.TyperException as error:
        if debug:
            raise
        name = called_command(arguments)
        command = f"depkit {name}" if name in COMMANDS else "depkit"
        message = usage_message(error)
        see = " See" if message.endswith("?") else "; see"
        _print_error(f"{message}{see} {command} --help")
        return 2
    except Exception as error:
        if _raised_by_signal:
            if isinstance(_raised_by_signal, SystemExit):
                raise _raised_by_signal from None
            _abandon_stdout()
            return 130
        if debug:
            raise
        _abandon_stdout()
        _print_error(describe(error))
        return 2 if isinstance(error, ConfigError) else 1


def _is_of_stdout(error: BrokenPipeError) -> bool:
    """Return whether stdout is the pipe or the socket whose other end is closed.

    Others are FIFOs that are written, and connections to other processes and machines.
    """
    from depkit.files.streams import STDOUT

    if error.filename not in (None, STDOUT):
        return False
    if not hasattr(select, "poll"):  # Windows, which has no BrokenPipeError for pipes
        return True
    poll = select.poll()
    poll.register(sys.__stdout__.fileno() if sys.__stdout__ else 1, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def describe(error: Exception) -> str:
    """Describe an error in one line.

    An error of the operating system is described with its file, an error in data or settings by
    its message, and any other error as a bug.
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    message = " ".join(str(error).split())
    if len(message) > _MAX_MESSAGE:
        message = f"{message[:_MAX_MESSAGE]} ..."
    name = type(error).__name__
    if isinstance(error, ValueError | MemoryError | OSError):
        return message or name
    return f"internal error, {name}: {message}; add --debug to see where it happened"


def _print_error(message: str) -> None:
    print_message(f"depkit: error: {message}")


def _abandon_stdout() -> None:
    """Discard all further output on stdout, even what Python flushes when it exits."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.__stdout__.fileno() if sys.__stdout__ else 1)
    os.close(devnull)
