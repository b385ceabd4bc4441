"""Constituency trees as labelled spans, where a chain of unary constituents is one span."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from depkit.corpus.tree import Tree


class Span(NamedTuple):
    """The words from `start` to `end` - 1, which form a constituent.

    labels: the labels of a maximal chain of unary constituents from the outermost to the innermost.
    The tags of words are never part of a chain. No labels (the empty label of Kitaev and Klein,
    2018) stand for a node that exists only because a tree was made binary.
    """

    start: int
    end: int
    labels: tuple[str, ...]


def tree_to_spans(tree: Tree) -> list[Span]:
    """Return the spans of a tree's constituents, parents before their children, left to right."""
    spans: list[Span] = []
    position = 0  # the number of words so far
    stack: list[Tree | int] = [tree]  # an integer is the index of a span that ends here
    while stack:
        node = stack.pop()
        if isinstance(node, int):
            spans[node] = spans[node]._replace(end=position)
        elif not node.children:
            position += 1
        else:
            labels = [node.name]
            while len(node.children) == 1 and node.children[0].children:
                node = node.children[0]
                labels.append(node.name)
            stack.append(len(spans))
            spans.append(Span(position, position, tuple(labels)))
            stack.extend(reversed(node.children))
    return spans


def spans_to_tree(spans: Iterable[Span], words: Sequence[Tree]) -> Tree:
    """Build the tree with these spans over words; the inverse of `tree_to_spans`.

    Args:
        spans: The spans, parents before their children, from left to right. The children of a span
            without labels become children of the span around it.
        words: The words with their tags.

    Raises:
        ValueError: The spans do not form a tree, or the first span has no labels.
    """
    top: list[Tree] = []
    # The spans around the current position, with their children. A span without labels shares the
    # list of children with the span around it.
    stack: list[tuple[Span, list[Tree]]] = [(Span(0, len(words), ()), top)]
    position = 0

    def close_span() -> int:
        span, children = stack.pop()
        children.extend(words[position : span.end])
        if span.labels:
            tree = Tree(span.labels[-1], children)
            for label in reversed(span.labels[:-1]):
                tree = Tree(label, [tree])
            stack[-1][1].append(tree)
        return span.end

    for span in spans:
        while len(stack) > 1 and stack[-1][0].end <= span.start:
            position = close_span()
        outer, siblings = stack[-1]
        if not position <= span.start < span.end <= outer.end:
            raise ValueError(
                f"the span from {span.start} to {span.end} is not within the one before"
            )
        siblings.extend(words[position : span.start])
        position = span.start
        stack.append((span, [] if span.labels else siblings))
    while len(stack) > 1:
        position = close_span()
    top.extend(words[position:])
    if len(top) != 1 or not top[0].children:
        raise ValueError("the first span must cover all words and have labels")
    return top[0]
