"""The command line as data, read off the Typer app: what completions and man pages are made of."""

import re
import typing
from dataclasses import dataclass
from typing import Any, Literal

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from depkit.cli.evaluate import NAMES
from depkit.cli.main import app
from depkit.score.analysis import METRICS, PRESETS
from depkit.score.groupings import GROUPINGS
from depkit.score.mistakes import CONFUSIONS
from depkit.score.punctuation import POLICIES
from depkit.training.recipe import recipe_names


@dataclass(frozen=True)
class Value:
    """What may stand somewhere: how it is called, and what a shell can offer for it."""

    label: str
    kind: Literal["file", "directory", "model", "words", "free"] = "free"
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """An option (with names) or an argument (without). A flag has no value."""

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
    """A subcommand, or depkit itself (with the name "")."""

    name: str
    summary: str
    description: tuple[str, ...]
    examples: tuple[str, ...]
    arguments: tuple[Parameter, ...]
    options: tuple[Parameter, ...]


FILE = Value("FILE", "file")
DIRECTORY = Value("DIR", "directory")
MODEL = Value("MODEL", "model")

# What the parameters of string type take, by name, or by command and name where that differs.
# All others tell it by their type: numbers, flags, choices.
VALUES = {
    **dict.fromkeys("config dev dev_features diff features file files gold original".split(), FILE),
    **dict.fromkeys("output plot preds svg_file text train".split(), FILE),
    "convert tags": FILE,
    **dict.fromkeys(("output_dir", "reuse", "work"), DIRECTORY),
    **dict.fromkeys(("train output", "ensemble output", "distill output"), DIRECTORY),
    **dict.fromkeys(("init", "model", "models", "teacher"), MODEL),
    **dict.fromkeys(("set", "settings"), Value("KEY=VALUE")),
    "bins": Value("BINS"),
    "by": Value("GROUPING", "words", tuple(GROUPINGS)),
    "confused": Value("WHAT", "words", tuple(CONFUSIONS)),
    "device": Value("DEVICE", "words", ("auto", "cpu", "cuda", "mps")),
    "encoding": Value("NAME"),
    "eval metric": Value("METRIC", "words", tuple(NAMES)),
    "max_time": Value("TIME"),
    "metric": Value("METRIC", "words", tuple(METRICS)),
    "preset": Value("NAME", "words", tuple(PRESETS)),
    "punct": Value("POLICY", "words", tuple(POLICIES)),
    "recipe": Value("NAME", "words", tuple(recipe_names())),
    "recipes": Value("NAME,..."),
    "sentence": Value("ID"),
}

# Not Typer's: `main.run` takes it out of the command line before Typer sees it.
DEBUG = Parameter(("--debug",), None, "Show the traceback of an error.")


def commands() -> list[Command]:
    """depkit itself, then its subcommands in the order of `depkit --help`.

    Raises ValueError for a parameter of string type that VALUES does not know.
    """
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    visible = {name: each for name, each in group.commands.items() if not each.hidden}
    return [_command("", group), *(_command(name, each) for name, each in visible.items())]


def _command(name: str, command: Any) -> Command:
    """A Click command as data; Typer has its Click in a private place, hence Any."""
    paragraphs = [
        " ".join(paragraph.split())
        for text in (command.help, command.epilog)
        for paragraph in (text or "").split("\n\n")
        if paragraph
    ]
    examples = [each for each in paragraphs if each.startswith("Example: ")]
    hints = typing.get_type_hints(command.callback) if command.callback else {}
    parameters = [
        (each, _parameter(name, each, hints.get(each.name, bool)))
        for each in command.get_params(typer.Context(command, info_name=name))
        if not each.hidden
    ]
    return Command(
        name=name,
        summary=re.split(r"(?<=\.)\s", paragraphs[0])[0].removesuffix("."),
        description=tuple(each for each in paragraphs if each not in examples),
        examples=tuple(each.removeprefix("Example: ") for each in examples),
        arguments=tuple(each for raw, each in parameters if isinstance(raw, TyperArgument)),
        options=(*(each for raw, each in parameters if isinstance(raw, TyperOption)), DEBUG),
    )


def _parameter(command: str, raw: TyperArgument | TyperOption, hint: Any) -> Parameter:
    is_option = isinstance(raw, TyperOption)
    is_flag = isinstance(raw, TyperOption) and raw.is_flag
    return Parameter(
        names=(*raw.opts, *raw.secondary_opts) if is_option else (),
        value=None if is_flag else _value(command, raw, hint),
        help=raw.help or "",
        required=raw.required,
        repeatable=raw.multiple or raw.nargs != 1,
        default=_default(raw),
        limits=_limits(raw.min, raw.max),
        variable=raw.envvar if isinstance(raw.envvar, str) else "",
    )


def _value(command: str, raw: TyperArgument | TyperOption, hint: Any) -> Value:
    """What a parameter takes, from its type; if that is a string, from the table."""
    given = (raw.metavar or "").strip("[]")  # a page sets its own brackets around what may lack
    while typing.get_origin(hint) is not Literal and typing.get_args(hint):
        hint = typing.get_args(hint)[0]  # of `list[X]`, `X | None`
    if typing.get_origin(hint) is Literal:
        words = typing.get_args(hint)
        return Value(given or "|".join(words), "words", words)
    if hint in (int, float):
        return Value(given or ("N" if hint is int else "X"))
    known = VALUES.get(f"{command} {raw.name}") or VALUES.get(raw.name)
    if known is None:
        raise ValueError(
            f"depkit {command} has a parameter {raw.name!r}: say in VALUES of"
            " depkit/cli/pages/inventory.py what it takes"
        )
    return Value(given or known.label, known.kind, known.words)


def _default(raw: TyperArgument | TyperOption) -> str:
    shown = raw.show_default if isinstance(raw.show_default, str) else raw.default
    if not raw.show_default or isinstance(shown, bool) or shown in (None, ""):
        return ""
    return " ".join(map(str, shown)) if isinstance(shown, list | tuple) else str(shown)


def _limits(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f"at most {most}"
    return f"{least} or more" if most is None else f"{least} to {most}"
