"""Matching of patterns with graphs, by backtracking.

A plan binds the nodes and edges of a pattern one after the other, beginning with those that are
expected to have the fewest candidates, and follows edges where it can. Every condition is checked
as soon as what it is about is bound.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from depkit.treebank.search.conditions import Condition, LabelCondition
from depkit.treebank.search.graph import Edge, Graph
from depkit.treebank.search.pattern import Block, Constraint, EdgePattern, Pattern, is_injective

# The positions of a match's nodes, and its edges, in the order of the pattern
Found = tuple[tuple[int, ...], tuple[Edge, ...]]
# A step of a plan, a function of the graph and of the nodes and edges that are bound, by their
# slots. It returns whether to stop, which the last step decides.
Step = Callable[[Graph, list[int], list[Edge]], bool]
Check = Step

_WORDS = 20.0  # the number of nodes of a graph that the costs of a plan assume
_SHARES = {"form": 0.002, "lemma": 0.003, "xpos": 0.05, "upos": 0.08}  # of nodes with one value
_OTHER_SHARE = 0.15  # of nodes with one value of another feature
_LABEL_SHARE = 0.05  # of edges with one label
_BROAD_SHARE = 0.7  # of nodes or edges for which a negative condition holds
_REGEX_SHARE = 0.3


class Matcher:
    """A pattern that has been prepared for matching.

    Args:
        pattern: The pattern.

    Attributes:
        nodes: The names of the nodes of a match, in the order of the pattern.
        edges: The names of the edges of a match, in the order of the pattern.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.nodes = list(pattern.kernel.nodes)
        self.edges = [edge.name for edge in pattern.kernel.edges if edge.name]
        self._slots = _Slots(pattern)
        self._visit: Callable[[Found], object] = bool
        self._filters = [
            (expected, make_plan(block, self._slots, {*self.nodes, *self.edges}, _stop))
            for expected, block in pattern.filters
        ]
        self._plan = make_plan(pattern.kernel, self._slots, set(), self._report)
        self._plans: dict[int, Step] = {}  # from a node that is bound, by its slot

    def find(self, graph: Graph) -> list[Found]:
        """Return the matches: for each, the positions of its nodes and its edges, in order."""
        found: list[Found] = []
        self._run(graph, found.append)
        # Two edges between the same nodes lead to the same match if the edge has no name.
        return sorted(set(found) if graph.is_enhanced else found) if len(found) > 1 else found

    def names_by_position(self, found: Found) -> dict[int, list[str]]:
        """Return the names of the nodes of a match, by their positions in the graph."""
        names: dict[int, list[str]] = {}
        for name, position in zip(self.nodes, found[0], strict=True):
            names.setdefault(position, []).append(name)
        return names

    def visit(self, graph: Graph, visit: Callable[[Found], object]) -> None:
        """Call a function with each match, in no order; they need not be in memory together."""
        if graph.is_enhanced:  # in which matches are found repeatedly, see `find`
            for found in self.find(graph):
                visit(found)
        else:
            self._run(graph, lambda found: visit(found) and False)

    def visit_with(
        self, graph: Graph, slot: int, position: int, visit: Callable[[Found], object]
    ) -> None:
        """Call a function with each match in which a node has a position, in no order.

        The graph has no enhanced dependencies, and meets the items of `global`. slot: the index of
        the node.
        """
        if slot not in self._plans:
            bound = {self.nodes[slot]}
            kernel = self.pattern.kernel
            self._plans[slot] = make_plan(kernel, self._slots, bound, self._report)
        self._visit = lambda found: visit(found) and False
        nodes = [-1] * self._slots.num_nodes
        nodes[slot] = position
        self._plans[slot](graph, nodes, [(-1, -1, "")] * self._slots.num_edges)

    def matches(self, graph: Graph) -> bool:
        """Return whether there is a match."""
        return self._run(graph, lambda found: True)

    def _run(self, graph: Graph, visit: Callable[[Found], object]) -> bool:
        """Call a function with each match until it returns a true value; return whether it has."""
        if not all(condition(graph) for condition in self.pattern.conditions):
            return False
        self._visit = visit
        slots = self._slots
        return self._plan(graph, [-1] * slots.num_nodes, [(-1, -1, "")] * slots.num_edges)

    def extends(self, graph: Graph, match: Found, plan: Step) -> bool:
        """Return whether a match can be extended; plan: the plan of a block, with `_stop`."""
        nodes, edges = match
        return plan(
            graph,
            [*nodes, *[-1] * (self._slots.num_nodes - len(nodes))],
            [*edges, *[(-1, -1, "")] * (self._slots.num_edges - len(edges))],
        )

    def plan_extension(self, block: Block) -> Step:
        """Return the plan of a further block, for `extends`."""
        self._slots.add(block)
        return make_plan(block, self._slots, {*self.nodes, *self.edges}, _stop)

    def _report(self, graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
        """Visit a match of the kernel, if the filters let it pass."""
        for expected, plan in self._filters:
            if plan(graph, nodes, edges) != expected:
                return False
        found = (tuple(nodes[: len(self.nodes)]), tuple(edges[: len(self.edges)]))
        return bool(self._visit(found))


def _stop(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
    return True


class _Slots:
    """The indices at which the nodes and edges of a pattern are bound.

    Those of the kernel come first; blocks of other names may share a slot, as they are never bound
    at the same time.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.kernel_nodes = {name: slot for slot, name in enumerate(pattern.kernel.nodes)}
        names = [edge.name for edge in pattern.kernel.edges if edge.name]
        self.kernel_edges = {name: slot for slot, name in enumerate(names)}
        self.num_nodes, self.num_edges = len(self.kernel_nodes), len(self.kernel_edges)
        for _, block in pattern.filters:
            self.add(block)

    def add(self, block: Block) -> None:
        """Make room for the nodes and edges of a block."""
        nodes, edges = self.of(block)
        self.num_nodes, self.num_edges = (
            max(self.num_nodes, len(nodes)), max(self.num_edges, len(edges))
        )  # fmt: skip

    def of(self, block: Block) -> tuple[dict[str, int], dict[str, int]]:
        """Return the slots of the nodes and of the edges that a block can name."""
        nodes, edges = dict(self.kernel_nodes), dict(self.kernel_edges)
        for name in block.nodes:
            nodes.setdefault(name, len(nodes))
        for edge in block.edges:
            if edge.name:
                edges.setdefault(edge.name, len(edges))
        return nodes, edges


@dataclass
class _Planner:
    """The state of the making of a plan: what is bound, and what remains."""

    block: Block
    nodes: dict[str, int]
    edges: dict[str, int]
    bound: set[str]
    remaining_nodes: list[str] = field(default_factory=list)
    remaining_edges: list[EdgePattern] = field(default_factory=list)
    remaining_constraints: list[Constraint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.remaining_nodes = [name for name in self.block.nodes if name not in self.bound]
        self.remaining_edges = list(self.block.edges)
        self.remaining_constraints = list(self.block.constraints)

    def bind(self, names: Sequence[str]) -> list[Check]:
        """Bind nodes, and return what can be checked now, the cheapest checks first."""
        checks: list[Check] = []
        for name in names:
            if name not in self.bound:
                checks += self._distinct(name)
                checks += self.node_checks(name)
                self.bound.add(name)
                self.remaining_nodes.remove(name)
        return checks + self.take_constraints()

    def take_constraints(self) -> list[Check]:
        """Return the checks of the constraints whose nodes and edges are all bound."""
        ready = [x for x in self.remaining_constraints if self.bound.issuperset(x.names)]
        self.remaining_constraints = [x for x in self.remaining_constraints if x not in ready]
        return [self._constraint_check(constraint) for constraint in ready]

    def node_checks(self, name: str) -> list[Check]:
        """Return the checks of a node's own conditions."""
        slot = self.nodes[name]
        return [_node_check(slot, alternatives) for alternatives in self.block.nodes[name]]

    def _distinct(self, name: str) -> list[Check]:
        """Return the check that a node is none of those that are bound."""
        if not is_injective(name):
            return []
        slot = self.nodes[name]
        names = [other for other in self.bound if other in self.nodes and is_injective(other)]
        others = [self.nodes[other] for other in names]
        if not others:
            return []
        if len(others) == 1:
            other = others[0]
            return [lambda graph, nodes, edges: nodes[slot] != nodes[other]]
        return [lambda graph, nodes, edges: all(nodes[slot] != nodes[i] for i in others)]

    def _constraint_check(self, constraint: Constraint) -> Check:
        holds = constraint.holds
        if all(name in self.nodes for name in constraint.names):
            slots = [self.nodes[name] for name in constraint.names]
            if len(slots) == 1:
                return lambda graph, nodes, edges: holds(graph, nodes[slots[0]])
            first, second = slots
            return lambda graph, nodes, edges: holds(graph, nodes[first], nodes[second])
        bindings = [
            (False, self.nodes[name]) if name in self.nodes else (True, self.edges[name])
            for name in constraint.names
        ]
        return lambda graph, nodes, edges: holds(
            graph, *((edges if is_edge else nodes)[slot] for is_edge, slot in bindings)
        )

    def share(self, name: str) -> float:
        """Return the share of nodes for which a node's conditions are expected to hold."""
        if name not in self.block.nodes:
            return 1.0
        shares = [
            sum(
                reduce(lambda x, test: x * _share(*test), conjunction, 1.0)
                for conjunction in choice
            )
            for choice in self.block.nodes[name]
        ]
        return min(1.0, reduce(lambda x, y: x * y, shares, 1.0))


def _share(name: str, condition: Condition) -> float:
    """Return the share of nodes for which a condition on a feature is expected to hold."""
    if condition.absent or condition.negative:
        return _BROAD_SHARE
    if condition.regex:
        return _REGEX_SHARE
    return min(1.0, _SHARES.get(name, _OTHER_SHARE) * max(1, len(condition.listed)))


def _label_share(label: LabelCondition) -> float:
    """Return the share of edges for which a condition is expected to hold."""
    conditions = [*([label.label] if label.label else []), *(test for _, test in label.parts)]
    shares = [
        _BROAD_SHARE if test.negative or test.absent
        else _REGEX_SHARE if test.regex else _LABEL_SHARE * max(1, len(test.listed))
        for test in conditions
    ]  # fmt: skip
    return min([1.0, *shares])


def make_plan(block: Block, slots: _Slots, bound: set[str], last: Step) -> Step:
    """Make the plan that finds all ways to bind the nodes and edges of a block.

    Args:
        block: The block.
        slots: The slots of the pattern.
        bound: The names of the nodes and edges that are bound already.
        last: The last step, which is run for each of the ways.
    """
    nodes, edges = slots.of(block)
    planner = _Planner(block, nodes, edges, set(bound))
    # The conditions of a filter on nodes of the kernel come first.
    first = [check for name in block.nodes if name in bound for check in planner.node_checks(name)]
    first += planner.take_constraints()
    makers: list[Callable[[Step], Step]] = []
    if first:
        makers.append(lambda after: _check_step(first, after))
    while planner.remaining_nodes or planner.remaining_edges:
        makers.append(_choose_step(planner))
    for make in reversed(makers):
        last = make(last)
    return last


def _choose_step(planner: _Planner) -> Callable[[Step], Step]:
    """Choose what to bind next, bind it and return the function that makes the step."""
    choices: list[tuple[float, int, Callable[[], Callable[[Step], Step]]]] = []

    def offer(cost: float, take: Callable[[], Callable[[Step], Step]]) -> None:
        choices.append((cost, len(choices), take))

    bound = planner.bound
    for edge in planner.remaining_edges:
        share = _label_share(edge.label)
        ends = (edge.source in bound) + (edge.target in bound)
        if edge.source not in bound:
            share *= planner.share(edge.source)
        if edge.target not in bound:
            share *= planner.share(edge.target)
        cost = (
            0.0 if ends == 2 else share * (_WORDS if not ends else 1 if edge.target in bound else 3)
        )
        offer(cost, lambda edge=edge: _take_edge(planner, edge))  # type: ignore[misc]
    for constraint in planner.remaining_constraints:
        if constraint.is_adjacency and len(bound.intersection(constraint.names)) == 1:
            offer(0.5, lambda one=constraint: _take_adjacency(planner, one))  # type: ignore[misc]
    for name in planner.remaining_nodes:
        offer(_WORDS * planner.share(name), lambda name=name: _take_node(planner, name))  # type: ignore[misc]
    return min(choices)[2]()


def _take_edge(planner: _Planner, edge: EdgePattern) -> Callable[[Step], Step]:
    source, target = planner.nodes[edge.source], planner.nodes[edge.target]
    know_source, know_target = edge.source in planner.bound, edge.target in planner.bound
    planner.remaining_edges.remove(edge)
    slot = planner.edges[edge.name] if edge.name else -1
    if edge.name:
        planner.bound.add(edge.name)
    check = _all_of(planner.bind(list(dict.fromkeys((edge.source, edge.target)))))
    steps = _EdgeSteps(source, target, edge.label, slot, check)
    if know_source:
        return steps.between_bound if know_target else steps.target_of_bound
    return steps.source_of_bound if know_target else steps.both


def _take_adjacency(planner: _Planner, constraint: Constraint) -> Callable[[Step], Step]:
    first, second = constraint.names
    known, new, shift = (first, second, 1) if first in planner.bound else (second, first, -1)
    planner.remaining_constraints.remove(constraint)
    checks = _all_of(planner.bind([new]))
    known_slot, slot = planner.nodes[known], planner.nodes[new]

    def candidates(graph: Graph, nodes: list[int]) -> Iterable[int]:
        position = nodes[known_slot] + shift
        return (position,) if 0 <= position < graph.size else ()

    return lambda after: _node_step(slot, candidates, checks, after)


def _take_node(planner: _Planner, name: str) -> Callable[[Step], Step]:
    choices = [x[0] for x in planner.block.nodes[name] if len(x) == 1]
    tests = [test for conjunction in choices for test in conjunction]
    best = min(tests, key=lambda test: _share(*test), default=None)
    checks = _all_of(planner.bind([name]))
    slot = planner.nodes[name]
    if best is None:
        return lambda after: _node_step(slot, lambda graph, nodes: range(graph.size), checks, after)
    feature, condition = best

    def candidates(graph: Graph, nodes: list[int]) -> Iterable[int]:
        return [i for i, value in enumerate(graph.columns[feature]) if condition[value]]

    return lambda after: _node_step(slot, candidates, checks, after)


def _all_of(checks: Sequence[Check]) -> Check | None:
    """Return one check for several; None if there are none."""
    if len(checks) <= 1:
        return checks[0] if checks else None

    def check(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
        for one in checks:  # `all` would be slower
            if not one(graph, nodes, edges):
                return False
        return True

    return check


def _node_check(slot: int, alternatives: Sequence[Sequence[tuple[str, Condition]]]) -> Check:
    if len(alternatives) == 1:
        tests = list(alternatives[0])
        if len(tests) == 1:
            ((name, condition),) = tests
            return lambda graph, nodes, edges: condition[graph.columns[name][nodes[slot]]]
        return lambda graph, nodes, edges: _all_hold(graph, nodes[slot], tests)
    return lambda graph, nodes, edges: any(
        _all_hold(graph, nodes[slot], tests) for tests in alternatives
    )


def _all_hold(graph: Graph, node: int, tests: Sequence[tuple[str, Condition]]) -> bool:
    for name, condition in tests:  # `all` would be slower
        if not condition[graph.columns[name][node]]:
            return False
    return True


def _check_step(checks: Sequence[Check], after: Step) -> Step:
    check = _all_of(checks)
    assert check
    return lambda graph, nodes, edges: check(graph, nodes, edges) and after(graph, nodes, edges)


def _node_step(
    slot: int,
    candidates: Callable[[Graph, list[int]], Iterable[int]],
    check: Check | None,
    after: Step,
) -> Step:
    def step(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
        for position in candidates(graph, nodes):
            nodes[slot] = position
            if (not check or check(graph, nodes, edges)) and after(graph, nodes, edges):
                return True
        return False

    return step


@dataclass(frozen=True)
class _EdgeSteps:
    """The steps that bind an edge, depending on which of its ends are bound.

    source, target: the slots of its ends; slot: that of the edge, -1 if it has no name.
    """

    source: int
    target: int
    label: LabelCondition
    slot: int
    check: Check | None

    def both(self, after: Step) -> Step:
        """Bind both ends."""
        source, target, label, slot, check = self._fields()

        def step(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
            for edge in graph.edges:
                if label[edge[2]]:
                    nodes[source], nodes[target], _ = edge
                    if nodes[source] != edge[0]:  # if source and target are the same node
                        continue
                    if slot >= 0:
                        edges[slot] = edge
                    if (not check or check(graph, nodes, edges)) and after(graph, nodes, edges):
                        return True
            return False

        return step

    def target_of_bound(self, after: Step) -> Step:
        """Bind the target of an edge whose source is bound."""
        source, target, label, slot, check = self._fields()

        def step(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
            for position, name in graph.outgoing[nodes[source]]:
                if label[name]:
                    nodes[target] = position
                    if slot >= 0:
                        edges[slot] = (nodes[source], position, name)
                    if (not check or check(graph, nodes, edges)) and after(graph, nodes, edges):
                        return True
            return False

        return step

    def source_of_bound(self, after: Step) -> Step:
        """Bind the source of an edge whose target is bound."""
        source, target, label, slot, check = self._fields()

        def step(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
            for position, name in graph.incoming[nodes[target]]:
                if label[name]:
                    nodes[source] = position
                    if slot >= 0:
                        edges[slot] = (position, nodes[target], name)
                    if (not check or check(graph, nodes, edges)) and after(graph, nodes, edges):
                        return True
            return False

        return step

    def between_bound(self, after: Step) -> Step:
        """Bind an edge whose ends are bound."""
        source, target, label, slot, check = self._fields()

        def step(graph: Graph, nodes: list[int], edges: list[Edge]) -> bool:
            for position, name in graph.incoming[nodes[target]]:
                if position == nodes[source] and label[name]:
                    if slot >= 0:
                        edges[slot] = (position, nodes[target], name)
                    if (not check or check(graph, nodes, edges)) and after(graph, nodes, edges):
                        return True
                    if slot < 0:
                        return False
            return False

        return step

    def _fields(self) -> tuple[int, int, LabelCondition, int, Check | None]:
        return self.source, self.target, self.label, self.slot, self.check
