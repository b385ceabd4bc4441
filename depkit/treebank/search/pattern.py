"""A pattern as data: what `pattern_parser` makes of its text and `matcher` matches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from depkit.treebank.search.conditions import Condition, LabelCondition
from depkit.treebank.search.graph import Graph

# The conditions on the features of a node, all of which must hold
Conjunction = Sequence[tuple[str, Condition]]


class PatternError(ValueError):
    """A pattern, or a rule, is not valid; `line` and `column` say where, both from 1."""

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(line, column, message)
        self.line = line
        self.column = column
        self.message = message

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True)
class EdgePattern:
    """An edge between two nodes, which are named; `name` is "" for an edge without a name."""

    name: str
    source: str
    target: str
    label: LabelCondition


@dataclass(frozen=True)
class Constraint:
    """A constraint on nodes and edges.

    Attributes:
        names: The names of the nodes and edges.
        holds: A function of the graph and, for each name, of the position of the node or the edge.
        is_adjacency: Whether it says that the second node follows the first one immediately.
        is_path: Whether it depends on edges between other nodes, too.
        features: The nodes and the names of the features on which it depends.
    """

    names: tuple[str, ...]
    holds: Callable[..., bool]
    is_adjacency: bool = False
    is_path: bool = False
    features: Sequence[tuple[str, str]] = ()


@dataclass
class Block:
    """The content of a block `pattern`, `with` or `without`.

    Attributes:
        nodes: For each node by its name, the conditions on it, all of which must hold. Each is a
            disjunction of conjunctions.
        edges: The edges.
        constraints: The constraints.
    """

    nodes: dict[str, list[list[Conjunction]]] = field(default_factory=dict)
    edges: list[EdgePattern] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)

    def features(self) -> set[tuple[str, str]]:
        """Return the names of nodes with the names of the features on which the block depends."""
        found = {pair for constraint in self.constraints for pair in constraint.features}
        for name, conditions in self.nodes.items():
            tests = (test for choice in conditions for tests in choice for test in tests)
            found.update((name, feature) for feature, _ in tests)
        return found


@dataclass
class Pattern:
    """A pattern.

    Attributes:
        kernel: What must be found: the union of the blocks `pattern`.
        filters: The blocks `with` (True) and `without` (False).
        conditions: The items of the blocks `global`.
        labels: All conditions on the labels of edges.
        notes: Remarks on what may not be meant.
    """

    kernel: Block = field(default_factory=Block)
    filters: list[tuple[bool, Block]] = field(default_factory=list)
    conditions: list[Callable[[Graph], bool]] = field(default_factory=list)
    labels: list[LabelCondition] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def names_enhanced(self) -> bool:
        """Whether enhanced relations are named, as in X -[E:obj]-> Y."""
        return any(label.names_enhanced for label in self.labels)

    @property
    def blocks(self) -> list[Block]:
        return [self.kernel, *(block for _, block in self.filters)]


def is_injective(name: str) -> bool:
    """Return whether a node of a pattern must be another node than the others: not so `X$`."""
    return not name.endswith("$")
