"""Constituency trees as text: one line for each constituent and word, indented under its parent."""

from collections.abc import Iterator

from depkit.drawing.trees.cells import clip, clip_start
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.kinds import WRONG, colour_text


def draw(drawn: DrawnSentence, width: int, colour: bool) -> Iterator[str]:
    """Yield a line for each constituent, and for each word with its tag; longer lines are clipped.

    Constituents that the predicted tree lacks are marked, and the wrong constituents of the
    predicted tree come last.
    """
    nodes, wrong = drawn.constituents
    last_child = {node.parent: index for index, node in enumerate(nodes)}
    indents: list[str] = []  # of the children of each node
    for index, node in enumerate(nodes):
        indent = indents[node.parent] if node.parent >= 0 else ""
        is_last = last_child[node.parent] == index
        corner, deeper = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        if node.parent < 0:
            corner = deeper = ""
        indents.append(clip_start(indent + deeper, width // 2))
        lines = clip_start(indent + corner, width // 2)
        text = f"{node.label} {node.word}" if node.word else node.label or "()"
        text += "  (missed)" if node.kind == "missed" else ""
        yield lines + colour_text(clip(text, width - len(lines)), node.kind, colour)
    for node in wrong:
        words = " ".join(drawn.forms[node.start : node.end])
        text = f"{WRONG} {node.label or '()'} {node.start + 1}-{node.end}: {words}"
        yield colour_text(clip(text, width), "wrong", colour)
