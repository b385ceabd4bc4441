"""What a notebook shows of sentences: their trees.

The package `depkit` sets the function that draws a sentence, because modules of `depkit.corpus`
must not import `depkit.drawing`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from depkit.corpus.sentence import Sentence

draw: Callable[[Any], str] | None = None  # from a Sentence to SVG
MAX_DRAWN = 20  # sentences


class Sentences(list["Sentence"]):
    """A list of sentences, whose trees a notebook draws one below the other."""

    def _repr_html_(self) -> str | None:
        """Return the drawings of the first MAX_DRAWN trees; None if there are none."""
        drawings = [svg for sentence in self[:MAX_DRAWN] if (svg := sentence._repr_svg_())]
        if not drawings:
            return None
        number = len(self) - MAX_DRAWN
        more = [f"<p>{number:,} more sentence{'s' * (number > 1)}</p>"] if number > 0 else []
        return "\n".join([*(f"<div>{svg}</div>" for svg in drawings), *more])


def in_notebook() -> bool:
    """Return whether this code runs in a notebook, which shows HTML."""
    try:
        shell = get_ipython()  # type: ignore[name-defined]
    except NameError:
        return False
    return hasattr(shell, "kernel")
