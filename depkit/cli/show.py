"""`depkit show`: draws trees in the terminal or as an SVG image."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, NamedTuple

import typer

from depkit.cli.options import Encoding, Quiet, Where, check_inputs, note_printer, verbose_flag
from depkit.cli.output import Color, needs_colour, print_message
from depkit.cli.search import make_where
from depkit.drawing.trees import svg, tikz
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.terminal import (
    MIN_WIDTH,
    Style,
    default_width,
    draw_sentences,
    read_drawn_sentences,
)
from depkit.files.errors import FormatError
from depkit.files.storage import check_overwriting
from depkit.files.streams import open_output


def show_command(
    file: Annotated[str, typer.Argument(metavar="FILE")] = "-",
    *,
    style: Annotated[Style | None, typer.Option(show_default="arcs")] = None,
    sentence: Annotated[list[str] | None, typer.Option(metavar="ID")] = None,
    where: Where = "",
    width: Annotated[
        int | None, typer.Option(min=MIN_WIDTH, show_default="the terminal's width, or 100")
    ] = None,
    diff: Annotated[str | None, typer.Option(metavar="PRED")] = None,
    draw_all: Annotated[bool, typer.Option("--all")] = False,
    alternatives: Annotated[bool, typer.Option("--alternatives")] = False,
    enhanced: Annotated[bool, typer.Option("--enhanced")] = False,
    color: Annotated[Color, typer.Option()] = "auto",
    svg_file: Annotated[str | None, typer.Option("--svg", metavar="OUT")] = None,
    tikz_file: Annotated[str | None, typer.Option("--tikz", metavar="OUT")] = None,
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT")] = "",
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag("Print on stderr how many sentences were drawn.")
    ] = False,
) -> None:
    """Draw the trees of a CoNLL-U, CoNLL-X or CoNLL-09 file, or bracketed trees."""
    if draw_all and diff is None:
        raise typer.BadParameter("it needs --diff as well", param_hint="--all")
    for option, value in (("--alternatives", alternatives), ("--enhanced", enhanced)):
        if value and (diff is not None or style == "tree"):
            message = "it draws the arcs of one file; leave --diff and --style out"
            raise typer.BadParameter(message, param_hint=option)
    if alternatives and enhanced:
        message = "it cannot be combined with --alternatives"
        raise typer.BadParameter(message, param_hint="--enhanced")
    image = _find_image(svg_file, tikz_file, output)
    if image and style == "tree":
        raise typer.BadParameter("an image always has arcs", param_hint="--style")
    if image and width is not None:
        raise typer.BadParameter("the width of an image is fixed", param_hint="--width")
    selection = make_where(where, note_printer(quiet))
    if image:
        check_overwriting([file, diff, where], [image.path])
    check_inputs([file, diff or ""], quiet)
    num_read = num_selected = num_drawn = 0
    has_alternatives = False
    draws_arcs = {
        "--alternatives": alternatives, "--enhanced": enhanced, "--style": style == "arcs"
    }  # fmt: skip
    arc_options = [option for option, is_given in draws_arcs.items() if is_given]

    def sentences_to_draw() -> Iterator[DrawnSentence]:
        nonlocal num_read, num_selected, num_drawn, has_alternatives
        read = read_drawn_sentences(
            file, diff, encoding, alternatives=alternatives, enhanced=enhanced
        )
        for drawn in _select(read, sentence or [], file):
            num_read += 1
            has_alternatives |= bool(drawn.others)
            if selection and not selection.accepts(drawn.sentence):
                continue
            num_selected += 1
            if drawn.is_bracketed and arc_options:
                message = f"it draws arcs, but {file} has bracketed trees"
                raise typer.BadParameter(message, param_hint=arc_options[0])
            if diff is None or draw_all or sentence or drawn.has_errors:
                num_drawn += 1
                yield drawn

    with open_output(image.path if image else "-", colours=True) as stream:
        if image:
            stream.writelines(image.draw(sentences_to_draw()))
            # OUT can be a treebank that is given here instead of FILE by mistake.
            if not num_read and image.path != "-":
                message = "there is no sentence to draw; the output file is left unchanged"
                raise FormatError(file, 0, "", message)
        else:
            width = width or default_width()
            for lines in draw_sentences(
                sentences_to_draw(), style or "arcs", width, needs_colour(color)
            ):
                stream.write(lines)
                stream.flush()  # reading the next sentence may take long
    if (diff or where) and num_read and not num_drawn and not quiet:
        trees = "selected trees" if where else "trees"
        same = f"the {trees} of {file} and {diff} are the same"
        print_message(f"depkit: note: {same if num_selected else 'no sentence was selected'}")
    if alternatives and num_read and not has_alternatives and not quiet:
        advice = "depkit parse --best N writes them"
        print_message(f"depkit: note: no sentence that was read has several trees; {advice}")
    if verbose and not quiet:
        print_message(f"{num_drawn:,} of {num_read:,} sentences were drawn")


class _Image(NamedTuple):
    """A file to write, and the function that draws sentences into it."""

    path: str
    draw: Callable[[Iterable[DrawnSentence]], Iterator[str]]


_IMAGES = {".svg": svg.draw_svg, ".tex": tikz.draw_tikz}


def _find_image(svg_file: str | None, tikz_file: str | None, output: str) -> _Image | None:
    """Return the image that --svg, --tikz or the suffix of --output asks for, if any does."""
    given = [
        (svg_file, ".svg"), (tikz_file, ".tex"), (output, os.path.splitext(output)[1].lower())
    ]  # fmt: skip
    images = [(path, suffix) for path, suffix in given if path]
    if not images:
        return None
    if len(images) > 1:
        raise typer.BadParameter("give only one of them", param_hint="--svg, --tikz, -o")
    ((path, suffix),) = images
    if suffix not in _IMAGES:
        raise typer.BadParameter(
            f"{output} is neither .svg nor .tex; for a PNG image, write an SVG image and convert"
            " it, for example with rsvg-convert or Inkscape",
            param_hint="-o",
        )
    return _Image(path, _IMAGES[suffix])


def _select(
    sentences: Iterable[DrawnSentence], names: Iterable[str], file: str
) -> Iterator[DrawnSentence]:
    """Yield the sentences with these sent_ids or numbers; all sentences if there are no names.

    A name is a number only if no sentence has it as its sent_id, so the whole file may be read.
    """
    missing = set(names)
    if not missing:
        yield from sentences
        return
    by_sent_id: dict[str, DrawnSentence] = {}
    by_number: dict[str, DrawnSentence] = {}
    count = 0
    for drawn in sentences:
        count += 1
        for name, found in ((drawn.sentence.sent_id, by_sent_id), (str(drawn.number), by_number)):
            if name in missing:
                found.setdefault(name, drawn)
        if len(by_sent_id) == len(missing):
            break
    chosen = {drawn.number: drawn for drawn in (by_number | by_sent_id).values()}
    yield from (chosen[number] for number in sorted(chosen))
    missing -= by_number.keys() | by_sent_id.keys()
    if not missing:
        return
    raise typer.BadParameter(
        f"there is no sentence {', '.join(sorted(missing))} among the {count:,} sentences of"
        f" {file}",
        param_hint="--sentence",
    )
