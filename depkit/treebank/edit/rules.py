"""The language of rules, which is that of Grew (https://grew.fr/doc/rule).

    rules    = { "rule" name "{" blocks "}" } | blocks
    blocks   = the blocks of a pattern, and "commands" "{" command { ";" command } [ ";" ] "}"
    command  = "del_edge" (edge | node label node) | "add_edge" [ edge ":" ] node label node
             | ("shift" | "shift_in" | "shift_out") node ("==>" | "=[" labels "]=>") node
             | (node | edge) "." feature "=" value | "del_feat" (node | edge) "." feature
             | ("append_feats" | "prepend_feats") [ text ] node ("==>" | "=[" regex "]=>") node
    label    = "->" | "-[" relation "]->" | "-[" part "=" value { "," part "=" value } "]->"
    value    = term { "+" term }
    term     = text | name | number | (node | edge) "." feature [ "[" [n] ":" [n] "]" ]

Rules are applied one after the other, and each one as long as it changes anything. A command whose
value has a feature that is not defined, such as `Y.Gender` of a verb, does nothing. Commands that
add, delete or move words, lexicons, strategies and packages are not supported.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from depkit.files.errors import FormatError
from depkit.treebank.edit.editable import EditableGraph
from depkit.treebank.edit.scope import ANY, Scope
from depkit.treebank.search.conditions import Condition, LabelCondition
from depkit.treebank.search.graph import MISC, Edge
from depkit.treebank.search.matcher import Found, Matcher
from depkit.treebank.search.pattern import Pattern
from depkit.treebank.search.pattern_parser import PatternParser, column_advice, feature_of_edge
from depkit.treebank.search.scanner import Scanner

_SHIFTS = {"shift": (True, True), "shift_in": (True, False), "shift_out": (False, True)}
_UNSUPPORTED = ("add_node", "del_node", "unorder", "insert")
_EDGE_FEATURES = ("label", *"123456789")  # that can be set
_UNSUPPORTED_PARTS = ("strat", "package", "import", "include")  # of a file of rules


@dataclass
class Application:
    """A match of a rule to which its commands are applied.

    Attributes:
        graph: The graph.
        nodes: The positions of the nodes by name.
        edges: The edges by name, as they are now. One that a command has deleted, and one
            that was not added, stays here, so that its label can still be copied.
    """

    graph: EditableGraph
    nodes: dict[str, int]
    edges: dict[str, Edge]

    def set_label(self, name: str, label: str) -> None:
        """Change the label of an edge that has a name. Raises FormatError if it is not there."""
        old = self.edges[name]
        if old not in self.graph.edges:
            self.fail(f"the label of {name} cannot be set: the sentence has no such edge")
        new = (old[0], old[1], label)
        self.graph.remove_edge(old)
        self.graph.add_edge(new)
        # An edge can have several names.
        self.edges = {key: new if edge == old else edge for key, edge in self.edges.items()}

    def fail(self, message: str) -> NoReturn:
        """Raise FormatError for the sentence."""
        raise FormatError(*self.graph.sentence.location(), message)


Command = Callable[[Application], None]
Value = Callable[[Application], str | None]  # None if a feature is not defined


@dataclass
class Rule:
    """A rule: what it matches, and the commands that are applied to a match.

    features: the nodes and the names of their features that the commands read or set.
    """

    name: str
    pattern: Pattern
    commands: list[Command] = field(default_factory=list)
    features: set[tuple[str, str]] = field(default_factory=set)

    @cached_property
    def matcher(self) -> Matcher:
        return Matcher(self.pattern)

    @cached_property
    def scope(self) -> Scope:
        return Scope(self.pattern, self.features)

    def apply(self, graph: EditableGraph) -> Iterator[None]:
        """Apply the rule as long as it changes the graph, and yield after each application.

        Each application takes the first match, in the order of nodes and edges, for which the
        commands change the current graph.
        """
        # For each node, whether a match that it is the first of may still change the graph
        waiting = self._find_first_nodes(graph)
        while (position := waiting.find(1)) >= 0:
            matches: list[Found] = []
            self.matcher.visit_with(graph, 0, position, matches.append)
            for match in sorted(matches):
                self._run(match, graph)
                features, edges = graph.take_changes()
                if features or edges:
                    yield
                    break
            else:
                waiting[position] = 0
                continue
            affected = self.scope.of_changes(graph, features, edges)
            if affected is None:
                waiting = self._find_first_nodes(graph)
            else:
                self._mark(graph, affected, waiting)

    def _find_first_nodes(self, graph: EditableGraph) -> bytearray:
        """Return, for each node, whether it is the first one of a match."""
        marks = bytearray(graph.size)
        if self.matcher.nodes:  # Without nodes, there is nothing that commands could change.
            self.matcher.visit(graph, lambda found: marks.__setitem__(found[0][0], 1))
        return marks

    def _mark(
        self, graph: EditableGraph, affected: Iterable[tuple[int, int]], marks: bytearray
    ) -> None:
        """Mark the first nodes of matches. affected: slots and positions that the matches have."""
        for slot, position in affected:
            if slot == 0:
                marks[position] = 1
            else:
                self.matcher.visit_with(
                    graph, slot, position, lambda found: marks.__setitem__(found[0][0], 1)
                )

    def _run(self, found: Found, graph: EditableGraph) -> None:
        application = Application(
            graph,
            dict(zip(self.matcher.nodes, found[0], strict=True)),
            dict(zip(self.matcher.edges, found[1], strict=True)),
        )
        for command in self.commands:
            command(application)


def parse_rules(text: str) -> list[Rule]:
    """Parse rules. Raises PatternError, which says where the text is not valid."""
    scanner = Scanner(text)
    rules: list[Rule] = []
    scanner.skip_blanks()
    while scanner.position < len(text):
        start = scanner.position
        name = scanner.read_name("rule, or pattern")
        if name == "rule":
            title = scanner.read_name("the name of the rule")
            scanner.expect("{", "the name of the rule")
            rules.append(_RuleParser(scanner, title).parse_rule("}"))
        elif name in _UNSUPPORTED_PARTS:
            message = (
                f"{name} is not supported: the rules of a file are applied one after the other"
            )
            scanner.fail(f"{message}; leave out {name}", start)
        elif rules:
            scanner.fail(f"a rule is expected here, not {name!r}", start)
        else:
            scanner.position = start
            rules.append(_RuleParser(scanner, "rule").parse_rule(""))
        scanner.skip_blanks()
    if not rules:
        scanner.fail("there is no rule")
    return rules


class _RuleParser(PatternParser):
    """A parser of one rule; name: of the rule."""

    def __init__(self, scanner: Scanner, name: str) -> None:
        super().__init__(scanner)
        self.rule = Rule(name, self.pattern)
        self.new_edges: set[str] = set()

    def parse_rule(self, end: str) -> Rule:
        """Parse the blocks of a rule up to a token, "" for the end of the text."""
        scanner = self.scanner
        # Commands can name what is declared later, so they are parsed at the end.
        commands: list[int] = []
        scanner.skip_blanks()
        begin = scanner.position
        while scanner.position < len(scanner.text) if not end else not scanner.accept(end):
            start = scanner.position
            name = scanner.read_name("pattern, with, without, global or commands")
            if name == "commands":
                commands.append(scanner.position)
                self._skip_commands()
            elif not self.parse_named_block(name):
                message = f"the block {name!r} is unknown in a rule; there are pattern, with,"
                scanner.fail(f"{message} without, global and commands", start)
            scanner.skip_blanks()
        if not commands:
            scanner.fail(f"the rule {self.rule.name!r} has no block commands", begin)
        self.resolve()
        after = scanner.position
        for position in commands:
            scanner.position = position
            self.parse_items(self._parse_command)
        scanner.position = after
        return self.rule

    def _skip_commands(self) -> None:
        """Move to the end of a block of commands; only texts and comments can contain braces."""
        scanner = self.scanner
        scanner.expect("{", "commands")
        while not scanner.accept("}"):
            if scanner.position >= len(scanner.text):
                scanner.fail("the block commands has no }")
            if scanner.accept_quoted() is None:
                scanner.position += 1

    def _parse_command(self) -> None:
        scanner = self.scanner
        scanner.skip_blanks()
        start = scanner.position
        name = scanner.read_node()
        if name in _UNSUPPORTED:
            message = (
                f"the command {name} is not supported: the comment # text, spaces and multiword"
            )
            message = f"{message} tokens do not say what becomes of them if words change"
            scanner.fail(f"{message}; edit the words in the file", start)
        if name in ("del_edge", "add_edge"):
            command = self._parse_edge_command(add=name == "add_edge")
        elif name in _SHIFTS:
            command = self._parse_shift(*_SHIFTS[name])
        elif name in ("append_feats", "prepend_feats"):
            command = self._parse_copy(before=name == "prepend_feats")
        elif name == "del_feat":
            command = self._parse_assignment(scanner.read_node(), start, deletes=True)
        elif scanner.text.startswith(".", scanner.position):
            command = self._parse_assignment(name, start)
        else:
            known = "del_edge, add_edge, shift, shift_in, shift_out, del_feat, append_feats"
            known = f"{known}, prepend_feats and X.feature = value"
            scanner.fail(f"the command {name!r} is unknown; there are {known}", start)
        self.rule.commands.append(command)

    def _read_declared(self, kind: str) -> str:
        """Read the name of a node or an edge of the pattern."""
        self.scanner.skip_blanks()
        start = self.scanner.position
        name = self.scanner.read_node()
        if self._kind_of(name, start) != kind:
            article = "an edge" if kind == "edge" else "a node"
            self.scanner.fail(f"{name!r} is not {article}", start)
        return name

    def _kind_of(self, name: str, start: int) -> str:
        return "edge" if name in self.new_edges else self.kind(self.pattern.kernel, name, start)

    def _parse_edge_command(self, add: bool) -> Command:
        """Parse what follows del_edge or add_edge."""
        scanner = self.scanner
        scanner.skip_blanks()
        start = scanner.position
        first = scanner.read_node()
        if not add and not scanner.sees("-"):
            scanner.position = start
            name = self._read_declared("edge")
            return lambda state: state.graph.remove_edge(state.edges[name])
        name = ""
        if add and scanner.accept(":"):
            name = first
            kernel = self.pattern.kernel
            names = {*self.new_edges, *kernel.nodes, *(edge.name for edge in kernel.edges)}
            if name in names:
                message = f"the name {name!r} is already used; give the new edge another one"
                scanner.fail(message, start)
            scanner.skip_blanks()
            start = scanner.position
            first = scanner.read_node()
        if self._kind_of(first, start) != "node":
            scanner.fail(f"{first!r} is not a node", start)
        label = self._parse_label()
        second = self._read_declared("node")
        if name:
            self.new_edges.add(name)
        elif label is None:
            scanner.fail("-> needs a relation here, as in X -[obj]-> Y", start)

        def command(state: Application) -> None:
            text = label(state) if label else ""
            edge = (state.nodes[first], state.nodes[second], text or "")
            if name:
                state.edges[name] = edge
            if text is None:
                return
            if add:
                state.graph.add_edge(edge)
            else:
                state.graph.remove_edge(edge)

        return command

    def _parse_label(self) -> Value | None:
        """Parse -[relation]-> or -[1=..., 2=...]->; None for ->."""
        scanner = self.scanner
        if scanner.accept("->"):
            return None
        scanner.expect("-[", "the source of an edge")
        if self._sees_part():
            scanner.skip_blanks()
            start = scanner.position
            parts: list[tuple[str, Value]] = []
            while not parts or scanner.accept(","):
                number = scanner.read_number("the number of a part, such as 1")
                scanner.expect("=", "the number of a part")
                parts.append((number, self._parse_value()))
            parts.sort(key=lambda part: part[0])
            if [number for number, _ in parts] != list("123456789"[: len(parts)]):
                scanner.fail("the parts of a relation are numbered 1, 2 and so on", start)
            label = _join([value for _, value in parts], ":")
        else:
            text = scanner.read_label()
            label = lambda state: text  # noqa: E731
        if not scanner.accept("]->"):
            scanner.fail(f"]-> is expected here, not {scanner.describe_next()}")
        return label

    def _parse_shift(self, moves_in: bool, moves_out: bool) -> Command:
        """Parse what follows shift, shift_in or shift_out."""
        scanner = self.scanner

        def parse_labels() -> Condition:
            negative = bool(scanner.accept("^"))
            names = [scanner.read_label()]
            while scanner.accept("|"):
                names.append(scanner.read_label())
            return Condition(names, negative=negative)

        first, names, second = self._parse_wide_arrow(parse_labels)
        label = LabelCondition(names)

        def command(state: Application) -> None:
            old, new = state.nodes[first], state.nodes[second]
            matched = set(state.nodes.values())
            graph = state.graph
            edges = [(old, target, name) for target, name in graph.outgoing[old] if moves_out]
            edges += [(source, old, name) for source, name in graph.incoming[old] if moves_in]
            for edge in edges:
                source, target, name = edge
                # As in Grew, edges between two nodes of the match stay.
                if not label[name] or (source in matched and target in matched):
                    continue
                moved = (
                    new if moves_out and source == old else source,
                    new if moves_in and target == old else target,
                    name,
                )
                if moved != edge:
                    graph.remove_edge(edge)
                    graph.add_edge(moved)

        return command

    def _parse_wide_arrow(
        self, parse_condition: Callable[[], Condition]
    ) -> tuple[str, Condition, str]:
        """Parse X ==> Y or X =[condition]=> Y; return both nodes and the condition, or any value's.

        parse_condition: parses what is in the brackets.
        """
        scanner = self.scanner
        first = self._read_declared("node")
        condition = Condition(negative=True)  # It allows every value.
        if not scanner.accept("==>"):
            scanner.expect("=[", "the first node")
            condition = parse_condition()
            if not scanner.accept("]=>"):
                scanner.fail(f"]=> is expected here, not {scanner.describe_next()}")
        return first, condition, self._read_declared("node")

    def _parse_copy(self, before: bool) -> Command:
        """Parse what follows append_feats or prepend_feats."""
        scanner = self.scanner
        separator = scanner.accept_quoted() or ""

        def parse_names() -> Condition:
            regex = scanner.accept_regex()
            if not regex:
                example = r're"Number\|Gender"'
                scanner.fail(f"a regular expression is expected here, such as {example}")
            return Condition(regex=regex)

        first, names, second = self._parse_wide_arrow(parse_names)
        self.rule.features |= {(first, ANY), (second, ANY)}

        def command(state: Application) -> None:
            graph, source, target = state.graph, state.nodes[first], state.nodes[second]
            for name in graph.feature_names(source):
                new, old = graph.columns[name][source], graph.columns[name][target]
                if new is None or not names[name.removeprefix(MISC)]:
                    continue
                if old is not None:
                    new = f"{new}{separator}{old}" if before else f"{old}{separator}{new}"
                graph.set_feature(target, name, new)

        return command

    def _parse_assignment(self, name: str, start: int, deletes: bool = False) -> Command:
        """Parse .feature = value after the name of a node or an edge, or .feature to delete it."""
        kind = self._kind_of(name, start)
        feature = self.read_reference_feature(name)
        if kind == "edge" and feature not in _EDGE_FEATURES:
            self.scanner.fail(f"an edge has no feature {feature!r} that can be set", start)
        if kind == "node" and feature == "__id__":
            self.scanner.fail("the ids of words cannot be changed", start)
        if kind == "node" and (advice := column_advice(feature)):
            self.scanner.fail(advice, start)
        self.rule.features.add((name, feature))

        def assign(state: Application, text: str | None) -> None:
            if kind == "edge":
                _set_label(state, name, feature, text)
            else:
                state.graph.set_feature(state.nodes[name], feature, text)

        if deletes:
            return lambda state: assign(state, None)
        self.scanner.expect("=", "the feature")
        value = self._parse_value()

        def command(state: Application) -> None:
            if (text := value(state)) is not None:
                assign(state, text)

        return command

    def _parse_value(self) -> Value:
        terms = [self._parse_term()]
        while self.scanner.accept("+"):
            terms.append(self._parse_term())
        return _join(terms, "")

    def _parse_term(self) -> Value:
        scanner = self.scanner
        quoted = scanner.accept_quoted()
        if quoted is not None or (quoted := scanner.accept_number()):
            text = quoted
            return lambda state: text
        scanner.skip_blanks()
        start = scanner.position
        name = scanner.read_node()
        if not scanner.text.startswith(".", scanner.position):
            return lambda state: name
        kind = self._kind_of(name, start)
        feature = self.read_reference_feature(name)
        if kind == "node" and (advice := column_advice(feature)):
            scanner.fail(advice, start)
        self.rule.features.add((name, feature))
        part = self._parse_slice()

        def value(state: Application) -> str | None:
            if kind == "edge":
                found = feature_of_edge(state.edges[name], feature)
            else:
                found = state.graph.columns[feature][state.nodes[name]]
            return None if found is None else found[part]

        return value

    def _parse_slice(self) -> slice:
        scanner = self.scanner
        if not scanner.accept("["):
            return slice(None)
        first = scanner.accept_number()
        scanner.expect(":", "[")
        last = scanner.accept_number()
        scanner.expect("]", "the slice")
        return slice(int(first) if first else None, int(last) if last else None)


def _join(values: Sequence[Value], separator: str) -> Value:
    """Return the value that joins others; it is not defined if one of them is not."""

    def value(state: Application) -> str | None:
        texts = [value(state) for value in values]
        known = [text for text in texts if text is not None]
        return separator.join(known) if len(known) == len(texts) else None

    return value


def _set_label(state: Application, name: str, feature: str, value: str | None) -> None:
    """Set the label of an edge or a part of it; None deletes it."""
    label = state.edges[name][2]
    if feature == "label":
        state.set_label(name, "_" if value is None else value)
        return
    parts = [] if label in ("", "_") else label.split(":")
    index = int(feature) - 1
    if value == "":
        state.fail(f"{name}.{feature} would be empty; del_feat {name}.{feature} deletes it")
    if value is not None and index > len(parts):
        message = f"{name}.{feature} cannot be set: the relation {label!r} of the edge {name} has"
        state.fail(f"{message} no part {index}")
    parts[index : index + 1] = [] if value is None else [value]
    state.set_label(name, ":".join(parts) or "_")
