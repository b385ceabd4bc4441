"""Constituent trees: a label and children, or a word."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_LABEL = re.compile(r"(-[^-=]+-|[^-=]+)((?:[-=][^-=]+)*)")  # -LRB- is whole; S-TPC-1, NP=2


class Tree:
    """A constituent, or a word with its tag.

    name: the label as written (`NP-SBJ-1`); label: the category alone (`NP`); functions: the
    function tags (`SBJ`,), without co-indices; children: the constituents, in order, empty for
    a word; word: the form, "" for a constituent; line: where it begins in its file, 0 if
    nowhere. Immutable by habit.
    """

    __slots__ = ("name", "label", "functions", "children", "word", "line")

    def __init__(
        self, name: str, children: Sequence["Tree"] = (), word: str = "", line: int = 0
    ) -> None:
        self.name = name
        self.label, self.functions = split_label(name)
        self.children = children
        self.word = word
        self.line = line

    def __str__(self) -> str:
        return write_tree(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a flat list: a tree can be deeper than pickle can go."""
        return tree_of_nodes, ([(x.name, len(x.children), x.word, x.line) for x in self.nodes()],)

    def nodes(self) -> list["Tree"]:
        """The tree and all below it: parents before their children, from right to left."""
        nodes, agenda = [], [self]
        while agenda:
            nodes.append(agenda.pop())
            agenda.extend(nodes[-1].children)
        return nodes

    def leaves(self) -> list["Tree"]:
        """The words, in order."""
        return [node for node in reversed(self.nodes()) if not node.children]


def tree_of_nodes(nodes: Sequence[tuple[str, int, str, int]]) -> Tree:
    """The tree of nodes in the order of `Tree.nodes`: name, number of children, word, line."""
    made: list[Tree] = []
    for name, size, word, line in reversed(nodes):
        first = len(made) - size
        made[first:] = [Tree(name, made[first:], word, line)]
    return made[0]


@lru_cache(maxsize=1 << 14)
def split_label(name: str) -> tuple[str, tuple[str, ...]]:
    """A label and its function tags: `NP-LOC-PRD-3` is NP with LOC and PRD; `-LRB-` is whole."""
    match = _LABEL.fullmatch(name)
    if not match:
        return name, ()
    pieces = re.split("[-=]", match[2])[1:]
    return match[1], tuple(piece for piece in pieces if not piece.isdigit())


def write_tree(tree: Tree) -> str:
    """A tree in one line, without a line end: `(S (NP (NN rain)) (VP (VBZ falls)))`."""
    pieces: list[str] = []
    agenda: list[Tree | str] = [tree]
    while agenda:
        item = agenda.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif item.children:
            pieces.append(f" ({item.name}")
            agenda.append(")")
            agenda.extend(reversed(item.children))
        else:
            word = item.word.replace("/", r"\/").replace("*", r"\*")
            word = word.replace("(", "-LRB-").replace(")", "-RRB-")
            pieces.append(f" ({item.name} {word})")
    return "".join(pieces)[1:]
