"""Constituents with their head words, as the rules see them."""

from depkit.convert.lexicon import closed_class
from depkit.corpus.tree import Tree

# The function tags that matter: times, adverbial phrases and vocatives.
FUNCTION_TAGS = {"TMP": "T", "ADV": "A", "VOC": "V"}
PUNCTUATION = {",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"}
NEVER_CONJUNCT = PUNCTUATION | {"POS"}  # these are neither heads nor conjuncts
# The rules look at this many siblings or children at most, so that the time does not grow with the
# square of the size of a constituent. Constituents of natural sentences are far smaller.
REACH = 500


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
