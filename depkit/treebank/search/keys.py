"""Keys: what is printed of matches, and by what they are counted, as in the clustering of Grew.

A key is `X.upos`, or `X.ExtPos/upos` for the first of several features that is defined; `e.label`,
`e.1`, `e.length` or `e.delta` of an edge; `delta(X,Y)` or `length(X,Y)`; `X#Y#Z` for the order of
nodes; `X -> Y` or `X <-> Y` for the relation between two nodes; or clauses in braces, which are Yes
if the match can be extended by them, else No. With [gap=10] after a key whose values are numbers,
they are put into intervals of this size: [0, 10[ has the numbers from 0 to below 10. With
[gap=10, min=0, max=50], all numbers below 0 are in one interval, and all from 50 on in another.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from depkit.files.errors import ArgumentError
from depkit.treebank.search.graph import Graph
from depkit.treebank.search.matcher import Found
from depkit.treebank.search.pattern_parser import feature_of_edge, parse_clauses
from depkit.treebank.search.search import Search

# A function of a graph and a match; None is a feature that is not defined.
Key = Callable[[Graph, Found], str | None]

UNDEFINED = "__undefined__"
_DISTANCE = re.compile(r"(delta|length)\s*\(([^,()]+),([^,()]+)\)")
_RELATION = re.compile(r"([^<>-]+)(<->|->)([^<>-]+)")
_GAP = re.compile(
    r"\s*\[\s*gap\s*=\s*([0-9.]+)\s*(?:,\s*min\s*=\s*(-?[0-9.]+)\s*)?"
    r"(?:,\s*max\s*=\s*(-?[0-9.]+)\s*)?\]\s*"
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?")
_FEATURE = re.compile(r"([^./]+)\.(.+)", re.DOTALL)


def parse_key(text: str, search: Search, argument: str = "by") -> Key:
    """Parse a key of the matches of a search.

    Raises ArgumentError, which names `argument`, for a key that does not exist or names a node or
    an edge that the pattern does not have, and PatternError for invalid clauses.
    """
    if (start := re.search(r"\[\s*gap", text)) and not text.lstrip().startswith("{"):
        key = parse_key(text[: start.start()], search, argument)
        interval = parse_gap(text[start.start() :], argument)
        return lambda graph, found: interval(key(graph, found))
    nodes = {name: slot for slot, name in enumerate(search.matcher.nodes)}
    edges = {name: slot for slot, name in enumerate(search.matcher.edges)}
    stripped = text.strip()

    def node(name: str) -> int:
        if name.strip() not in nodes:
            known = f"; its nodes are {', '.join(nodes)}" if nodes else ""
            message = f"the pattern has no node {name.strip()!r}{known}"
            raise ArgumentError(argument, message)
        return nodes[name.strip()]

    if stripped.startswith("{"):
        block = parse_clauses(stripped, search.pattern)
        search.check_enhanced()
        plan = search.matcher.plan_extension(block)
        return lambda graph, found: "Yes" if search.matcher.extends(graph, found, plan) else "No"
    if "#" in stripped:
        slots = [(name.strip(), node(name)) for name in stripped.split("#")]
        return lambda _, found: " << ".join(
            name for name, slot in sorted(slots, key=lambda pair: found[0][pair[1]])
        )
    if match := _RELATION.fullmatch(stripped):
        return _relation_key(node(match[1]), node(match[3]), both=match[2] == "<->")
    if match := _DISTANCE.fullmatch(stripped):
        function, first, second = match[1], node(match[2]), node(match[3])
        measure: Any = abs if function == "length" else int
        return lambda _, found: str(measure(found[0][second] - found[0][first]))
    match = _FEATURE.fullmatch(stripped)
    if match and match[1] in edges:
        slot, names = edges[match[1]], match[2].split("/")
        return lambda _, found: _first(feature_of_edge(found[1][slot], name) for name in names)
    if match:
        slot, names = node(match[1]), match[2].split("/")
        return lambda graph, found: _first(graph.columns[name][found[0][slot]] for name in names)
    message = f"{text!r} is no key; write"
    if argument == "fields":
        names = ", ".join([*nodes, "file", "line", "sent_id", "text"])
        message = f"{text!r} is no field; write {names}, or a key,"
    examples = "for example X.upos, e.label, X#Y, X -> Y, delta(X,Y) or { X << Y }"
    raise ArgumentError(argument, f"{message} {examples}")


def parse_field(text: str, search: Search) -> Key:
    """Parse a field: a key, the name of a node (its id), or file, line, sent_id or text.

    Raises ArgumentError and PatternError as `parse_key`.
    """
    name = text.strip()
    if name in search.matcher.nodes:
        slot = search.matcher.nodes.index(name)
        return lambda graph, found: graph.ids[found[0][slot]]
    if name == "line":
        return lambda graph, found: str(graph.sentence.line)
    if name in ("file", "sent_id", "text"):
        return lambda graph, found: getattr(graph.sentence, name)
    return parse_key(text, search, "fields")


def parse_gap(text: str, argument: str) -> Callable[[str | None], str | None]:
    """Parse [gap=..., min=..., max=...] and return the function from a value to its interval.

    Values that are not numbers stay as they are. Fractions are exact, as floats are not: 0.3 is in
    the interval from 0.3 for a gap of 0.1.
    """
    match = _GAP.fullmatch(text)
    parts = match.groups() if match else (None,)
    if not all(part is None or _NUMBER.fullmatch(part) for part in parts) or not parts[0]:
        raise ArgumentError(argument, f"{text!r} is not of the form [gap=10, min=0, max=50]")
    gap, low, high = (None if part is None else Fraction(part) for part in parts)
    if not gap:
        raise ArgumentError(argument, "the gap must not be 0")
    if low is not None and high is not None and low >= high:
        raise ArgumentError(argument, "min must be less than max")

    def interval(value: str | None) -> str | None:
        if value is None or not _NUMBER.fullmatch(value):
            return value
        number = Fraction(value)
        if low is not None and number < low:
            return f"]-∞, {_decimal(low)}["
        if high is not None and number >= high:
            return f"[{_decimal(high)}, +∞["
        start = (low or 0) + (number - (low or 0)) // gap * gap
        end = start + gap if high is None else min(start + gap, high)
        return f"[{_decimal(start)}, {_decimal(end)}["

    return interval


def _decimal(number: Fraction) -> str:
    """Write a number whose denominator is a power of ten, or divides one."""
    digits = 0
    while (number * 10**digits).denominator > 1:
        digits += 1
    scaled = abs(int(number * 10**digits))
    whole, rest = divmod(scaled, 10**digits)
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}.{rest:0{digits}}" if digits else f"{sign}{whole}"


def _first(values: Any) -> str | None:
    return next((value for value in values if value is not None), None)


def _relation_key(first: int, second: int, both: bool) -> Key:
    """Return the key of the relation between two nodes.

    both: whether relations in the other direction count, too; they are written as `-nsubj`.
    """

    def relation(graph: Graph, found: Found) -> str:
        x, y = found[0][first], found[0][second]
        labels = _labels(graph, x, y)
        if both:
            labels += [f"-{label}" for label in _labels(graph, y, x)]
        return labels[0] if len(labels) == 1 else "__multi__" if labels else "__none__"

    return relation


def _labels(graph: Graph, x: int, y: int) -> list[str]:
    return [label for source, label in graph.incoming[y] if source == x]
