"""Children that depend on a sibling rather than on their parent's head word.

They occur in flat noun phrases with a conjunction and in numbers.
"""

from typing import NamedTuple

from depkit.convert.constituents import NEVER_CONJUNCT, Node

_FLAT_PHRASES = {"NP", "NX", "NAC", "QP"}


class Coordination(NamedTuple):
    """The last coordination of a flat phrase; the integers are indices of children."""

    first: int  # the first conjunct
    previous: int  # the conjunct right before the conjunction
    conjunction: int
    last: int  # the last noun; the conjuncts may be modifiers of it
    are_modifiers: bool  # whether they are: `cotton and acetate fibers`, not `men and women`
    labels_before: str  # the labels before the first conjunct
    labels_after: str  # the labels after the conjunction, up to the last noun


def find_coordination(labels: list[str]) -> Coordination | None:
    """Find the coordination among the children of a flat phrase, by their labels."""
    if "CC" not in labels:
        return None
    conjunction = len(labels) - 1 - labels[::-1].index("CC")
    last = len(labels) - 1
    while last > conjunction and labels[last] in NEVER_CONJUNCT:
        last -= 1
    previous = conjunction - 1
    while previous >= 0 and labels[previous] in NEVER_CONJUNCT:
        previous -= 1
    if last == conjunction or previous < 0:
        return None
    first = previous
    separators = (",", "CC", ":")
    while first > 1 and labels[first - 1] in separators and labels[first - 2] not in NEVER_CONJUNCT:
        first -= 2
    labels_before = " ".join(labels[:first])
    labels_after = labels[conjunction + 1 : last + 1]
    # Conjuncts are taken for modifiers only in short phrases, and plurals never.
    are_modifiers = labels[first] not in ("NNS", "NP", "NX") and (
        (first == 0 and len(labels_after) > 1)
        or (first < 3 and "," in labels[first:conjunction] and len(labels_after) > 1)
        or (labels_before == "DT" and len(labels_after) == 2)
        or (labels_before == "DT JJ" and len(labels_after) == 2 and labels[first].startswith("J"))
    )
    return Coordination(
        first, previous, conjunction, last, are_modifiers, labels_before, " ".join(labels_after)
    )


def find_reattachments(node: Node) -> dict[int, int]:
    """Map the index of each child that does not depend on the head to the sibling it depends on.

    In `$ 1.5 billion`, `1.5` depends on `billion`; in `more than 30`, `more` depends on `than`; see
    also `find_coordination` and `_reattach_after_conjunction`. The result has no cycles.
    """
    if node.label not in _FLAT_PHRASES:
        return {}
    labels = [child.label for child in node.children]
    head = node.head_child.child_index
    if node.label == "QP" and "CC" not in labels:
        return _reattach_in_number(labels, head)
    coordination = find_coordination(labels)
    if coordination is None:
        return {}
    first, conjunction = node.children[coordination.first], coordination.conjunction
    if head > conjunction and node.label != "QP" and first.label not in ("NP", "NX"):
        # [cotton and acetate] fibers: `and` and `acetate` depend on cotton
        dependents = range(coordination.first + 1, min(conjunction + 2, head))
        return dict.fromkeys(dependents, coordination.first)
    if head < conjunction and not first.children:
        return _reattach_after_conjunction(node, labels, coordination)
    return {}


def _reattach_after_conjunction(
    node: Node, labels: list[str], coordination: Coordination
) -> dict[int, int]:
    """Map `new` and `corn` to `seeds` in `oats and [new corn seeds]`."""
    last = coordination.last
    head = node.head_child.child_index
    if "$" in labels[coordination.conjunction :]:
        last = labels.index("$", coordination.conjunction)
    new_heads = {}
    for index in range(coordination.conjunction + 1, len(labels)):
        is_word = not node.children[index].children
        if index != last and labels[index] not in NEVER_CONJUNCT and is_word:
            new_heads[index] = last
    if labels[-1] == "POS" and head and labels[head - 1].startswith("N"):
        new_heads[len(labels) - 1] = last  # [Ann Smith & Jones]'s
    return new_heads


