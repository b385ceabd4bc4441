"""Relations by rules: which sibling each child of a constituent depends on, and how."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from depkit.convert.constituents import Node
from depkit.convert.patterns import Path, Test, compile_path, compile_pattern, label_test

KINDS = ("sd", "ud", "ud2")


class Relation(NamedTuple):
    """A rule of the table in rules/relations.txt, where its parts are described."""

    names: list[str]  # the relation in each of KINDS; "" if the rule is not of this kind
    child: Test  # of a child's label, true for all children that match the pattern
    parent: Test  # of a parent's label
    pattern: Test  # the conditions on the child
    governor: Path | None  # the way to the governor; None for the parent's head child
    line: str  # the rule as it is written
    description: str
    example: str


class RelationRules:
    """The rules for one kind of dependencies, arranged by the labels of child and parent."""

    def __init__(self, rules: Iterable[Relation], kind: str) -> None:
        index = KINDS.index(kind)
        self.rules = [(rule.names[index], rule) for rule in rules if rule.names[index]]
        self._selected: dict[tuple[str, str], list[tuple[str, Relation]]] = {}

    def decide(self, child: Node, parent: Node) -> tuple[str, Node, Relation | None]:
        """Decide how a child that is not its parent's head child depends on another node.

        Returns:
            The relation, the governor, whose head word is not the child's, and the rule; None if no
            rule applies.
        """
        key = child.label, parent.label
        selected = self._selected.get(key)
        if selected is None:
            selected = [
                (name, rule)
                for name, rule in self.rules
                if rule.child(child) and rule.parent(parent)
            ]
            self._selected[key] = selected
        for name, rule in selected:
            if rule.pattern(child):
                governor = parent.head_child if rule.governor is None else rule.governor(child)
                if governor is not None and governor.head is not child.head:
                    return name, governor, rule
        return "dep", parent.head_child, None


def parse_relations(text: str, definitions: Mapping[str, Test]) -> list[Relation]:
    """Parse a table of rules; raises ValueError for what is not a rule."""
    lines = [
        line for line in text.splitlines() if line and not line.startswith("# ") and line != "#"
    ]
    rules = []
    for line, description, example in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        names, _, pattern = line.partition(": ")
        names, _, path = names.partition(" of ")
        kinds = names.split("/")
        labels, _, conditions = pattern.partition(", ")
        child, _, parent = labels.partition(" in ")
        if line[0] == " " or not parent or description[:2] != "  " or " < " not in example:
            raise ValueError(f"not a rule with a description and an example: {line}")
        rules.append(
            Relation(
                [name.strip("-") for name in kinds + kinds[-1:] * (len(KINDS) - len(kinds))],
                label_test(child, definitions),
                label_test(parent, definitions),
                compile_pattern(f"{child}, {conditions}" if conditions else child, definitions),
                compile_path(path, definitions) if path else None,
                line,
                description.strip(),
                example.strip(),
            )
        )
    return rules
