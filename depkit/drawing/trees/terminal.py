"""Trees printed as text, for the command line and for Python."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from depkit.corpus.files import PathLike
from depkit.corpus.pairing import pairs, source
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees import arcs, indented
from depkit.drawing.trees.shown import Shown

Style = Literal["arcs", "tree"]

_DRAWINGS: dict[Style, Callable[[Shown, int, bool], Iterator[str]]] = {
    "arcs": arcs.draw, "tree": indented.draw,
}  # fmt: skip
_WIDTH = 100  # without a terminal
NARROWEST = 40  # columns; in fewer, labels would lose all their letters


def show(
    sentences: PathLike | Sentence | Iterable[Sentence],
    diff: PathLike | Sentence | Iterable[Sentence] | None = None,
    style: Style = "arcs",
    width: int | None = None,
    encoding: str = "utf-8",
) -> None:
    """Print the trees of sentences, as `depkit show` does.

    sentences: a path, a sentence or several. diff: the same sentences with other trees; if given,
    `sentences` are taken as right, and only those are printed where `diff` is wrong, with its wrong
    arcs. style: "arcs" above the words, or a "tree" with a word a line. width: where to wrap, by
    default at the terminal's width.
    Raises ValueError for an unknown style; FormatError where the words differ; what `read` raises.
    """
    if style not in _DRAWINGS:
        raise ValueError(f"no style {style!r}; there are {', '.join(_DRAWINGS)}")
    shown = compared(sentences, diff, encoding)
    wanted = (each for each in shown if diff is None or each.wrong)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for drawing in drawings(wanted, style, max(width or usual_width(), NARROWEST), colour):
        print(drawing, end="")


def compared(
    sentences: PathLike | Sentence | Iterable[Sentence],
    diff: PathLike | Sentence | Iterable[Sentence] | None = None,
    encoding: str = "utf-8",
) -> Iterator[Shown]:
    """The sentences to draw, with the trees of `diff`, if given, to compare with; see `show`."""
    right = source(sentences, encoding)
    if diff is None:
        for number, sentence in enumerate(right.sentences, start=1):
            yield Shown(number, sentence)
    else:
        both = pairs(right, [source(diff, encoding)])
        for number, (gold, (predicted,)) in enumerate(both, start=1):
            yield Shown(number, gold, predicted)


def drawings(sentences: Iterable[Shown], style: Style, width: int, colour: bool) -> Iterator[str]:
    """Each sentence's drawing under its heading, a blank line between two of them."""
    gap = ""
    for shown in sentences:
        heading = [f"# {line}" for line in (shown.name, shown.text) if line]
        yield gap + "\n".join([*heading, *_DRAWINGS[style](shown, width, colour), ""])
        gap = "\n"


def usual_width() -> int:
    """The width of the terminal; a fixed one if stdout is no terminal."""
    if not sys.stdout.isatty():
        return _WIDTH
    return max(shutil.get_terminal_size().columns, NARROWEST)
