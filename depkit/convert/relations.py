"""Relations by rules: which sibling each child of a constituent depends on, and how."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from depkit.convert.constituents import Node
from depkit.convert.patterns import Path, Test, compile_path, compile_pattern, label_test

KINDS = ("sd", "ud")


class Relation(NamedTuple):
    """A rule: the relation of the children that match a pattern."""

    names: tuple[str, str]  # Stanford and Universal Dependencies; "" if the rule is not of the kind
    child: Test  # of the child's label
    parent: Test  # of its parent's label
    pattern: Test  # all other conditions
    governor: Path | None  # the way to the governor; None for the parent's head child
    text: str
    description: str = ""
    example: str = ""


class RelationRules:
    """The rules for one kind of dependencies, by the labels of a child and of its parent."""

    def __init__(self, rules: Iterable[Relation], kind: str) -> None:
        index = KINDS.index(kind)
        self.rules = [(rule.names[index], rule) for rule in rules if rule.names[index]]
        self._selected: dict[tuple[str, str], list[tuple[str, Test, Path | None]]] = {}

    def decide(self, child: Node, parent: Node) -> tuple[str, Node]:
        """Return the relation of a child that is not its parent's head child, and its governor."""
        key = child.label, parent.label
        selected = self._selected.get(key)
        if selected is None:
            selected = self._selected[key] = [
                (name, rule.pattern, rule.governor)
                for name, rule in self.rules
                if rule.child(child) and rule.parent(parent)
            ]
        for name, pattern, governor in selected:
            if pattern(child):
                if governor is None:
                    return name, parent.head_child
                node = governor(child)
                if node is not None and node.head is not child.head:
                    return name, node
        return "dep", parent.head_child


def parse_relations(text: str, definitions: Mapping[str, Test]) -> list[Relation]:
    """Parse a table of rules; raises ValueError for a line that is not a rule."""
    rules = []
    for line in text.splitlines():
        if not line or line[0] in " #":
            continue
        names, _, pattern = line.partition(": ")
        names, _, path = names.partition(" of ")
        sd, _, ud = names.partition("/")
        ud = ud or sd
        labels, _, conditions = pattern.strip().partition(", ")
        child, _, parent = labels.partition(" in ")
        rules.append(
            Relation(
                ("" if sd == "-" else sd, "" if ud == "-" else ud),
                label_test(child, definitions),
                label_test(parent, definitions),
                compile_pattern(", ".join(filter(None, (child, conditions))), definitions),
                compile_path(path, definitions) if path else None,
                line,
            )
        )
    return rules
