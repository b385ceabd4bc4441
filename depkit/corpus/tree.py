"""Constituency trees, whose nodes have a label and either children or a word."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

_LABEL = re.compile(r"(-[^-=]+-|[^-=]+)((?:[-=][^-=]+)*)")  # splits S-TPC-1 and NP=2, but not -LRB-
_ESCAPED = re.compile(r"\\([/*])")


class Tree:
    """A constituency tree or one of its nodes: a constituent, or a word with its POS tag.

    Trees should not be modified.

    Attributes:
        name: The full label, such as `NP-SBJ-1` or `NC##g=m|n=s##`.
        children: The children in order; empty for a word.
        word: The word as it is written in its file; "" for a constituent.
        line: The number of the line on which the node begins in its file; 0 if it was not read
            from a file.
        text: The text of a whole tree that was read from a single line; "" for all other nodes.
        wrapper: The label of the outer bracket that `cleaning.clean_tree` removed from this tree,
            which can be ""; None if it removed none.
        source: The text of a whole tree that was read from a file, which can have several lines and
            also what `cleaning.clean_tree` removed; a line that begins with a bracket is joined to
            the one before it. "" for all other nodes.
    """

    __slots__ = ("name", "children", "word", "line", "text", "wrapper", "source")

    def __init__(
        self,
        name: str,
        children: Sequence["Tree"] = (),
        word: str = "",
        line: int = 0,
        *,
        text: str = "",
        wrapper: str | None = None,
        source: str = "",
    ) -> None:
        self.name = name
        self.children = children
        self.word = word
        self.line = line
        self.text = text
        self.wrapper = wrapper
        self.source = source

    def __str__(self) -> str:
        """Return the text of the tree as it was read, or else as `write_tree` writes it."""
        return self.text or write_tree(self)

    @property
    def label(self) -> str:
        """The category without function tags, co-indices and features, such as `NP`."""
        return split_label(self.name)[0]

    @property
    def functions(self) -> tuple[str, ...]:
        """The function tags without co-indices, such as (`SBJ`,)."""
        return split_label(self.name)[1]

    @property
    def form(self) -> str:
        r"""The word without the escapes of treebanks: `1/2` for `1\/2`."""
        return _ESCAPED.sub(r"\1", self.word) if "\\" in self.word else self.word

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a flat list, because a tree can be deeper than pickle's recursion allows."""
        nodes = [(x.name, len(x.children), x.word, x.line) for x in self.nodes()]
        return tree_from_nodes, (nodes, self.text, self.wrapper, self.source)

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


def tree_from_nodes(
    nodes: Sequence[tuple[str, int, str, int]],
    text: str = "",
    wrapper: str | None = None,
    source: str = "",
) -> Tree:
    """Build a tree from its nodes.

    Args:
        nodes: The name, number of children, word and line of each node, in the order of
            `Tree.nodes()`.
        text: The attribute `text` of the tree.
        wrapper: The attribute `wrapper` of the tree.
        source: The attribute `source` of the tree.
    """
    trees: list[Tree] = []  # a stack of subtrees whose parent has not been built yet
    for name, num_children, word, line in reversed(nodes):
        # In this order, the children of a node are built before it, from left to right.
        first_child = len(trees) - num_children
        trees[first_child:] = [Tree(name, trees[first_child:], word, line)]
    trees[0].text = text
    trees[0].wrapper = wrapper
    trees[0].source = source
    return trees[0]


@lru_cache(maxsize=1 << 14)
def split_label(name: str) -> tuple[str, tuple[str, ...]]:
    """Split a label: `NP-LOC-PRD-3` is ("NP", ("LOC", "PRD")); `-LRB-` is not split.

    Features after `#`, as in the treebanks of SPMRL, belong neither to the category nor to the
    functions; a label that begins with `#` is a tag of the Penn Treebank.
    """
    name, _, _ = name.partition("#") if name[:1] != "#" else (name, "", "")
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
        elif item.word:
            parts.append(f" ({item.name} {item.word})")
        else:
            parts.append(f" ({item.name}")
            stack.append(")")
            stack.extend(reversed(item.children))
    return "".join(parts).removeprefix(" ")


def escape_form(form: str) -> str:
    """Write a form as a word of a tree: `/` and `*` are escaped, and `(` becomes `-LRB-`."""
    return escape_brackets(form.replace("/", r"\/").replace("*", r"\*"))


def escape_brackets(text: str) -> str:
    """Write the brackets of a form or a tag as -LRB- and -RRB-."""
    return text.replace("(", "-LRB-").replace(")", "-RRB-")
