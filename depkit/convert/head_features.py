"""Features of the children of a constituent, from which its head child is chosen."""

from depkit.convert.constituents import Node, child_labels, coarse_label, first_verb, subject_tag
from depkit.convert.coordination import find_coordination
from depkit.convert.head_rules import head_by_rule
from depkit.convert.linear import Feature, Observations, Templates

# The observations of a child, in the order in which `observe_children` gives them:
# parent child: labels of the constituent and of the child (coarse, unless it is a word)
# place last_place: the child's index, counted from the left and from the right
# left right shape: labels of the next child on either side; labels of all children
# tag tags name: tag of the child's head word; tags of all head words; closed class of the word
# order: whether a child with the same label precedes it, and follows it
# rule ruled: whether the rules choose this child; label of the child that they choose
# above verb: label of the constituent's parent; first verb among the children
# kid_shape subject told: labels of the child's children; the verb's subject; function tags
# pair pair_place before after: kind of the coordination; whether the child is its first, previous
#   or last noun; labels before and after it
# more: the number of spaces in `after`
# sort sort_left sort_right sorts sort_order: child, left, right, shape and order by coarse labels
# whole: always empty, so that a conjunction can consist of a single other observation
CHILD_TEMPLATES = Templates(
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
# The observations of a child and one of its siblings:
# parent child tag verb: as above; side: on which side of the child the sibling is
# label other name: the sibling's label, and tag and closed class of its head word
SIBLING_TEMPLATES = Templates(
    "parent child tag side label other name verb",
    """
    parent child side label
    parent child tag side other
    parent child side label name
    parent child side label verb
    """,
)


_COORDINATED = {"NP", "NAC", "QP", "ADJP", "UCP"}  # phrases whose coordinations are observed
_MAX_DISTANCE = 9  # how far away a sibling is still observed

# All that the choice of a head child depends on: the constituent's label, its parent's label, the
# first verb, its subject, the child that the rules choose; and for each child its label, tag and
# closed class of its head word, its function tags and its children's labels.
HeadContext = tuple[str, str, str, str, int, tuple[tuple[str, str, str, str, str], ...]]


def head_context(node: Node) -> HeadContext:
    """Return all that the choice of a constituent's head child depends on."""
    verb = first_verb(node)
    above = node.parent.label if node.parent else "^"
    children = []
    for child in node.children:
        label = coarse_label(child.label) if child.children else child.label
        head = child.head
        children.append(
            (label, head.label, head.closed_class, child.function_tags, child_labels(child))
        )
    subject = subject_tag(node) if verb else ""
    return coarse_label(node.label), above, verb, subject, head_by_rule(node), tuple(children)


def observe_children(
    context: HeadContext,
) -> list[tuple[Observations, list[Observations]]]:
    """Return, for each child, the observations of it and those of it with each sibling."""
    parent, above, verb, subject, head_index, children = context
    labels = [child[0] for child in children]
    size = len(children)
    all_labels = " ".join(labels[:12])
    all_tags = " ".join([child[1] for child in children[:12]])
    categories = [coarse_label(label) for label in labels]
    all_categories = " ".join(categories[:12])
    pair = find_coordination(labels) if parent in _COORDINATED else None
    kind = "" if pair is None else "modifiers" if pair.are_modifiers else "nouns"
    before, after = ("", "") if pair is None else (pair.labels_before, pair.labels_after)
    result: list[tuple[Observations, list[Observations]]] = []
    for i, (label, tag, name, function_tags, grandchildren) in enumerate(children):
        roles = ""
        if pair is not None:
            roles = f"{i == pair.first:d}{i == pair.previous:d}{i == pair.last:d}"
        observed = (
            parent, label, str(i), str(size - i), labels[i - 1] if i else "<",
            labels[i + 1] if i + 1 < size else ">", all_labels, tag, all_tags, name,
            f"{label in labels[:i]:d}{label in labels[i + 1 :]:d}",
            "ruled" if i == head_index else "", labels[head_index], above, verb, grandchildren,
            subject, function_tags, kind, roles, before, after, str(after.count(" ")),
            categories[i], categories[i - 1] if i else "<",
            categories[i + 1] if i + 1 < size else ">", all_categories,
            f"{categories[i] in categories[:i]:d}{categories[i] in categories[i + 1 :]:d}", "",
        )  # fmt: skip
        siblings: list[Observations] = []
        for j in range(max(0, i - _MAX_DISTANCE), min(size, i + _MAX_DISTANCE + 1)):
            if j != i:
                sibling_label, sibling_tag, sibling_name, _, _ = children[j]
                side = "<" if j < i else ">"
                siblings.append(
                    (parent, label, tag, side, sibling_label, sibling_tag, sibling_name, verb)
                )
        result.append((observed, siblings))
    return result


def head_features(context: HeadContext) -> list[list[Feature]]:
    """Return the features of each child.

    The conjunctions of CHILD_TEMPLATES are numbered first, those of SIBLING_TEMPLATES after them.
    """
    result = []
    for observed, siblings in observe_children(context):
        features = CHILD_TEMPLATES.features(observed)
        for sibling in siblings:
            features += SIBLING_TEMPLATES.features(sibling, len(CHILD_TEMPLATES.getters))
        result.append(features)
    return result
