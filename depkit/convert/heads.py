"""Head children by rules: for each category, which child contains its head word."""

from collections.abc import Mapping
from functools import cache

from depkit.convert.constituents import Node
from depkit.convert.patterns import Test, compile_pattern

HeadRule = tuple[bool, Test]  # whether children are searched from the left; the child's pattern


class HeadRules:
    """The head rules of one kind of dependencies.

    Args:
        text: The table, as in `head_table`.
        kind: sd or ud: lines that begin with the other are not used.
        definitions: The named patterns.
    """

    def __init__(self, text: str, kind: str, definitions: Mapping[str, Test]) -> None:
        self.rules: dict[str, list[HeadRule]] = {}
        for line in text.splitlines():
            names, _, rule = line.partition(": ")
            if not rule:
                continue
            *kinds, labels = names.split()
            if kinds and kinds != [kind]:
                continue
            direction, pattern = rule.strip().split(" ", 1)
            compiled = direction == "first", compile_pattern(pattern.strip(), definitions)
            for label in labels.split("|"):
                self.rules.setdefault(label, []).append(compiled)
        self.default = self.rules.pop("*")
        for rules in self.rules.values():
            rules.extend(self.default)

    def head_child(self, node: Node) -> Node:
        """Return the head child of a constituent, whose children's heads are known."""
        children = node.children
        if len(children) == 1:
            return children[0]
        for from_left, test in self.rules.get(node.label, self.default):
            for child in children if from_left else reversed(children):
                if test(child):
                    return child
        return children[0]
