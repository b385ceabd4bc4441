"""Head children by rules: which child of a constituent contains its head word."""

from collections.abc import Mapping

from depkit.convert.constituents import Node
from depkit.convert.patterns import Test, compile_pattern

HeadRule = tuple[bool, Test]  # whether the children are searched from the left; the child's pattern


class HeadRules:
    """The head rules for one kind of dependencies.

    Args:
        text: The table, rules/heads.txt.
        kind: One of relations.KINDS. A line that begins with sd or ud2 is for this kind only, one
            that begins with ud for ud and ud2.
        definitions: The named patterns.

    Raises:
        ValueError: A line is not a rule.
    """

    def __init__(self, text: str, kind: str, definitions: Mapping[str, Test]) -> None:
        self.rules: dict[str, list[HeadRule]] = {}
        for line in text.splitlines():
            names, sign, rule = line.partition(": ")
            if not line or line.startswith("# "):
                continue
            direction, _, pattern = rule.partition(" ")
            *kinds, labels = names.split()
            is_known = kinds in ([], ["sd"], ["ud"], ["ud2"])
            if not sign or direction not in ("first", "last") or not is_known:
                raise ValueError(f"not a head rule: {line}")
            if kinds in ([], [kind], [kind[:2]]):
                head_rule = direction == "first", compile_pattern(pattern, definitions)
                for label in labels.split("|"):
                    self.rules.setdefault(label, []).append(head_rule)
        self.default = self.rules.pop("*")
        for rules in self.rules.values():
            rules.extend(self.default)

    def find_head_child(self, node: Node) -> Node:
        """Return the head child of a constituent; the heads of the constituents in it are set."""
        children = node.children
        if len(children) == 1:
            return children[0]
        for from_left, test in self.rules.get(node.label, self.default):
            for child in children if from_left else reversed(children):
                if test(child):
                    return child
        return children[0]
