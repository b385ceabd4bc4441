"""What is observed of the children of a constituent when its head is chosen among them."""

from depkit.convert.constituents import Node, coarse, first_verb, shape, subject
from depkit.convert.coordination import joined
from depkit.convert.head_rules import by_rule
from depkit.convert.linear import Key, Observed, Templates

HEAD = Templates(
    """parent child place last_place left right shape tag tags name order rule ruled above verb
    kid_shape subject told pair pair_place before after more sort sort_left sort_right sorts
    sort_order whole""",
    """
    whole rule
    parent child
    parent child place
    parent child last_place
    parent child left
    parent child right
    parent child left right
    parent place shape
    parent child tag
    parent child tag name
    parent child order
    parent rule
    parent child ruled rule
    parent child above
    parent child verb
    parent place verb shape
    parent place tags
    parent child tag left right
    parent child kid_shape
    parent child verb kid_shape
    parent child above order rule
    parent child told name verb
    parent child tag verb subject
    parent child subject verb told
    parent place shape verb subject
    parent child rule place
    pair pair_place
    parent pair pair_place
    pair_place before after child
    pair_place before more child
    parent sort sort_left sort_right
    parent sort sort_order pair_place
    parent sort rule sort_order
    parent place sorts
    """,
)
BESIDE = Templates(
    "parent child tag side label other name verb",
    """
    parent child side label
    parent child tag side other
    parent child side label name
    parent child side label verb
    """,
)


_PAIRED = {"NP", "NAC", "QP", "ADJP", "UCP"}
_REACH = 9  # how far away a sibling is still looked at

# What a head child depends on: label, label above, first verb, its subject, the tables' choice;
# and of each child label, tag and name of its head word, function tags, shape.
HeadView = tuple[str, str, str, str, int, tuple[tuple[str, str, str, str, str], ...]]


def head_view(node: Node) -> HeadView:
    """All that is seen of a constituent when its head child is chosen."""
    verb = first_verb(node)
    above = node.parent.label if node.parent else "^"
    kids = []
    for kid in node.kids:
        label = coarse(kid.label) if kid.kids else kid.label
        kids.append((label, kid.head.label, kid.head.name, kid.told, shape(kid)))
    verb_subject = subject(node) if verb else ""
    return coarse(node.label), above, verb, verb_subject, by_rule(node), tuple(kids)


def head_observed(view: HeadView) -> list[tuple[Observed, list[Observed]]]:
    """Of every child of a constituent, the observations of HEAD, and of BESIDE a sibling."""
    parent, above, verb, before_verb, ruled, kids = view
    labels = [kid[0] for kid in kids]
    size = len(kids)
    all_labels = " ".join(labels[:12])
    all_tags = " ".join([kid[1] for kid in kids[:12]])
    sorts = [coarse(label) for label in labels]
    all_sorts = " ".join(sorts[:12])
    pair = joined(labels) if parent in _PAIRED else None
    kind = "" if pair is None else "modifiers" if pair.modifiers else "nouns"
    before, after = ("", "") if pair is None else (pair.before, pair.after)
    found: list[tuple[Observed, list[Observed]]] = []
    for i, (child, tag, name, told, kid_shape) in enumerate(kids):
        at = ""
        if pair is not None:
            at = f"{i == pair.first:d}{i == pair.near:d}{i == pair.last:d}"
        observed = (
            parent, child, str(i), str(size - i), labels[i - 1] if i else "<",
            labels[i + 1] if i + 1 < size else ">", all_labels, tag, all_tags, name,
            f"{child in labels[:i]:d}{child in labels[i + 1 :]:d}",
            "ruled" if i == ruled else "", labels[ruled], above, verb, kid_shape, before_verb,
            told, kind, at, before, after, str(after.count(" ")), sorts[i],
            sorts[i - 1] if i else "<", sorts[i + 1] if i + 1 < size else ">", all_sorts,
            f"{sorts[i] in sorts[:i]:d}{sorts[i] in sorts[i + 1 :]:d}", "",
        )  # fmt: skip
        siblings: list[Observed] = []
        for j in range(max(0, i - _REACH), min(size, i + _REACH + 1)):
            if j != i:
                label, other, other_name, _, _ = kids[j]
                side = "<" if j < i else ">"
                siblings.append((parent, child, tag, side, label, other, other_name, verb))
        found.append((observed, siblings))
    return found


def head_features(view: HeadView) -> list[list[Key]]:
    """The features of every child, by the numbers of the conjunctions of HEAD, then of BESIDE."""
    found = []
    for observed, siblings in head_observed(view):
        features = HEAD.features(observed)
        for sibling in siblings:
            features += BESIDE.features(sibling, len(HEAD.getters))
        found.append(features)
    return found
