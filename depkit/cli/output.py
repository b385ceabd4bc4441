"""Printing for people: all that commands print on stdout and stderr passes through here.

Treebanks on stdout pass through `streams.open_output`, and the lines of long work through
`files.progress`; both escape what controls a terminal as well.
"""

import os
import sys
from contextlib import suppress
from typing import Literal

import typer

from depkit.files.terminal import escape_controls

Color = Literal["auto", "always", "never"]


def print_message(text: str) -> None:
    """Print a line on stderr, if it can be written; control characters and line ends are escaped.

    A command does not fail because nobody can read what it says about its work.
    """
    with suppress(OSError):
        typer.echo(escape_controls(text), err=True)


def print_output(text: str, colours: bool = False) -> None:
    """Print a text on stdout, in UTF-8. On a terminal, control characters are escaped.

    An error such as that of a full disk names standard output.
    colours: as for `terminal.escape_controls`.
    """
    from depkit.files.streams import open_output

    with open_output("-", colours=colours) as stream:
        stream.write(f"{text}\n")


def count_noun(number: int, noun: str) -> str:
    """Return a number with a noun that takes the plural s, such as "2 sentences"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def for_terminal(text: str) -> str:
    """Escape control characters except tabs and line ends if stdout is a terminal."""
    return escape_controls(text, "\n\t") if is_terminal() else text


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def needs_colour(color: Color) -> bool:
    """Return whether the output on stdout should be coloured."""
    if color == "auto":
        return is_terminal() and not os.environ.get("NO_COLOR")
    return color == "always"
