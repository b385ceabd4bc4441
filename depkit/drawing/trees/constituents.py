"""The nodes of constituency trees, and which of them two trees do not share."""

from collections import Counter
from typing import NamedTuple

from depkit.corpus.tree import Tree
from depkit.drawing.trees.cells import make_visible
from depkit.drawing.trees.kinds import Kind


class Node(NamedTuple):
    """A constituent, or a word with its tag.

    start, end: its first word, from 0, and the word after its last one; parent: the index of its
    parent, -1 for none; word: the form of a word, "" for a constituent; kind: "missed" if the
    predicted tree has no equal constituent.
    """

    label: str
    start: int
    end: int
    parent: int
    word: str
    kind: Kind = "plain"


def make_nodes(tree: Tree, predicted: Tree | None = None) -> tuple[list[Node], list[Node]]:
    """Return the nodes of a tree, and the constituents of a predicted tree that it does not have.

    Both are in the order of opening brackets, with texts that are safe to print. Tags are not
    compared.
    """
    nodes = _list_nodes(tree)
    if predicted is None:
        return nodes, []
    predicted_nodes = [node for node in _list_nodes(predicted) if not node.word]
    unmatched = Counter(node[:3] for node in predicted_nodes)
    for i, node in enumerate(nodes):
        if not node.word:
            if not unmatched[node[:3]]:
                nodes[i] = node._replace(kind="missed")
            unmatched[node[:3]] -= 1
    # Of several equal constituents, the innermost ones are the wrong ones.
    wrong = []
    for node in reversed(predicted_nodes):
        if unmatched[node[:3]] > 0:
            unmatched[node[:3]] -= 1
            wrong.append(node._replace(kind="wrong"))
    return nodes, wrong[::-1]


def _list_nodes(tree: Tree) -> list[Node]:
    nodes: list[Node] = []
    position = 0  # the number of words so far
    stack: list[tuple[Tree, int] | int] = [(tree, -1)]  # an integer is a constituent that ends here
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            nodes[item] = nodes[item]._replace(end=position)
            continue
        subtree, parent = item
        label, index = make_visible(subtree.name), len(nodes)
        if subtree.word:
            word = make_visible(subtree.form)
            nodes.append(Node(label, position, position + 1, parent, word))
            position += 1
        else:
            nodes.append(Node(label, position, position, parent, ""))
            stack.append(index)
            stack.extend((child, index) for child in reversed(subtree.children))
    return nodes
