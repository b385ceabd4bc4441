"""Trees as text: a word a line, indented under its head."""

from collections.abc import Iterator, Sequence

from depkit.drawing.trees.cells import cell_width, visible
from depkit.drawing.trees.shown import WRONG, Kind, Shown, painted

LOST = "# without a head, or in a cycle:"
_Branch = tuple[int, str]  # a word's number, and the lines that lead to it


def draw(shown: Shown, width: int, colour: bool) -> Iterator[str]:
    """The lines of a drawing: number, word under its head, tag, relation, what is wrong with it.

    Words that no path leads to from the root come last, under a line that says so; a cycle
    begins with its first word. Indentation takes half the width at most.
    """
    rooted, lost = _branches(shown.sentence.head, width // 2)
    rows = [_row(shown, word, lines) for word, lines in (*rooted, *lost)]
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    widths[1] = min(widths[1], width // 2)
    for place, ((word, _), row) in enumerate(zip((*rooted, *lost), rows, strict=True)):
        if place == len(rooted):
            yield LOST
        kinds: tuple[Kind, ...] = ("plain", "plain", "plain", shown.kind(word), "wrong")
        cells = [
            painted(text, kind, colour) + " " * (size - cell_width(text))
            for text, kind, size in zip(row, kinds, widths, strict=True)
            if size
        ]
        yield "  ".join(cells).rstrip()


def _row(shown: Shown, word: int, lines: str) -> tuple[str, ...]:
    """The cells of a word's line: number, form in its tree, tag, relation, mistake."""
    head, relation = shown.sentence.head[word - 1], visible(shown.sentence.deprel[word - 1])
    number = f"{word:{len(str(len(shown.forms)))}}"
    if head > 0 and lines[:1] in ("", "…"):  # where a cycle or the way to the head is cut
        relation += _from(shown, head)
    mistake = _mistake(shown, word) if word in shown.wrong else ""
    return number, lines + shown.forms[word - 1], shown.tags[word - 1], relation, mistake


def _mistake(shown: Shown, word: int) -> str:
    """What the predicted tree has for a wrong word: its relation, and a wrong head."""
    assert shown.predicted is not None
    head, relation = shown.predicted.head[word - 1], visible(shown.predicted.deprel[word - 1])
    if head == shown.sentence.head[word - 1]:
        return f"{WRONG} {relation}"
    return f"{WRONG} {relation}{_from(shown, head)}" if head >= 0 else f"{WRONG} headless"


def _from(shown: Shown, head: int) -> str:
    return f" ← {head} {shown.forms[head - 1]}" if head else " ← 0"


def _branches(head: Sequence[int], limit: int) -> tuple[list[_Branch], list[_Branch]]:
    """All words below the root, and all others, in the order of the drawing."""
    dependents: list[list[int]] = [[] for _ in range(len(head) + 1)]
    for word, above in enumerate(head, start=1):
        if above >= 0:
            dependents[above].append(word)
    rooted = [branch for top in dependents[0] for branch in _below(top, dependents, limit)]
    found = {word for word, _ in rooted}
    lost = []
    for word in range(1, len(head) + 1):
        if word not in found:
            top = _top(word, head)
            if head[top - 1] > 0:  # here the cycle is cut
                dependents[head[top - 1]].remove(top)
            branches = list(_below(top, dependents, limit))
            found.update(below for below, _ in branches)
            lost += branches
    return rooted, lost


def _below(top: int, dependents: Sequence[Sequence[int]], limit: int) -> Iterator[_Branch]:
    """A word and all below it, each head before its dependents."""
    stack = [(top, "", "")]
    while stack:
        word, before, under = stack.pop()
        yield word, before
        last = len(stack)
        for dependent in reversed(dependents[word]):
            turn, further = ("├─ ", "│  ") if len(stack) > last else ("└─ ", "   ")
            stack.append((dependent, _cut(under + turn, limit), _cut(under + further, limit)))


def _cut(lines: str, limit: int) -> str:
    """The end of the lines that lead to a word, if they are too many."""
    return lines if len(lines) <= limit else "…" + lines[1 - limit :]


def _top(word: int, head: Sequence[int]) -> int:
    """What is above a word that is not under the root: one without a head, or its cycle's first."""
    path: dict[int, None] = {}
    while word not in path:
        if head[word - 1] < 0:
            return word
        path[word] = None
        word = head[word - 1]
    walked = list(path)
    return min(walked[walked.index(word) :])
