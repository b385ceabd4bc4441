"""Children that belong to another child than their parent's head: flat noun phrases, numbers."""

from typing import NamedTuple

from depkit.convert.constituents import IDLE, Node

_FLAT = {"NP", "NX", "NAC", "QP"}


class Pair(NamedTuple):
    """What the last conjunction of a flat phrase joins; places among the children.

    first, near: the first and the last of the joined ones before it; last: the last noun, which
    they may all modify; modifiers: whether they should do so (`cotton and acetate fibers`, but
    `men and women`); before, after: the labels before the first and from the conjunction on.
    """

    first: int
    near: int
    conjunction: int
    last: int
    modifiers: bool
    before: str
    after: str


def joined(labels: list[str]) -> Pair | None:
    """The conjoined children of a flat phrase, by their labels; None if there are none."""
    if "CC" not in labels:
        return None
    conjunction = len(labels) - 1 - labels[::-1].index("CC")
    last = len(labels) - 1
    while last > conjunction and labels[last] in IDLE:
        last -= 1
    near = conjunction - 1
    while near >= 0 and labels[near] in IDLE:
        near -= 1
    if last == conjunction or near < 0:
        return None
    first = near
    while first > 1 and labels[first - 1] in (",", "CC", ":") and labels[first - 2] not in IDLE:
        first -= 2
    before = " ".join(labels[:first])
    after = labels[conjunction + 1 : last + 1]
    # Only the shortest phrases are read as modifiers; plurals never are.
    modifiers = labels[first] not in ("NNS", "NP", "NX") and (
        (first == 0 and len(after) > 1)
        or (first < 3 and "," in labels[first:conjunction] and len(after) > 1)
        or (before == "DT" and len(after) == 2)
        or (before == "DT JJ" and len(after) == 2 and labels[first].startswith("J"))
    )
    return Pair(first, near, conjunction, last, modifiers, before, " ".join(after))


def attachments(node: Node) -> dict[int, int]:
    """The children that do not belong to the head: place -> the place of the one they do.

    In `$ 1.5 billion`, 1.5 belongs to billion; in `more than 30`, more to than; see `joined`
    and `_after_conjunction` for the rest. A child is never moved into its own dependents.
    """
    if node.label not in _FLAT:
        return {}
    labels = [kid.label for kid in node.kids]
    head = node.head_kid.place
    if node.label == "QP" and "CC" not in labels:
        return _in_number(labels, head)
    pair = joined(labels)
    if pair is None:
        return {}
    first, conjunction = node.kids[pair.first], pair.conjunction
    if head > conjunction and node.label != "QP" and first.label not in ("NP", "NX"):
        # [cotton and acetate] fibers: `and` and `acetate` belong to cotton
        return dict.fromkeys(range(pair.first + 1, min(conjunction + 2, head)), pair.first)
    if head < conjunction and not first.kids:
        return _after_conjunction(node, labels, pair)
    return {}


def _after_conjunction(node: Node, labels: list[str], pair: Pair) -> dict[int, int]:
    """oats and [new corn seeds]: `new` and `corn` belong to seeds."""
    last = pair.last
    head = node.head_kid.place
    if "$" in labels[pair.conjunction :]:
        last = labels.index("$", pair.conjunction)
    moved = {}
    for place in range(pair.conjunction + 1, len(labels)):
        if place != last and labels[place] not in IDLE and not node.kids[place].kids:
            moved[place] = last
    if labels[-1] == "POS" and head and labels[head - 1].startswith("N"):
        moved[len(labels) - 1] = last  # [Ann Smith & Jones]'s
    return moved


def _in_number(labels: list[str], head: int) -> dict[int, int]:
    if labels[0] in ("$", "#") and labels[1:] == ["CD", "CD"] and head == 0:
        return {1: 2}
    if labels[2] in ("CD", "DT") and head >= 2:
        if labels[1] == "IN" and labels[0] in ("JJR", "RBR", "JJ", "RB", "IN"):
            return {0: 1}  # more than
        if labels[:2] == ["IN", "JJS"]:
            return {1: 0}  # at least
    return {}
