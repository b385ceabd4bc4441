"""The layout of --help: Rich's panels on a wide terminal, plain sections elsewhere."""

import shutil
import sys
from collections import defaultdict
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from depkit.cli.names import name_options, replace_old_names
from depkit.cli.output import print_output
from depkit.files.errors import ArgumentError, FormatError

# The sections of a long help; an option names its section as `rich_help_panel`.
DATA, MODEL, TRAINING, ANALYSIS, OUTPUT, MACHINE, OTHER = (
    "Data", "Model", "Training", "Analysis", "Output", "Machine", "Other"
)  # fmt: skip
_MAX_WITHOUT_SECTIONS = 17  # a help with at most this many parameters has no sections
_MAX_WIDTH = 120  # columns; longer lines are hard to read
_MIN_PANEL_WIDTH = 80  # columns of a terminal; on narrower terminals, no panels are drawn
_METAVARS = {bool: "", int: "N", float: "X"}  # instead of Typer's <bool>, <int range>, <float>


def option(panel: str, *names: str, **settings: Any) -> Any:
    """Return an option in a section of the help; its help may stand in descriptions/."""
    return typer.Option(*names, rich_help_panel=panel, **settings)


def _print_help(context: Any, parameter: Any, value: bool) -> None:
    if value and not context.resilient_parsing:
        print_output(context.get_help())
        raise typer.Exit


class _HelpLayout:
    """The layout of the help of depkit itself and of its subcommands."""

    rich_markup_mode: Any
    help: Any
    epilog: Any

    def get_help_option(self, context: Any) -> Any:
        """Return the option --help, whose output passes through `print_output`."""
        help_option = super().get_help_option(context)  # type: ignore[misc]
        help_option.callback = _print_help
        return help_option

    def format_help(self: Any, context: Any, formatter: Any) -> None:
        """Choose Rich's panels or plain text for this terminal, then format the help."""
        columns = shutil.get_terminal_size().columns
        has_panels = sys.stdout and sys.stdout.isatty() and columns >= _MIN_PANEL_WIDTH
        self.rich_markup_mode = "rich" if has_panels else None
        # Typer would use at least 50 columns, even on a narrower terminal, and at most 78.
        formatter.width = min(max(columns, 30), _MAX_WIDTH) - 2
        parameters = self.get_params(context)
        for parameter in parameters:
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: ""  # instead of Typer's <list[str]>
            elif parameter.metavar is None and parameter.type_descriptor.annotation in _METAVARS:
                parameter.metavar = _METAVARS[parameter.type_descriptor.annotation]
            if parameter.name == "help":
                parameter.rich_help_panel = OTHER
            if len(parameters) <= _MAX_WITHOUT_SECTIONS:
                parameter.rich_help_panel = None
        if has_panels:  # What is in brackets, such as [upos=VERB], is not Rich's markup.
            from rich.markup import escape

            for described in (self, *parameters):
                described.help = escape(described.help or "")
        # Options are on the first screen: the long help, with its examples, stands after them.
        long_help, epilog = self.help or "", self.epilog
        summary, *paragraphs = long_help.split("\n\n")
        if paragraphs and not epilog:
            separator = "\n\n \n\n" if has_panels else "\n\n"  # for a blank line between them
            self.help, self.epilog = summary, separator.join(paragraphs)
        try:
            super().format_help(context, formatter)  # type: ignore[misc]
        finally:
            self.help, self.epilog = long_help, epilog


class Command(_HelpLayout, TyperCommand):
    """A subcommand, which knows old names of its options, and names options in messages."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Parse a command line."""
        options = {name for parameter in self.get_params(context) for name in parameter.opts}
        rest: list[str] = super().parse_args(context, replace_old_names(arguments, options))
        for parameter in self.params:
            value = context.params.get(parameter.name)
            is_empty = "" in (value if isinstance(value, list) else [value])
            if is_empty and _is_given(parameter, context):
                # for example, from a shell variable without a value
                context.fail(f"the value of {_usual_name(parameter)} is empty")
        return rest

    def invoke(self, context: Any) -> Any:
        """Run the command; a message of the library then names options instead of arguments."""
        try:
            return super().invoke(context)
        except (ValueError, OSError, MemoryError) as error:
            parameters = [p for p in self.params if p.param_type_name == "option"]
            options = {parameter.name: max(parameter.opts, key=len) for parameter in parameters}
            error.args = tuple(
                name_options(text, options) if isinstance(text, str) else text
                for text in error.args
            )
            if isinstance(error, ArgumentError):
                names = [options.get(name, name) for name in error.argument.split(", ")]
                hint = ", ".join(names)
                raise typer.BadParameter(error.args[1], ctx=context, param_hint=hint) from None
            if isinstance(error, FormatError):
                error.message = error.args[-1]
            raise

    def collect_usage_pieces(self, context: Any) -> list[str]:
        """Return the parts of the usage line, without Typer's braces around arguments."""
        pieces = super().collect_usage_pieces(context)
        pieces = [piece.replace("{", "").replace("}", "") for piece in pieces]
        options = {name: parameter for parameter in self.params for name in parameter.opts}
        if {"--dev", "--dev-split"} <= options.keys():
            pieces.append("(--dev DEV | --dev-split X)")
        if "--output" in options and options["--output"].required:
            pieces.append(f"-o {options['--output'].metavar}")
        return pieces

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the arguments and options of plain help, grouped by `rich_help_panel`."""
        sections = defaultdict(list)
        for parameter in self.get_params(context):
            if record := parameter.get_help_record(context):
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections[getattr(parameter, "rich_help_panel", None) or default].append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _is_given(parameter: Any, context: Any) -> bool:
    """Return whether the value of a parameter is from the command line."""
    return bool(context.get_parameter_source(parameter.name).name == "COMMANDLINE")


def _usual_name(parameter: Any) -> str:
    """Return the name that the help shows: that of an argument, or the long one of an option."""
    is_argument = parameter.param_type_name == "argument"
    return str(parameter.metavar if is_argument else max(parameter.opts, key=len))


class Group(_HelpLayout, TyperGroup):
    """The command depkit itself."""
