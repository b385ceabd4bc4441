"""The language of patterns, which is that of Grew (https://grew.fr/doc/request).

    request  = { ("pattern" | "with" | "without") "{" clauses "}" | "global" "{" items "}" }
    clauses  = [ clause { ";" clause } [ ";" ] ]
    clause   = node "[" features "]" { "|" "[" features "]" }
             | [ edge ":" ] node arrow node | node arrow "*" | "*" arrow node
             | node ("<" | "<<" | ">" | ">>" | "->>") node
             | edge ("<<" | ">>" | "><" | "<>") edge | node "<<" edge | edge ">>" node
             | ref ("=" | "<>") (value | regex | ref) | ref ("<" | "<=" | ">" | ">=") (number | ref)
             | ("delta" | "length") "(" node "," node ")" ("=" | "<" | "<=" | ">" | ">=") number
    features = [ feature { "," feature } [ "," ] ]
    feature  = "!" name | name [ ("=" | "<>") ("*" | regex | value { "|" value }) ]
    arrow    = "->" | "-[" [ "^" ] label { "|" label } "]->" | "-[" regex "]->"
             | "-[" part { "," part } "]->"
    ref      = (node | edge) "." name
    item     = "is_projective" and the like | name ("=" | "<>") (regex | value { "|" value })
             | "!" name
    value    = name | number | '"..."'      regex = 're"..."' | "/.../" | "/.../i"

Lexicons and the deprecated forms of Grew are not supported. Unlike in Grew, a feature of a node may
have several regular expressions, and a comparison of a feature that is not a number is false.
"""

from collections.abc import Callable
from typing import Any

from depkit.treebank.search import graph as graphs
from depkit.treebank.search.conditions import Condition, LabelCondition, edge_feature
from depkit.treebank.search.graph import Edge, Graph
from depkit.treebank.search.pattern import Block, Conjunction, Constraint, EdgePattern, Pattern
from depkit.treebank.search.scanner import Scanner

