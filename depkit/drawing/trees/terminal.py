"""Trees printed as text, for the command line and for Python."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal

from depkit.corpus.io import PathLike
from depkit.corpus.notebook import MAX_DRAWN, in_notebook
from depkit.corpus.pairing import Source, make_source, pair_sentences
from depkit.corpus.probabilities import best_trees, group_trees
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees import arcs, indented, outline
from depkit.drawing.trees.drawn_graph import DrawnGraph
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.svg import draw_svg
from depkit.files.errors import FormatError

Style = Literal["arcs", "tree"]

_STYLES: dict[Style, Callable[[DrawnSentence, int, bool], Iterator[str]]] = {
    "arcs": arcs.draw, "tree": indented.draw,
}  # fmt: skip
_WIDTH = 100  # columns, if stdout is not a terminal
MIN_WIDTH = 40  # columns; with fewer columns, all letters of labels might be clipped


def show(
    sentences: PathLike | Sentence | Iterable[Sentence],
    diff: PathLike | Sentence | Iterable[Sentence] | None = None,
    *,
    style: Style = "arcs",
    width: int | None = None,
    encoding: str = "utf-8",
    alternatives: bool = False,
    enhanced: bool = False,
) -> None:
    """Print the trees of sentences, as `depkit show` does; in a notebook, draw them.

    >>> import depkit
    >>> sentence = depkit.Sentence.from_words(
    ...     ["Stop", "it"], head=[0, 1], deprel=["root", "obj"], upos=["VERB", "PRON"]
    ... )
    >>> depkit.show(sentence)
    # sentence 1
    root
      │ ╭─obj──╮
      ▼ │      ▼
     Stop     it
     VERB    PRON

    Args:
        sentences: A file, a sentence or several sentences.
        diff: The same sentences with predicted trees; of several trees, as `Parser.parse` yields
            them with `best`, the best one counts. If given, the trees of `sentences` are gold
            trees, and only sentences with errors are printed, together with their wrong arcs.
        style: "arcs" for arcs above the words, "tree" for one line per word, also in a notebook.
            Constituency trees always have one line per constituent and word.
        width: The width at which to wrap, by default that of the terminal.
        encoding: The encoding of files.
        alternatives: Whether the trees of a sentence, as `Parser.parse` yields them with `best`,
            are drawn together: the best one above the words, the other arcs below.
        enhanced: Whether the enhanced dependencies that are not in the tree are drawn below the
            words, and empty nodes as words in brackets.

    Raises:
        ValueError: For an unknown style, or `alternatives` or `enhanced` with one another, with
            `diff` or the style tree.
        FormatError: If the sentences do not have the same words, and as raised by `read`.
        OSError: If a file cannot be read.
    """
    if style not in _STYLES:
        raise ValueError(f"there is no style {style!r}; choose one of {', '.join(_STYLES)}")
    for name, value in (("alternatives", alternatives), ("enhanced", enhanced)):
        if value and (diff is not None or style == "tree"):
            raise ValueError(f"`{name}` draws arcs of one file; leave `diff` and `style` out")
    if alternatives and enhanced:
        raise ValueError("`alternatives` and `enhanced` cannot be combined")
    drawn_sentences = read_drawn_sentences(
        sentences, diff, encoding, alternatives=alternatives, enhanced=enhanced
    )
    selected = (drawn for drawn in drawn_sentences if diff is None or drawn.has_errors)
    if style == "arcs" and in_notebook():
        from IPython.display import HTML, display

        drawings = ("".join(draw_svg([drawn])) for drawn in islice(selected, MAX_DRAWN))
        display(HTML("\n".join(f"<div>{drawing}</div>" for drawing in drawings)))
        return
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for drawing in draw_sentences(
        selected, style, max(width or default_width(), MIN_WIDTH), colour
    ):
        print(drawing, end="")


def read_drawn_sentences(
    sentences: PathLike | Sentence | Iterable[Sentence],
    diff: PathLike | Sentence | Iterable[Sentence] | None = None,
    encoding: str = "utf-8",
    *,
    alternatives: bool = False,
    enhanced: bool = False,
) -> Iterator[DrawnSentence]:
    """Read the sentences to draw, with the predicted trees of `diff` if it is given.

    alternatives: whether the trees of a sentence are drawn together; see `group_trees`. enhanced:
    whether enhanced dependencies are drawn.
    """
    gold_source = make_source(sentences, encoding)
    if alternatives:
        for number, (best, *others) in enumerate(group_trees(gold_source.sentences), start=1):
            yield DrawnSentence(number, best, others=others)
    elif diff is None:
        for number, sentence in enumerate(gold_source.sentences, start=1):
            yield (DrawnGraph if enhanced else DrawnSentence)(number, sentence)
    else:
        source = make_source(diff, encoding)
        predictions = Source(source.name, best_trees(source.sentences))
        sentence_pairs = pair_sentences(gold_source, [predictions])
        for number, (gold, (predicted,)) in enumerate(sentence_pairs, start=1):
            drawn = DrawnSentence(number, gold, predicted)
            if drawn.is_bracketed and predicted.constituents is None:
                message = "the sentence has no constituency tree, but the gold sentence has one"
                raise FormatError(*predicted.location(), message)
            yield drawn


def draw_sentences(
    sentences: Iterable[DrawnSentence], style: Style, width: int, colour: bool
) -> Iterator[str]:
    """Yield the text of each drawing under its heading, with a blank line between two sentences."""
    separator = ""
    for drawn in sentences:
        heading = [f"# {line}" for line in (drawn.name, drawn.text) if line]
        draw = outline.draw if drawn.is_bracketed else _STYLES[style]
        yield separator + "\n".join([*heading, *draw(drawn, width, colour), ""])
        separator = "\n"


def default_width() -> int:
    """Return the width of the terminal, or a fixed width if stdout is not a terminal."""
    if not sys.stdout.isatty():
        return _WIDTH
    return max(shutil.get_terminal_size().columns, MIN_WIDTH)
