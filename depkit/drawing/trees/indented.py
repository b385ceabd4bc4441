"""Trees as text: one line for each word, indented under its head."""

from collections.abc import Iterator, Sequence

from depkit.drawing.trees.cells import clip_start, make_visible
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.kinds import WRONG, Kind, colour_text
from depkit.files.terminal import cell_width

UNROOTED_HEADING = "# words without a head or in a cycle:"
_Branch = tuple[int, str]  # a word, and the connecting lines before it


def draw(drawn: DrawnSentence, width: int, colour: bool) -> Iterator[str]:
    """Yield a line for each word: number, form, tag, relation, and what is wrong.

    Words that do not descend from the root come last, under a heading. A cycle is drawn from its
    first word on. Indentation takes at most half of the width.
    """
    rooted, unrooted = _make_branches(drawn.sentence.head, width // 2)
    branches = [*rooted, *unrooted]
    rows = [_make_row(drawn, word, lines) for word, lines in branches]
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    widths[1] = min(widths[1], width // 2)
    for index, ((word, _), row) in enumerate(zip(branches, rows, strict=True)):
        if index == len(rooted):
            yield UNROOTED_HEADING
        kinds: tuple[Kind, ...] = ("plain", "plain", "plain", drawn.kind(word), "wrong")
        cells = [
            colour_text(text, kind, colour) + " " * (size - cell_width(text))
            for text, kind, size in zip(row, kinds, widths, strict=True)
            if size
        ]
        yield "  ".join(cells).rstrip()


def _make_row(drawn: DrawnSentence, word: int, lines: str) -> tuple[str, ...]:
    """Return the cells of a word's line: number, branch and form, tag, relation, error."""
    head = drawn.sentence.head[word - 1]
    relation = make_visible(drawn.sentence.deprel[word - 1])
    number = f"{word:{len(str(len(drawn.forms)))}}"
    if head > 0 and lines[:1] in ("", "…"):  # no line leads to the head
        relation += _describe_head(drawn, head)
    error = _describe_error(drawn, word) if word in drawn.wrong_words else ""
    return number, lines + drawn.forms[word - 1], drawn.tags[word - 1], relation, error


def _describe_error(drawn: DrawnSentence, word: int) -> str:
    """Return the relation of a wrong word in the predicted tree, and its head if that is wrong."""
    assert drawn.predicted is not None
    head = drawn.predicted.head[word - 1]
    relation = make_visible(drawn.predicted.deprel[word - 1])
    if head == drawn.sentence.head[word - 1]:
        return f"{WRONG} {relation}"
    return f"{WRONG} {relation}{_describe_head(drawn, head)}" if head >= 0 else f"{WRONG} headless"


def _describe_head(drawn: DrawnSentence, head: int) -> str:
    return f" ← {head} {drawn.forms[head - 1]}" if head else " ← 0"


def _make_branches(heads: Sequence[int], limit: int) -> tuple[list[_Branch], list[_Branch]]:
    """Return the branches of words that descend from the root, and those of others, as drawn.

    limit: the maximum length of the connecting lines.
    """
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        if head >= 0:
            dependents[head].append(word)
    rooted = [branch for top in dependents[0] for branch in _subtree(top, dependents, limit)]
    visited = {word for word, _ in rooted}
    unrooted = []
    for word in range(1, len(heads) + 1):
        if word not in visited:
            top = _top_ancestor(word, heads)
            if heads[top - 1] > 0:  # cut the cycle here
                dependents[heads[top - 1]].remove(top)
            branches = list(_subtree(top, dependents, limit))
            visited.update(descendant for descendant, _ in branches)
            unrooted += branches
    return rooted, unrooted


def _subtree(top: int, dependents: Sequence[Sequence[int]], limit: int) -> Iterator[_Branch]:
    """Yield the branches of a word and all its descendants, each head before its dependents."""
    stack = [(top, "", "")]
    while stack:
        word, connector, indent = stack.pop()
        yield word, connector
        size = len(stack)
        for dependent in reversed(dependents[word]):
            corner, deeper = ("├─ ", "│  ") if len(stack) > size else ("└─ ", "   ")
            lines = clip_start(indent + corner, limit)
            stack.append((dependent, lines, clip_start(indent + deeper, limit)))


def _top_ancestor(word: int, heads: Sequence[int]) -> int:
    """Return the ancestor from which to draw a word that does not descend from the root.

    It is the ancestor without a head or, if there is a cycle, the first word on the cycle.
    """
    path: dict[int, None] = {}
    while word not in path:
        if heads[word - 1] < 0:
            return word
        path[word] = None
        word = heads[word - 1]
    ancestors = list(path)
    return min(ancestors[ancestors.index(word) :])
