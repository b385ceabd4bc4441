r"""Dependency trees for LaTeX, in the commands of the package tikz-dependency."""

from collections.abc import Iterable, Iterator

from depkit.drawing.trees.drawn_sentence import Arc, DrawnSentence
from depkit.files.errors import FormatError
from depkit.score.table import LATEX_ESCAPES

_PREAMBLE = "% \\usepackage{tikz-dependency}\n"
# In a deptext, `\&` separates columns, so it cannot stand for `&`.
_SPECIAL = str.maketrans(
    LATEX_ESCAPES
    | {"&": r"\symbol{38}", "<": r"\textless{}", ">": r"\textgreater{}"}
    | {"|": r"\textbar{}", '"': r"\textquotedbl{}"}
)


def escape(text: str) -> str:
    """Return a text for LaTeX that is printed as it is."""
    return text.translate(_SPECIAL)


def draw_tikz(sentences: Iterable[DrawnSentence]) -> Iterator[str]:
    """Yield a `dependency` environment for each sentence, to be compiled with LuaLaTeX or XeLaTeX.

    Wrong arcs are below the words, as in the other drawings. Raises FormatError for a sentence
    without a dependency tree.
    """
    yield _PREAMBLE
    for drawn in sentences:
        if drawn.is_bracketed:
            message = "tikz-dependency draws dependency trees only; the sentence has brackets"
            raise FormatError(*drawn.sentence.location(), message)
        yield f"\n% {drawn.name}\n" if drawn.name else "\n"
        yield "\\begin{dependency}\n  \\begin{deptext}[column sep=1em]\n"
        for row in (drawn.forms, drawn.tags):
            if any(row):
                cells = " \\& ".join(map(escape, row))
                yield f"    {cells} \\\\\n"
        yield "  \\end{deptext}\n"
        yield from (_draw_arc(arc, "") for arc in drawn.arcs())
        yield from (_draw_arc(arc, "edge below, dashed") for arc in drawn.arcs_below())
        yield "\\end{dependency}\n"


def _draw_arc(arc: Arc, style: str) -> str:
    options = f"[{style}]" if style else ""
    if arc.is_vertical:
        return f"  \\deproot{options}{{{arc.dependent}}}{{{escape(arc.label)}}}\n"
    return f"  \\depedge{options}{{{arc.head}}}{{{arc.dependent}}}{{{escape(arc.label)}}}\n"
