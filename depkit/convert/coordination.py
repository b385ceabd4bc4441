"""Coordinations in flat noun phrases, whose structure the treebank does not show.

In `oats and new corn`, `new` belongs to `corn`; in `silk and velvet gowns`, `silk` and `velvet`
belong to `gowns`. The predicates and steps that are defined here are for the tables of rules.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from depkit.convert.constituents import NEVER_CONJUNCT, REACH, Node

_FLAT_PHRASES = {"NP", "NX", "NML", "NAC", "QP"}
_BEFORE_CONJUNCT = {"ADVP", "RB", "PRN"}  # these can stand between a conjunction and a conjunct


class Coordination(NamedTuple):
    """The last coordination of a flat phrase; the integers are indices of children."""

    first: int  # the first conjunct
    conjunction: int
    next: int  # the first child after the conjunction that is no punctuation mark
    last: int  # the head of the last conjunct; the other conjuncts may be modifiers of it
    are_modifiers: bool  # whether they are: `silk and velvet gowns`, not `men and women`


def find_coordination(labels: Sequence[str]) -> Coordination | None:
    """Find the coordination among the children of a flat phrase, by their labels.

    Conjuncts are taken for modifiers of the last noun only in short phrases, and plurals never.
    """
    if "CC" not in labels:
        return None
    conjunction = max(i for i, label in enumerate(labels) if label == "CC")
    last = len(labels) - 1
    while last > conjunction and labels[last] in NEVER_CONJUNCT:
        last -= 1
    first = conjunction - 1
    while first >= 0 and labels[first] in NEVER_CONJUNCT:
        first -= 1
    if last == conjunction or first < 0:
        return None
    separators = (",", "CC", ":")
    while first > 1 and labels[first - 1] in separators and labels[first - 2] not in NEVER_CONJUNCT:
        first -= 2
    after = [i for i in range(conjunction + 1, last + 1) if labels[i] not in NEVER_CONJUNCT]
    before, size_after = list(labels[:first]), len(after)
    is_list = "," in labels[first:conjunction]
    are_modifiers = labels[first] not in ("NNS", "NP", "NX", "NML") and (
        (first == 0 and size_after > 1)
        or (first < 3 and is_list and size_after > 1)
        or (before == ["DT"] and size_after == 2)
        or (before == ["DT", "JJ"] and size_after == 2 and labels[first].startswith("J"))
    )
    if "$" in labels[conjunction:]:
        last = labels.index("$", conjunction)
    return Coordination(first, conjunction, after[0], last, are_modifiers)


@lru_cache(maxsize=8)  # The rules ask for it at each child of the phrase.
def _coordination_in(node: Node) -> Coordination | None:
    return find_coordination([child.label for child in node.children])


def _coordination_around(node: Node) -> tuple[Coordination | None, bool]:
    """Return the coordination of a word's flat phrase, and whether it is of modifiers."""
    parent = node.parent
    if parent is None or parent.label not in _FLAT_PHRASES:
        return None, False
    coordination = _coordination_in(parent)
    if coordination is None or parent.children[coordination.first].children:
        return None, False
    return coordination, parent.head_child.child_index > coordination.conjunction


def _siblings(node: Node) -> list[Node]:
    return node.parent.children if node.parent else [node]


def _has_shared_noun(node: Node) -> bool:
    coordination = _coordination_in(node)
    return coordination is not None and coordination.are_modifiers


def _is_first_conjunct(node: Node) -> bool:
    coordination = _coordination_in(node.parent) if node.parent else None
    return coordination is not None and coordination.first == node.child_index


def _is_modifier_conjunct(node: Node) -> bool:
    coordination, of_modifiers = _coordination_around(node)
    return (
        coordination is not None
        and of_modifiers
        and node.label not in NEVER_CONJUNCT
        and coordination.first < node.child_index <= coordination.next
    )


def _is_modifier_comma(node: Node) -> bool:
    coordination, of_modifiers = _coordination_around(node)
    return (
        coordination is not None
        and of_modifiers
        and coordination.first < node.child_index < coordination.conjunction
    )


def _is_last_conjunct(node: Node) -> bool:
    coordination, of_modifiers = _coordination_around(node)
    return coordination is not None and not of_modifiers and node.child_index == coordination.last


def _find_conjunct(node: Node) -> tuple[Node, ...]:
    """Return the head of the conjunct that a word belongs to, or of its phrase."""
    if node.parent is None:
        return ()
    coordination, of_modifiers = _coordination_around(node)
    if coordination and not of_modifiers and node.child_index > coordination.conjunction:
        last = node.parent.children[coordination.last]
        if last is not node and not node.children:
            return (last,)
    return (node.parent.head_child,)


def _find_first_conjunct(node: Node) -> tuple[Node, ...]:
    coordination, _ = _coordination_around(node)
    return (_siblings(node)[coordination.first],) if coordination else ()


def _find_next_conjunct(node: Node) -> tuple[Node, ...]:
    """Return the conjunct that a conjunction introduces."""
    coordination, of_modifiers = _coordination_around(node)
    if coordination and not of_modifiers and node.child_index == coordination.conjunction:
        return (_siblings(node)[coordination.last],)
    start = node.child_index + 1
    following = [
        sibling
        for sibling in _siblings(node)[start : start + REACH]
        if sibling.label not in NEVER_CONJUNCT
    ]
    conjuncts = [sibling for sibling in following if sibling.label not in _BEFORE_CONJUNCT]
    return tuple(conjuncts[:1] or following[:1])


PREDICATES: dict[str, Callable[[Node], bool]] = {
    "shared-noun": _has_shared_noun,  # of a phrase: its conjuncts are modifiers of its last noun
    "first-conjunct": _is_first_conjunct,
    "modifier-conjunct": _is_modifier_conjunct,  # `velvet` in `silk and velvet gowns`
    "modifier-comma": _is_modifier_comma,  # the comma in `silk, cotton and velvet gowns`
    "last-conjunct": _is_last_conjunct,
}
STEPS: dict[str, Callable[[Node], Sequence[Node]]] = {
    "conjunct": _find_conjunct,
    "first-conjunct": _find_first_conjunct,
    "next-conjunct": _find_next_conjunct,
}
