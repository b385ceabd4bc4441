"""Constituents with their head words, and short descriptions of them for the feature templates."""

from collections.abc import Iterator
from functools import lru_cache

from depkit.convert.lexicon import closed_class
from depkit.corpus.tree import Tree

# The only function tags that the models use: times and adverbial phrases.
FUNCTION_TAGS = {"TMP": "T", "ADV": "A"}
PUNCTUATION = {",", ":", ".", "``", "''", "-LRB-", "-RRB-"}
NEVER_CONJUNCT = PUNCTUATION | {"POS"}  # these are neither heads nor conjuncts
_VERBAL = ("VB", "MD", "TO")
_AUXILIARIES = {"be", "have", "do", "get", "become"}  # verb groups contain their names, not tags


class Node:
    """A constituent or a word; its head child is set once it is known."""

    __slots__ = (
        "label",
        "function_tags",  # one letter for each tag in FUNCTION_TAGS
        "children",  # empty for a word
        "parent",
        "child_index",  # the node's index among its parent's children
        "head",  # the head word; the node itself for a word
        "head_child",  # the child that contains the head word; the node itself for a word
        "word_index",  # 0-based position in the sentence; -1 for a constituent
        "closed_class",  # as in `lexicon.closed_class`; "" for constituents
    )

    def __init__(
        self, label: str, function_tags: str, parent: "Node | None", child_index: int
    ) -> None:
        self.label = label
        self.function_tags = function_tags
        self.parent = parent
        self.child_index = child_index
        self.children: list[Node] = []
        self.head: Node = self
        self.head_child: Node = self
        self.word_index = -1
        self.closed_class = ""


def build_nodes(tree: Tree) -> tuple[list[Node], list[Node]]:
    """Return the constituents of a tree, children before their parents, and its words in order."""
    constituents: list[Node] = []
    words: list[Node] = []
    stack = [(tree, Node(tree.label, "", None, 0))]
    while stack:
        tree, node = stack.pop()
        if tree.children:
            constituents.append(node)
            for index, subtree in enumerate(tree.children):
                tags = ""
                if subtree.functions:
                    tags = "".join([FUNCTION_TAGS.get(tag, "") for tag in subtree.functions])
                child = Node(subtree.label, tags, node, index)
                node.children.append(child)
                stack.append((subtree, child))
        else:
            node.closed_class = closed_class(tree.form)
            words.append(node)
    constituents.reverse()
    words.reverse()
    for index, word in enumerate(words):
        word.word_index = index
    return constituents, words


def coarse_label(label: str) -> str:
    """Return a label without distinctions that seldom matter.

    NNS and NNP become N, VBZ becomes V; VBG and VBN stay.
    """
    return _COARSE_LABELS.get(label, label)


_COARSE_LABELS = {
    "NN": "N", "NNS": "N", "NNP": "N", "NNPS": "N", "JJ": "J", "JJR": "J", "JJS": "J",
    "RB": "R", "RBR": "R", "RBS": "R", "VB": "V", "VBD": "V", "VBP": "V", "VBZ": "V",
    "NX": "NP", "WP": "WDT",
}  # fmt: skip


def child_labels(node: Node) -> str:
    """Return the labels of the first nine children; for a word, its closed class or tag."""
    if not node.children:
        return node.closed_class or node.label
    return " ".join([child.label for child in node.children[:9]])


def child_categories(node: Node) -> str:
    """Return the sorted set of the children's coarse labels, except punctuation."""
    return _sorted_categories(tuple([child.label for child in node.children]))


@lru_cache(maxsize=1 << 14)
def _sorted_categories(labels: tuple[str, ...]) -> str:
    return " ".join(sorted({coarse_label(label) for label in labels if label not in PUNCTUATION}))


def verb_group(node: Node) -> str:
    """Return the verbs on the path to the head word: `have be VBN` for `had been seen`."""
    verbs = []
    while node.children:
        for child in node.children:
            if child is node.head_child:
                break
            if not child.children and child.label[:2] in _VERBAL:
                name = child.closed_class
                verbs.append(name if name in _AUXILIARIES else child.label)
        node = node.head_child
    return " ".join([*verbs[-4:], node.label])


def head_path(node: Node) -> str:
    """Return the labels on the path to the head word: `SBAR>S>VP>VBD`."""
    labels = [node.label]
    while node.children and len(labels) < 6:
        node = node.head_child
        if node.label != labels[-1]:
            labels.append(node.label)
    return ">".join(labels)


def first_verb(node: Node) -> str:
    """Return the closed class and tag of the first verb among the children, or ""."""
    for child in node.children:
        if not child.children and child.label[:2] in _VERBAL:
            return child.closed_class + "/" + child.label
    return ""


def subject_tag(node: Node) -> str:
    """Return the tag of the head word of a verb phrase's subject, for example EX for `there`.

    The subject is the last NP before the verb phrase; for a `node` that is not a verb phrase, it is
    the last NP among its children. If there is no such NP, return the label of the
    constituent before the parent (of a verb phrase, the clause), or "" if there is none.
    """
    while node.parent and node.label == node.parent.label == "VP":
        node = node.parent
    parent = node.parent
    preceding = node.children
    if parent and node.label == "VP":
        preceding = parent.children[: node.child_index]
    for child in reversed(preceding):
        if child.label == "NP":
            return child.head.label
    if parent and parent.parent and parent.child_index:
        return parent.parent.children[parent.child_index - 1].label
    return ""


def phrase_children(node: Node) -> Iterator[Node]:
    """Return the children that are constituents rather than words."""
    return (child for child in node.children if child.children)
