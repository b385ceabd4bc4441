"""`depkit show`: trees as drawings, in the terminal or as a picture."""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

import typer

from depkit.cli.options import Encoding, Quiet, Verbose, check_inputs
from depkit.corpus.files import open_output
from depkit.drawing.trees import svg
from depkit.drawing.trees.shown import Shown
from depkit.drawing.trees.terminal import NARROWEST, Style, compared, drawings, usual_width

Color = Literal["auto", "always", "never"]


def show_command(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to show, - for stdin (the default).")
    ] = "-",
    style: Annotated[
        Style | None,
        typer.Option(
            help="arcs above the words, or an indented tree, a word a line.", show_default="arcs"
        ),
    ] = None,
    sentence: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Show this one: its number from 1, or its sent_id."),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            min=NARROWEST, help="Where to wrap.", show_default="the terminal's width, else 100"
        ),
    ] = None,
    diff: Annotated[
        str | None,
        typer.Option(metavar="PRED", help="Show what is wrong in this file, given FILE is right."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With --diff, also show sentences without an error.")
    ] = False,
    color: Annotated[
        Color, typer.Option(help="With --diff; auto: on a terminal, unless NO_COLOR is set.")
    ] = "auto",
    svg_file: Annotated[
        str | None,
        typer.Option("--svg", metavar="OUT", help="Write a picture instead, - for stdout."),
    ] = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Draw the trees of a CoNLL-U, CoNLL-X or CoNLL-09 file.

    Arcs point from a word to its dependents. A sentence that is too wide is wrapped: its words
    are numbered, and an arc that leaves a row tells the number of the word at its other end.
    With --diff, the arcs that PRED has wrong stand below the words; where the relation alone is
    wrong, the label tells the right one, too: nsubj→obj.

    Example: depkit show parsed.conllu --sentence 3
    """
    if everything and diff is None:
        raise typer.BadParameter("goes with --diff", param_hint="--all")
    if svg_file and style == "tree":
        raise typer.BadParameter("a picture has arcs", param_hint="--style")
    if svg_file and width is not None:
        raise typer.BadParameter("a picture is as wide as its sentences", param_hint="--width")
    check_inputs([file, diff or ""], quiet)
    seen = drawn = 0

    def chosen() -> Iterator[Shown]:
        nonlocal seen, drawn
        for shown in _selected(compared(file, diff, encoding), sentence or [], file):
            seen += 1
            if diff is None or everything or sentence or shown.wrong:
                drawn += 1
                yield shown

    with open_output(svg_file or "-") as stream:
        if svg_file:
            stream.writelines(svg.picture(chosen()))
        else:
            trees = drawings(chosen(), style or "arcs", width or usual_width(), coloured(color))
            for lines in trees:
                stream.write(lines)
                stream.flush()  # it may be a long wait for the next sentence
    if diff and seen and not drawn and not quiet:
        typer.echo(f"depkit: the trees of {file} and {diff} are the same", err=True)
    if verbose and not quiet:
        typer.echo(f"{drawn} of {seen} sentences shown", err=True)


def _selected(sentences: Iterable[Shown], names: Iterable[str], file: str) -> Iterator[Shown]:
    """The sentences of these numbers or ids, all if there are none; none is read in vain."""
    wanted = set(names)
    if not wanted:
        yield from sentences
        return
    count = 0
    for shown in sentences:
        count += 1
        if found := wanted & {str(shown.number), shown.sentence.sent_id}:
            yield shown
            wanted -= found
            if not wanted:
                return
    missing = ", ".join(sorted(wanted))
    raise typer.BadParameter(
        f"no sentence {missing} among the {count} of {file}", param_hint="--sentence"
    )


def coloured(color: Color) -> bool:
    """Whether to colour what goes to stdout."""
    if color == "auto":
        return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return color == "always"
