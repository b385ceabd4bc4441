"""The command line as data, taken from the Typer app, for completions and man pages."""

import typing
from dataclasses import dataclass
from typing import Any, Literal, get_args

import typer
from typer.core import TyperArgument, TyperOption

from depkit.cli import main
from depkit.cli.evaluate import NAMES
from depkit.cli.usage import number_limits
from depkit.convert.enhance.conventions import ENHANCEMENTS
from depkit.parsers.config import ParserConfig
from depkit.parsers.engine.names import EngineName
from depkit.parsers.settings import setting_names
from depkit.score import constituents
from depkit.score.analysis import METRICS, PRESETS
from depkit.score.evalb_parameters import BUILT_IN
from depkit.score.groupings import GROUPINGS
from depkit.score.mistakes import CONFUSIONS
from depkit.score.punctuation import POLICIES
from depkit.training.recipe import recipe_names, recipe_settings

Kind = Literal["file", "directory", "model", "words", "free"]


@dataclass(frozen=True)
class Value:
    """The value of a parameter: its name in the help, and what a shell can complete for it."""

    label: str
    kind: Kind = "free"
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """An option, or an argument, which has no names. A flag has no value."""

    names: tuple[str, ...]
    value: Value | None
    help: str
    required: bool = False
    repeatable: bool = False
    default: str = ""
    limits: str = ""
    variable: str = ""


@dataclass(frozen=True)
class Command:
    """A subcommand, or depkit itself, whose name is ""."""

    name: str
    summary: str
    description: tuple[str, ...]
    examples: tuple[str, ...]
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]


# What a shell can complete for a parameter of string type, by its metavar (the name of its value in
# the help). "parse KEY=VALUE" is the metavar KEY=VALUE in the subcommand parse. For parameters of
# other types (numbers, flags, choices), the completion follows from the type.
OFFERS: dict[str, Kind | tuple[str, ...]] = {
    **dict.fromkeys(
        ("A", "B", "FILE", "GOLD", "IN", "ORIGINAL", "OUT", "PRED", "TEXT", "TRAIN", "TREEBANK"),
        "file",
    ),
    "DIR": "directory",
    **dict.fromkeys(("MODEL", "TEACHER"), "model"),
    **dict.fromkeys(
        (
            "ADDRESS",
            "BINS",
            "COLUMN,...",
            "ENCODING",
            "FIELD,...",
            "HOST",
            "I/N",
            "ID",
            "KEY",
            "N|SHARE",
            "NAME",
            "NAME=SHARE,...",
            "PATTERN",
            "RULES",
            "TIME",
        ),
        "free",
    ),
    "DEVICE": ("auto", "cpu", "cuda", "mps"),
    "ENGINE": get_args(EngineName),
    "GROUPING": tuple(GROUPINGS | constituents.GROUPINGS),
    "KEY=VALUE": tuple(f"{name}=" for name in recipe_settings()),
    "parse KEY=VALUE": tuple(f"{name}=" for name in setting_names(ParserConfig, at_test_time=True)),
    "METRIC": tuple(METRICS),
    "eval METRIC": tuple(NAMES),
    "PARAMETERS": tuple(BUILT_IN),
    "POLICY": tuple(POLICIES),
    "PRESET": tuple(PRESETS),
    **dict.fromkeys(("RECIPE", "RECIPE,..."), tuple(recipe_names())),
    "TYPE,...": ("all", *ENHANCEMENTS),
    "WHAT": tuple(CONFUSIONS),
}

# This option is unknown to Typer: `main.run` removes it from the command line.
DEBUG = Parameter(("--debug",), None, "If there is an error, show its traceback.")


def commands() -> list[Command]:
    """Return the command depkit itself and its subcommands, in the order of `depkit --help`.

    Raises ValueError for a parameter of string type whose metavar is missing in OFFERS.
    """
    depkit: Any = typer.main.get_command(main.app)
    subcommands = [
        _command(name, main.subcommand(name), summary) for name, summary in main.COMMANDS.items()
    ]
    return [_command("", depkit, depkit.help), *subcommands]


def _command(name: str, command: Any, summary: str) -> Command:
    """Return a Click command as data; its type is Any because Typer keeps its Click private."""
    paragraphs = [
        " ".join(paragraph.split())
        for text in (command.help, command.epilog)
        for paragraph in (text or "").split("\n\n")
        if paragraph
    ]
    examples = [text for text in paragraphs if text.startswith("Example: ")]
    hints = typing.get_type_hints(command.callback) if command.callback else {}
    context = typer.Context(command, info_name=name, **main.SETTINGS)
    parameters = [
        (raw, _parameter(name, raw, hints.get(raw.name, bool)))
        for raw in command.get_params(context)
        if not raw.hidden
    ]
    options = [parameter for raw, parameter in parameters if isinstance(raw, TyperOption)]
    return Command(
        name=name,
        summary=summary.removesuffix("."),
        description=tuple(text for text in paragraphs if text not in examples),
        examples=tuple(text.removeprefix("Example: ") for text in examples),
        arguments=tuple(
            parameter for raw, parameter in parameters if isinstance(raw, TyperArgument)
        ),
        options=(*options, DEBUG),
    )


def _parameter(command: str, raw: TyperArgument | TyperOption, hint: Any) -> Parameter:
    is_option = isinstance(raw, TyperOption)
    is_flag = isinstance(raw, TyperOption) and raw.is_flag
    return Parameter(
        names=tuple(sorted([*raw.opts, *raw.secondary_opts], key=len)) if is_option else (),
        value=None if is_flag else _value(command, raw, hint),
        help=raw.help or "",
        required=raw.required,
        repeatable=raw.multiple or raw.nargs != 1,
        default=_default(raw),
        limits=number_limits(raw.min, raw.max),
        variable=raw.envvar if isinstance(raw.envvar, str) else "",
    )


def _value(command: str, raw: TyperArgument | TyperOption, hint: Any) -> Value:
    """Return the value of a parameter, by its type, or by OFFERS if the type is a string."""
    label = raw.metavar or ""
    while typing.get_origin(hint) is not Literal and typing.get_args(hint):
        hint = typing.get_args(hint)[0]  # X of `list[X]` or `X | None`
    if typing.get_origin(hint) is Literal:
        words = typing.get_args(hint)
        return Value(label or "|".join(words), "words", words)
    if hint in (int, float):
        return Value(label or ("N" if hint is int else "X"))
    offer = OFFERS.get(f"{command} {label}") or OFFERS.get(label)
    if offer is None:
        raise ValueError(
            f"depkit {command} has a parameter {raw.name!r} with the metavar {label!r}: add"
            " that to OFFERS of depkit/cli/pages/inventory.py, with what a shell can complete"
        )
    return Value(label, "words", offer) if isinstance(offer, tuple) else Value(label, offer)


def _default(raw: TyperArgument | TyperOption) -> str:
    value = raw.show_default if isinstance(raw.show_default, str) else raw.default
    if not raw.show_default or isinstance(value, bool) or value in (None, ""):
        return ""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
