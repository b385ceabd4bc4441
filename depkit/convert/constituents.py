"""Constituents with their heads: what is seen of a tree around a word, in few strings."""

from collections.abc import Iterator
from functools import lru_cache

from depkit.convert.lexicon import closed
from depkit.corpus.tree import Tree

# The only function tags that bear on the dependencies: times, and adverbial phrases.
TOLD = {"TMP": "T", "ADV": "A"}
PUNCTUATION = {",", ":", ".", "``", "''", "-LRB-", "-RRB-"}
IDLE = PUNCTUATION | {"POS"}  # never the head, never what a conjunction joins
_VERBAL = ("VB", "MD", "TO")
_GROUPING = {"be", "have", "do", "get", "become"}  # verbs that a verb group tells apart


class Node:
    """A constituent or a word, for which its head child is or will be known.

    told: its function tags in short; place: among its parent's children; head: its head word;
    head_kid: the child that has the head word, the node itself for a word; index: a word's,
    0-based; name: a word's name among the closed classes.
    """

    __slots__ = (
        "label", "told", "kids", "parent", "place", "head", "head_kid", "index", "name",
    )  # fmt: skip

    def __init__(self, label: str, told: str, parent: "Node | None", place: int) -> None:
        self.label = label
        self.told = told
        self.parent = parent
        self.place = place
        self.kids: list[Node] = []
        self.head: Node = self
        self.head_kid: Node = self
        self.index = -1
        self.name = ""


def constituents(tree: Tree) -> tuple[list[Node], list[Node]]:
    """A tree's constituents, children before their parents, and its words in order."""
    order: list[Node] = []
    words: list[Node] = []
    agenda = [(tree, Node(tree.label, "", None, 0))]
    while agenda:
        tree, node = agenda.pop()
        if tree.children:
            order.append(node)
            for place, child in enumerate(tree.children):
                told = ""
                if child.functions:
                    told = "".join([TOLD.get(function, "") for function in child.functions])
                kid = Node(child.label, told, node, place)
                node.kids.append(kid)
                agenda.append((child, kid))
        else:
            node.name = closed(tree.word)
            words.append(node)
    order.reverse()
    words.reverse()
    for index, word in enumerate(words):
        word.index = index
    return order, words


def coarse(label: str) -> str:
    """A label without what seldom matters: NNS and NNP are N, VBZ is V; VBG and VBN stay."""
    return _COARSE.get(label, label)


_COARSE = {
    "NN": "N", "NNS": "N", "NNP": "N", "NNPS": "N", "JJ": "J", "JJR": "J", "JJS": "J",
    "RB": "R", "RBR": "R", "RBS": "R", "VB": "V", "VBD": "V", "VBP": "V", "VBZ": "V",
    "NX": "NP", "WP": "WDT",
}  # fmt: skip


def shape(node: Node) -> str:
    """The labels of the children in order; a word's name or tag."""
    if not node.kids:
        return node.name or node.label
    return " ".join([kid.label for kid in node.kids[:9]])


def kinds(node: Node) -> str:
    """Which labels, coarsely, the children have, punctuation apart."""
    return _kinds(tuple([kid.label for kid in node.kids]))


@lru_cache(maxsize=1 << 14)
def _kinds(labels: tuple[str, ...]) -> str:
    return " ".join(sorted({coarse(label) for label in labels if label not in PUNCTUATION}))


def verbs(node: Node) -> str:
    """The verb group on the way down to the head word: `have be VBN` for `had been seen`."""
    group = []
    while node.kids:
        for kid in node.kids:
            if kid is node.head_kid:
                break
            if not kid.kids and kid.label[:2] in _VERBAL:
                group.append(kid.name if kid.name in _GROUPING else kid.label)
        node = node.head_kid
    return " ".join([*group[-4:], node.label])


def spine(node: Node) -> str:
    """The labels on the way down to the head word: `SBAR>S>VP>VBD`."""
    labels = [node.label]
    while node.kids and len(labels) < 6:
        node = node.head_kid
        if node.label != labels[-1]:
            labels.append(node.label)
    return ">".join(labels)


def first_verb(node: Node) -> str:
    """The name and tag of the first verb among the children, "" if there is none."""
    for kid in node.kids:
        if not kid.kids and kid.label[:2] in _VERBAL:
            return kid.name + "/" + kid.label
    return ""


def subject(node: Node) -> str:
    """The tag of what stands as a verb phrase's subject, EX for `there`; or what is before it."""
    while node.parent and node.label == node.parent.label == "VP":
        node = node.parent
    parent = node.parent
    for kid in reversed(parent.kids[: node.place] if parent and node.label == "VP" else node.kids):
        if kid.label == "NP":
            return kid.head.label
    if parent and parent.parent and parent.place:
        return parent.parent.kids[parent.place - 1].label
    return ""


def phrases(node: Node) -> Iterator[Node]:
    """The children that are no words."""
    return (kid for kid in node.kids if kid.kids)
