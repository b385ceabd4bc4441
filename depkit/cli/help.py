"""How --help is laid out: in Rich's panels on a wide terminal, in plain sections elsewhere."""

import shutil
import sys
from collections import defaultdict
from typing import Any

from typer.core import TyperCommand, TyperGroup

# The sections of a long help; an option names its own as `rich_help_panel`.
DATA, MODEL, TRAINING, ANALYSIS, OUTPUT, MACHINE, OTHER = (
    "Data", "Model", "Training", "Analysis", "Output", "Machine", "Other"
)  # fmt: skip
_FEW = 17  # a command with so many parameters or fewer has a help without sections
_NARROWEST = 80  # columns of the narrowest terminal on which panels are drawn
_METAVARS = {bool: "", int: "N", float: "X"}  # instead of Typer's <bool>, <int range>, <float>


class _Help:
    """The layout that depkit's own help and that of its subcommands have in common."""

    rich_markup_mode: Any

    def format_help(self: Any, context: Any, formatter: Any) -> None:
        """Choose Rich's panels or plain text for this terminal, then format the help."""
        columns = shutil.get_terminal_size().columns
        wide = sys.stdout and sys.stdout.isatty() and columns >= _NARROWEST
        self.rich_markup_mode = "rich" if wide else None
        formatter.width = min(formatter.width, max(columns, 30) - 2)  # Typer would use 50 at least
        parameters = self.get_params(context)
        for each in parameters:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: ""  # instead of Typer's <list[str]>
            elif each.metavar is None and each.type_descriptor.annotation in _METAVARS:
                each.metavar = _METAVARS[each.type_descriptor.annotation]
            if each.name == "help":
                each.rich_help_panel = OTHER
            if len(parameters) <= _FEW:
                each.rich_help_panel = None
        super().format_help(context, formatter)  # type: ignore[misc]


class Command(_Help, TyperCommand):
    """A subcommand."""

    def collect_usage_pieces(self, context: Any) -> list[str]:
        """The parts of the usage line, without the braces that Typer puts around arguments."""
        pieces = super().collect_usage_pieces(context)
        return [each.replace("{", "").replace("}", "") for each in pieces]

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the arguments and options of plain help, grouped by `rich_help_panel`."""
        sections = defaultdict(list)
        for each in self.get_params(context):
            if record := each.get_help_record(context):
                usual = "Arguments" if each.param_type_name == "argument" else "Options"
                sections[getattr(each, "rich_help_panel", None) or usual].append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Group(_Help, TyperGroup):
    """depkit itself."""