def _reattach_in_number(labels: list[str], head: int) -> dict[int, int]:
    if labels[0] in ("$", "#") and labels[1:] == ["CD", "CD"] and head == 0:
        return {1: 2}
    if labels[2] in ("CD", "DT") and head >= 2:
        if labels[1] == "IN" and labels[0] in ("JJR", "RBR", "JJ", "RB", "IN"):
            return {0: 1}  # more than
        if labels[:2] == ["IN", "JJS"]:
            return {1: 0}  # at least
    return {}


def _coordination_of(node: Node) -> Coordination | None:
    return find_coordination([child.label for child in node.children])


def _has_shared_noun(node: Node) -> bool:
    coordination = _coordination_of(node)
    return coordination is not None and coordination.are_modifiers


def _is_first_conjunct(node: Node) -> bool:
    coordination = _coordination_of(node.parent) if node.parent else None
    return coordination is not None and coordination.first == node.child_index


def _position(node: Node) -> tuple[Coordination | None, bool]:
    """Return the coordination among a node's siblings, and whether it is of modifiers."""
    parent = node.parent
    if parent is None or parent.label not in _FLAT_PHRASES:
        return None, False
    coordination = _coordination_of(parent)
    if coordination is None or parent.children[coordination.first].children:
        return None, False
    return coordination, parent.head_child.child_index > coordination.conjunction


def _is_modifier_conjunct(node: Node) -> bool:
    coordination, of_modifiers = _position(node)
    if coordination is None or not of_modifiers or node.label in NEVER_CONJUNCT:
        return False
    assert node.parent is not None
    return coordination.first < node.child_index <= coordination.conjunction + 1


def _is_modifier_comma(node: Node) -> bool:
    coordination, of_modifiers = _position(node)
    return (
        coordination is not None
        and of_modifiers
        and coordination.first < node.child_index < coordination.conjunction
    )


def _is_last_conjunct(node: Node) -> bool:
    coordination, of_modifiers = _position(node)
    return coordination is not None and not of_modifiers and node.child_index == _last(node)


def _last(node: Node) -> int:
    coordination = _position(node)[0]
    assert node.parent is not None and coordination is not None
    labels = [child.label for child in node.parent.children]
    if "$" in labels[coordination.conjunction :]:
        return labels.index("$", coordination.conjunction)
    return coordination.last


def _conjunct(node: Node) -> tuple[Node, ...]:
    """Return the sibling that heads the conjunct of a flat phrase to which a word belongs."""
    parent = node.parent
    if parent is None:
        return ()
    coordination, of_modifiers = _position(node)
    if coordination and not of_modifiers and node.child_index > coordination.conjunction:
        last = parent.children[_last(node)]
        if last is not node and not node.children:
            return (last,)
    return (parent.head_child,)


def _first_conjunct(node: Node) -> tuple[Node, ...]:
    coordination = _position(node)[0]
    return () if coordination is None else (node.parent.children[coordination.first],)


def _next_conjunct(node: Node) -> tuple[Node, ...]:
    """Return the conjunct that a conjunction introduces."""
    parent = node.parent
    if parent is None:
        return ()
    coordination, of_modifiers = _position(node)
    following = parent.children[node.child_index + 1 :]
    if coordination and not of_modifiers and node.child_index == coordination.conjunction:
        return (parent.children[_last(node)],)
    candidates = [child for child in following if child.label not in NEVER_CONJUNCT]
    phrases = [child for child in candidates if child.label not in ("ADVP", "RB", "PRN")]
    return tuple(phrases[:1] or candidates[:1])


PREDICATES = {
    "shared-noun": _has_shared_noun,
    "first-conjunct": _is_first_conjunct,
    "modifier-conjunct": _is_modifier_conjunct,
    "modifier-comma": _is_modifier_comma,
    "last-conjunct": _is_last_conjunct,
}
STEPS = {
    "conjunct": _conjunct,
    "first-conjunct": _first_conjunct,
    "next-conjunct": _next_conjunct,
}