_STRUCTURES: dict[str, Callable[[Graph], bool]] = {
    "projective": graphs.is_projective,
    "cyclic": graphs.is_cyclic,
    "forest": graphs.is_forest,
    "tree": graphs.is_tree,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
_MAX_PARTS = 200  # Each node and edge can need a level of recursion in the matcher.
# What to write for a column that is no feature of a node
_COLUMN_ADVICE = {
    "head": "an edge, as in Y -> X",
    "deprel": "an edge and its label, as in e: Y -[obl]-> X, or e.label",
    "deps": "an edge and its label, as in Y -[E:obl]-> X",
    "feats": "the name of one feature, such as Number",
    "misc": "the name of one feature, such as Gloss",
}
_BLOCKS = "a pattern consists of the blocks pattern, with, without and global, each with { }"

# A function that returns a feature of the node or the edge with which it is called
Getter = Callable[[Graph, Any], str | None]


def parse_pattern(text: str) -> Pattern:
    """Parse a pattern. Raises PatternError, which says where the pattern is not valid."""
    return PatternParser(Scanner(text)).parse()


def parse_clauses(text: str, pattern: Pattern) -> Block:
    """Parse the clauses `{ ... }` of a further block of a pattern. Raises PatternError."""
    parser = PatternParser(Scanner(text))
    parser.pattern = Pattern(pattern.kernel)
    block = Block()
    parser.pattern.filters.append((True, block))
    parser.parse_block(block)
    parser.scanner.skip_blanks()
    if parser.scanner.position < len(text):
        parser.scanner.fail(f"nothing may follow }}, but {parser.scanner.describe_next()} does")
    parser.resolve()
    pattern.labels += parser.pattern.labels
    return block


class PatternParser:
    """A recursive-descent parser of patterns."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.pattern = Pattern(notes=self.scanner.notes)
        # Names can be declared after their use, so constraints are made when all blocks are read.
        self.unresolved: list[Callable[[], None]] = []

    def parse(self) -> Pattern:
        """Parse the whole text."""
        scanner = self.scanner
        scanner.skip_blanks()
        while scanner.position < len(scanner.text):
            start = scanner.position
            name = scanner.read_name("pattern, with, without or global")
            if not self.parse_named_block(name):
                scanner.fail(f"the block {name!r} is unknown; {_BLOCKS}", start)
            scanner.skip_blanks()
        self.resolve()
        return self.pattern

    def parse_named_block(self, name: str) -> bool:
        """Parse the content of a block; return False if there is no block with this name."""
        if name == "pattern":
            self.parse_block(self.pattern.kernel)
        elif name in ("with", "without"):
            self.pattern.filters.append((name == "with", Block()))
            self.parse_block(self.pattern.filters[-1][1])
        elif name == "global":
            self.parse_items(self._parse_global)
        else:
            return False
        return True

    def parse_block(self, block: Block) -> None:
        """Parse the clauses of a block in braces."""
        self.parse_items(lambda: self._parse_clause(block))

    def resolve(self) -> None:
        """Make the constraints, now that all names are known."""
        for make in self.unresolved:
            make()
        if sum(len(block.nodes) + len(block.edges) for block in self.pattern.blocks) > _MAX_PARTS:
            self.scanner.fail(f"the pattern has more than {_MAX_PARTS} nodes and edges", 0)
        kernel = self.pattern.kernel
        for block in self.pattern.blocks:
            edges = {edge.name for edge in (*kernel.edges, *block.edges)}
            if both := edges & (kernel.nodes.keys() | block.nodes.keys()):
                self.scanner.fail(f"{min(both)!r} is the name of a node and of an edge", 0)

    def parse_items(self, parse_item: Callable[[], None]) -> None:
        """Parse { item; item; ... }."""
        scanner = self.scanner
        if not scanner.accept("{"):
            scanner.fail(f"{{ is expected here, not {scanner.describe_next()}")
        while not scanner.accept("}"):
            parse_item()
            if not scanner.accept(";") and not scanner.sees("}"):
                scanner.fail(f"; or }} is expected here, not {scanner.describe_next()}")

    def _parse_global(self) -> None:
        scanner = self.scanner
        if scanner.accept("!"):
            key = scanner.read_feature("the key of a comment")
            self.pattern.conditions.append(lambda graph: not _has_comment(graph, key))
            return
        scanner.skip_blanks()
        start = scanner.position
        name = scanner.read_feature("is_projective and the like, or the key of a comment")
        operator = scanner.accept("=", "<>")
        if operator:
            condition = self._read_condition(operator == "<>", "the value of a comment")
            self.pattern.conditions.append(lambda graph: condition[_comment(graph, name)])
            return
        positive = name.removeprefix("is_").removeprefix("not_")
        if positive not in _STRUCTURES or not name.startswith("is_"):
            names = ", ".join(f"is_{known}, is_not_{known}" for known in _STRUCTURES)
            scanner.fail(f"{name!r} is unknown here; there are {names}", start)
        test, expected = _STRUCTURES[positive], not name.startswith("is_not_")
        self.pattern.conditions.append(lambda graph: test(graph) == expected)

    def _parse_clause(self, block: Block) -> None:
        scanner = self.scanner
        scanner.skip_blanks()
        start = scanner.position
        if scanner.accept("*"):
            self._parse_open_edge(block, start)
            return
        if number := scanner.accept_number():
            operator = scanner.accept(*_MIRRORED)
            if not operator:
                scanner.fail(f"<, <=, > or >= is expected here, not {scanner.describe_next()}")
            name = scanner.read_node()
            self._parse_comparison(block, name, start, (_MIRRORED[operator], number))
            return
        name = scanner.read_node()
        if name in ("delta", "length") and scanner.accept("("):
            self._parse_distance(block, name, start)
        elif scanner.text.startswith(".", scanner.position):
            self._parse_comparison(block, name, start)
        elif scanner.sees("["):
            self._parse_node(block, name)
        elif scanner.accept(":"):
            if name.endswith("$"):
                scanner.fail("the name of an edge cannot end in $", start)
            names = {edge.name for edge in (*self.pattern.kernel.edges, *block.edges)}
            if name in names:
                scanner.fail(f"there are two edges with the name {name!r}", start)
            source = scanner.read_node()
            self._parse_edge(block, name, source)
        elif scanner.accept("->>"):
            self._add_constraint(block, (name, scanner.read_node()), start, "->>")
        elif scanner.sees("->") or scanner.sees("-["):
            self._parse_edge(block, "", name)
        else:
            self._parse_order(block, name, start)

    def _parse_node(self, block: Block, name: str) -> None:
        """Parse [features] | [features] | ... after the name of a node."""
        alternatives: list[Conjunction] = []
        while not alternatives or self.scanner.accept("|"):
            self.scanner.expect("[", "|")
            conjunction: list[tuple[str, Condition]] = []
            while not self.scanner.accept("]"):
                conjunction.append(self._parse_feature())
                if not self.scanner.accept(",") and not self.scanner.sees("]"):
                    found = self.scanner.describe_next()
                    self.scanner.fail(f", or ] is expected here, not {found}")
            alternatives.append(conjunction)
        conditions = block.nodes.setdefault(name, [])
        if alternatives != [[]]:
            conditions.append(alternatives)

    def _parse_feature(self) -> tuple[str, Condition]:
        scanner = self.scanner
        is_absent = bool(scanner.accept("!"))
        name = scanner.read_feature("the name of a feature")
        self._note_column(name)
        if is_absent:
            return name, Condition(absent=True)
        operator = scanner.accept("=", "<>")
        if not operator:
            return name, Condition(negative=True)  # defined, with whatever value
        return name, self._read_condition(operator == "<>", "a value")

    def _read_condition(self, negative: bool, what: str) -> Condition:
        """Read a regular expression, * or values separated by |."""
        scanner = self.scanner
        if regex := scanner.accept_regex():
            return Condition(regex=regex, negative=negative)
        if scanner.accept("*"):
            return Condition(absent=True) if negative else Condition(negative=True)
        values = [self._read_value(what)]
        while scanner.accept("|"):
            values.append(self._read_value(what))
        return Condition(values, negative=negative)

    def _read_value(self, what: str) -> str:
        scanner = self.scanner
        quoted = scanner.accept_quoted()
        value = quoted if quoted is not None else scanner.accept_number()
        if quoted is None and not value:
            value = scanner.read_name(what)
        if scanner.text.startswith(".", scanner.position):
            scanner.fail("a value with a full stop must be in quotes; there are no lexicons")
        return value

    def _parse_arrow(self) -> LabelCondition:
        """Parse -> or -[...]->."""
        scanner = self.scanner
        if scanner.accept("->"):
            return LabelCondition()
        scanner.expect("-[", "the source of an edge")
        negative = bool(scanner.accept("^"))
        if not negative and (regex := scanner.accept_regex()):
            label = LabelCondition(Condition(regex=regex))
        elif not negative and self._sees_part():
            parts = [self._parse_part()]
            while scanner.accept(","):
                parts.append(self._parse_part())
            label = LabelCondition(parts=parts)
        else:
            names = [scanner.read_label()]
            while scanner.accept("|"):
                names.append(scanner.read_label())
            label = LabelCondition(Condition(names, negative=negative))
        self.pattern.labels.append(label)
        if not scanner.accept("]->"):
            scanner.fail(f"]-> is expected here, not {scanner.describe_next()}")
        return label

    def _sees_part(self) -> bool:
        """Return whether a condition on a part of a label comes next, such as 1=nsubj or !2."""
        scanner = self.scanner
        if scanner.sees("!"):
            return True
        if scanner.sees('"'):
            return False
        start = scanner.position
        scanner.read_label()
        is_part = scanner.sees("=") or scanner.sees("<>")
        scanner.position = start
        return is_part

    def _parse_part(self) -> tuple[str, Condition]:
        scanner = self.scanner
        if scanner.accept("!"):
            return scanner.read_feature("a part of a relation"), Condition(absent=True)
        name = scanner.read_feature("a part of a relation, such as 1=nsubj,")
        operator = scanner.accept("=", "<>")
        if not operator:
            scanner.fail(f"= or <> is expected here, not {scanner.describe_next()}")
        return name, self._read_condition(operator == "<>", "a part of a relation")

    def _parse_edge(self, block: Block, name: str, source: str) -> None:
        """Parse the arrow and the target of an edge."""
        label = self._parse_arrow()
        if self.scanner.accept("*"):
            if name:
                self.scanner.fail("an edge to * cannot have a name")
            block.nodes.setdefault(source, [])
            block.constraints.append(Constraint((source,), _leaves(label)))
            return
        target = self.scanner.read_node()
        for node in (source, target):
            block.nodes.setdefault(node, [])
        block.edges.append(EdgePattern(name, source, target, label))

    def _parse_open_edge(self, block: Block, start: int) -> None:
        """Parse the arrow and the target of an edge from *."""
        label = self._parse_arrow()
        if self.scanner.sees("*"):
            self.scanner.fail("an edge cannot have * at both ends", start)
        target = self.scanner.read_node()
        block.nodes.setdefault(target, [])
        block.constraints.append(Constraint((target,), _enters(label)))

    def _parse_order(self, block: Block, name: str, start: int) -> None:
        """Parse an operator of order and its second node or edge."""
        scanner = self.scanner
        operator = scanner.accept("<<", "<>", "><", ">>", "<", ">")
        if not operator or scanner.sees("="):
            what = "[, an arrow, : or an operator such as <<"
            scanner.fail(f"{what} is expected after {name!r}, not {scanner.describe_next()}")
        other = scanner.read_node()
        if operator in ("<", ">"):
            first, second = (name, other) if operator == "<" else (other, name)
            for node in (name, other):
                block.nodes.setdefault(node, [])
            block.constraints.append(
                Constraint((first, second), lambda graph, x, y: x + 1 == y, is_adjacency=True)
            )
            return
        names = (other, name) if operator == ">>" else (name, other)
        self._add_constraint(block, names, start, operator.replace(">>", "<<"))

    def _add_constraint(
        self, block: Block, names: tuple[str, str], start: int, operator: str
    ) -> None:
        """Add a constraint on two nodes or edges, when all names are known."""

        def make() -> None:
            kinds = tuple(self.kind(block, name, start) for name in names)
            holds = _RELATIONS.get((operator, kinds))
            if not holds:
                kind = " and ".join("an edge" if kind == "edge" else "a node" for kind in kinds)
                self.scanner.fail(f"{operator} cannot be used with {kind}", start)
            block.constraints.append(Constraint(names, holds, is_path=operator == "->>"))

        self.unresolved.append(make)

    def _parse_distance(self, block: Block, function: str, start: int) -> None:
        """Parse what follows `delta(` or `length(`."""
        scanner = self.scanner
        first = scanner.read_node()
        scanner.expect(",", "the first node")
        second = scanner.read_node()
        scanner.expect(")", "the second node")
        operator = scanner.accept(*_COMPARISONS)
        if not operator:
            scanner.fail(f"=, <, <=, > or >= is expected here, not {scanner.describe_next()}")
        number = float(scanner.read_number("a number"))
        compare, measure = _COMPARISONS[operator], abs if function == "length" else int

        def make() -> None:
            for name in (first, second):
                if self.kind(block, name, start) != "node":
                    scanner.fail(f"{function} is computed of two nodes; {name} is an edge", start)
            holds = lambda graph, x, y: compare(measure(y - x), number)  # noqa: E731
            block.constraints.append(Constraint((first, second), holds))

        self.unresolved.append(make)

    def _parse_comparison(
        self, block: Block, name: str, start: int, left: tuple[str, str] | None = None
    ) -> None:
        """Parse what follows the name in a comparison such as `X.lemma = Y.lemma`.

        left: the operator and the number if they come before the reference.
        """
        scanner = self.scanner
        feature = self.read_reference_feature(name)
        if left:
            operator, right = left
            other = None
        else:
            operator = scanner.accept("<>", "<=", ">=", "=", "<", ">")
            if not operator:
                scanner.fail(f"=, <>, < and the like is expected, not {scanner.describe_next()}")
            right, other = self._read_right_side(operator)

        def make() -> None:
            get = self._make_getter(block, name, feature, start)
            if isinstance(right, Condition):
                self._add_condition(block, name, feature, right)
            elif other:
                second = self._make_getter(block, right, other, start)
                holds = _comparison(operator, get, second)
                pairs = ((name, feature), (right, other))
                block.constraints.append(Constraint((name, right), holds, features=pairs))
            else:
                compare = _comparison(operator, get, lambda graph, _: right)
                holds = lambda graph, x: compare(graph, x, None)  # noqa: E731
                pair = (name, feature)
                block.constraints.append(Constraint((name,), holds, features=(pair,)))

        self.unresolved.append(make)

    def read_reference_feature(self, name: str) -> str:
        """Read the feature after the name of a node or edge: .upos."""
        if not self.scanner.text.startswith(".", self.scanner.position):
            self.scanner.fail(f".feature is expected after {name!r}")
        self.scanner.position += 1
        return self.scanner.read_feature("the name of a feature")

    def _read_right_side(self, operator: str) -> tuple[Any, str]:
        """Read the right side of a comparison.

        Returns a condition and "", a number and "", or the names of a node or edge and a feature.
        """
        scanner = self.scanner
        negative = operator == "<>"
        if operator in ("=", "<>") and (regex := scanner.accept_regex()):
            return Condition(regex=regex, negative=negative), ""
        quoted = scanner.accept_quoted() if operator in ("=", "<>") else None
        if (value := scanner.accept_number() if quoted is None else quoted) or quoted == "":
            is_value = operator in ("=", "<>")
            return (Condition([value], negative=negative) if is_value else value), ""
        name = scanner.read_node()
        if scanner.text.startswith(".", scanner.position):
            return name, self.read_reference_feature(name)
        if operator not in ("=", "<>"):
            scanner.fail(
                f"a number or a feature such as {name}.Number is expected after {operator}"
            )
        if scanner.sees("|"):
            scanner.fail("alternatives with | are allowed only in brackets: X [upos=VERB|AUX]")
        return Condition([name], negative=negative), ""

    def _add_condition(self, block: Block, name: str, feature: str, condition: Condition) -> None:
        """Add the comparison of a feature with a constant."""
        if self.kind(block, name, 0) == "node":
            self._note_column(feature)
            block.nodes.setdefault(name, []).append([[(feature, condition)]])
        else:
            holds = lambda graph, edge: condition[feature_of_edge(edge, feature)]  # noqa: E731
            block.constraints.append(Constraint((name,), holds))

    def _make_getter(self, block: Block, name: str, feature: str, start: int) -> Getter:
        if self.kind(block, name, start) == "node":
            self._note_column(feature)
            return lambda graph, node: graph.columns[feature][node]
        return lambda graph, edge: feature_of_edge(edge, feature)

    def _note_column(self, feature: str) -> None:
        """Add a note if a feature of a node is the name of a column that is none."""
        advice = column_advice(feature)
        if advice and advice not in self.scanner.notes:
            self.scanner.notes.append(advice)

    def kind(self, block: Block, name: str, start: int) -> str:
        """Return "node" or "edge". Raises PatternError for a name that is not declared."""
        for declared in (self.pattern.kernel, block):
            if name in declared.nodes:
                return "node"
            if any(edge.name == name for edge in declared.edges):
                return "edge"
        self.scanner.fail(
            f"{name!r} is not declared; add {name} [] if it is a node, or name an edge as in"
            f" {name}: X -> Y",
            start,
        )


def column_advice(feature: str) -> str:
    """Return what to write instead of a column that is no feature of a node; "" for a feature."""
    if feature not in _COLUMN_ADVICE:
        return ""
    return (
        f"{feature} is a column, not a feature of a node; use {_COLUMN_ADVICE[feature]};"
        f" for a feature of MISC with this name, write {graphs.MISC}{feature}"
    )


def feature_of_edge(edge: Edge, name: str) -> str | None:
    """Return a feature of an edge: its label, a part of it, its length or its delta."""
    source, target, label = edge
    if name in ("length", "delta"):
        return str(abs(target - source) if name == "length" else target - source)
    return edge_feature(label, name)


def _leaves(label: LabelCondition) -> Callable[[Graph, int], bool]:
    return lambda graph, node: any(label[name] for _, name in graph.outgoing[node])


def _enters(label: LabelCondition) -> Callable[[Graph, int], bool]:
    return lambda graph, node: any(label[name] for _, name in graph.incoming[node])


def _comparison(operator: str, first: Getter, second: Getter) -> Callable[..., bool]:
    """Return a function that says whether an operator holds between two features."""

    def holds(graph: Graph, x: Any, y: Any) -> bool:
        left, right = first(graph, x), second(graph, y)
        if left is None or right is None:
            return False
        if operator in ("=", "<>"):
            return (left == right) == (operator == "=")
        try:
            return _COMPARISONS[operator](float(left), float(right))
        except ValueError:
            return False

    return holds


def _spans(first: Edge, second: Edge) -> tuple[int, int, int, int]:
    return min(first[:2]), max(first[:2]), min(second[:2]), max(second[:2])


def _are_disjoint(graph: Graph, first: Edge, second: Edge) -> bool:
    left, right, other_left, other_right = _spans(first, second)
    return right <= other_left or other_right <= left


def _is_within(graph: Graph, first: Edge, second: Edge) -> bool:
    left, right, other_left, other_right = _spans(first, second)
    is_inside = other_left <= left and right <= other_right
    is_shorter = (left, right) != (other_left, other_right)
    return is_inside and is_shorter and not _are_disjoint(graph, first, second)


def _are_crossing(graph: Graph, first: Edge, second: Edge) -> bool:
    left, right, other_left, other_right = _spans(first, second)
    return left < other_left < right < other_right or other_left < left < other_right < right


# What operators mean for nodes (positions) and edges; as Grew's `check_relative_position`.
_RELATIONS: dict[tuple[str, tuple[str, ...]], Callable[..., bool]] = {
    ("->>", ("node", "node")): lambda graph, x, y: graph.dominates(x, y),
    ("<<", ("node", "node")): lambda graph, x, y: x < y,
    ("<<", ("node", "edge")): lambda graph, x, e: min(e[:2]) < x < max(e[:2]),
    ("<<", ("edge", "edge")): _is_within,
    ("<>", ("edge", "edge")): _are_disjoint,
    ("><", ("edge", "edge")): _are_crossing,
}


def _comment(graph: Graph, key: str) -> str | None:
    return graph.sentence.comment(key) if _has_comment(graph, key) else None


def _has_comment(graph: Graph, key: str) -> bool:
    keys = (line[1:].partition("=") for line in graph.sentence.lines if line[:1] == "#")
    return any(equals and name.strip() == key for name, equals, _ in keys)
