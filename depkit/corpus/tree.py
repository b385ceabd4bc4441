"""Constituency trees, whose nodes have a label and either children or a word."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_LABEL = re.compile(r"(-[^-=]+-|[^-=]+)((?:[-=][^-=]+)*)")  # splits S-TPC-1 and NP=2, but not -LRB-


class Tree:
    """A constituency tree or one of its nodes: a constituent, or a word with its POS tag.

    Trees should not be modified.

    Attributes:
        name: The full label, such as `NP-SBJ-1`.
        label: The category without function tags and co-indices, such as `NP`.
        functions: The function tags without co-indices, such as (`SBJ`,).
        children: The children in order; empty for a word.
        word: The form; "" for a constituent.
        line: The number of the line on which the node begins in its file; 0 if it was not read
            from a file.
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
        """Pickle a flat list, because a tree can be deeper than pickle's recursion allows."""
        return tree_from_nodes, ([(x.name, len(x.children), x.word, x.line) for x in self.nodes()],)

    def nodes(self) -> list["Tree"]:
        """Return all nodes: parents before their children, siblings from right to left."""
        nodes, stack = [], [self]
        while stack:
            nodes.append(stack.pop())
            stack.extend(nodes[-1].children)
        return nodes

    def leaves(self) -> list["Tree"]:
        """Return the words in order."""
        return [node for node in reversed(self.nodes()) if not node.children]


def tree_from_nodes(nodes: Sequence[tuple[str, int, str, int]]) -> Tree:
    """Build a tree from its nodes.

    nodes: the name, number of children, word and line of each node, in the order of `Tree.nodes()`.
    """
    trees: list[Tree] = []  # a stack of subtrees whose parent has not been built yet
    for name, num_children, word, line in reversed(nodes):
        # In this order, the children of a node are built before it, from left to right.
        first_child = len(trees) - num_children
        trees[first_child:] = [Tree(name, trees[first_child:], word, line)]
    return trees[0]


@lru_cache(maxsize=1 << 14)
def split_label(name: str) -> tuple[str, tuple[str, ...]]:
    """Split a label: `NP-LOC-PRD-3` is ("NP", ("LOC", "PRD")); `-LRB-` is not split."""
    match = _LABEL.fullmatch(name)
    if not match:
        return name, ()
    parts = re.split("[-=]", match[2])[1:]
    return match[1], tuple(part for part in parts if not part.isdigit())


def write_tree(tree: Tree) -> str:
    """Write a tree as one line without a line end: `(S (NP (NN rain)) (VP (VBZ falls)))`."""
    parts: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item.children:
            parts.append(f" ({item.name}")
            stack.append(")")
            stack.extend(reversed(item.children))
        else:
            # Treebanks in this format escape these characters.
            word = item.word.replace("/", r"\/").replace("*", r"\*")
            word = word.replace("(", "-LRB-").replace(")", "-RRB-")
            parts.append(f" ({item.name} {word})")
    return "".join(parts).removeprefix(" ")
