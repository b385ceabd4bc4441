"""Features of the children of a constituent, from which its head child is chosen."""

from collections.abc import Sequence

from depkit.convert.constituents import Node, child_labels, coarse_label, first_verb, subject_tag
from depkit.convert.coordination import find_coordination
from depkit.convert.head_rules import head_by_rule
from depkit.convert.linear import Feature, Observations, Templates

# The observations of a child, in the order in which `observe_children` returns them:
# parent, child: labels of the constituent and of the child (coarse, unless it is a word)
# index, reverse_index: the child's index, counted from the left and from the right
# left, right, shape: labels of the next child on either side; labels of all children
# tag, tags, word_class: tag of the child's head word; tags of all head words; closed class
# order: whether a child with the same label precedes it, and follows it
# rule, rule_label: whether the rules choose this child; label of the child that they choose
# grandparent, verb: label of the constituent's parent; first verb among the children
# grandchildren, subject, functions: labels of the child's children; the verb's subject; function
#   tags
# coordination, roles: kind of the coordination; whether the child is its first conjunct, the
#   conjunct before the conjunction, or its last noun
# labels_before, labels_after, num_spaces: as in `Coordination`; the spaces in labels_after
# category, category_left, category_right, categories, category_order: child, left, right, shape
#   and order by coarse labels
# bias: always empty, so that a conjunction can consist of a single other observation
CHILD_TEMPLATES = Templates(
    """
    parent child index reverse_index left right shape tag tags word_class order rule rule_label
    grandparent verb grandchildren subject functions coordination roles labels_before labels_after
    num_spaces category category_left category_right categories category_order bias
    """,
    """
    bias rule
    parent child
    parent child index
    parent child reverse_index
    parent child left
    parent child right
    parent child left right
    parent index shape
    parent child tag
    parent child tag word_class
    parent child order
    parent rule
    parent child rule_label rule
    parent child grandparent
    parent child verb
    parent index verb shape
    parent index tags
    parent child tag left right
    parent child grandchildren
    parent child verb grandchildren
    parent child grandparent order rule
    parent child functions word_class verb
    parent child tag verb subject
    parent child subject verb functions
    parent index shape verb subject
    parent child rule index
    coordination roles
    parent coordination roles
    roles labels_before labels_after child
    roles labels_before num_spaces child
    parent category category_left category_right
    parent category category_order roles
    parent category rule category_order
    parent index categories
    """,
)
# The observations of a child and one of its siblings:
# parent, child, tag, verb: as above; side: on which side of the child the sibling is
# sibling, sibling_tag, sibling_class: the sibling's label; tag and closed class of its head word
SIBLING_TEMPLATES = Templates(
    "parent child tag side sibling sibling_tag sibling_class verb",
    """
    parent child side sibling
    parent child tag side sibling_tag
    parent child side sibling sibling_class
    parent child side sibling verb
    """,
)


_COORDINATED = {"NP", "NAC", "QP", "ADJP", "UCP"}  # phrases whose coordinations are observed
_MAX_DISTANCE = 9  # siblings that are farther away are not observed

# All that the choice of a head child depends on: the constituent's label, its parent's label, the
# first verb, its subject, the child that the rules choose; and for each child its label, tag and
# closed class of its head word, its function tags and its children's labels.
HeadContext = tuple[str, str, str, str, int, tuple[tuple[str, str, str, str, str], ...]]


def head_context(node: Node) -> HeadContext:
    """Return all that the choice of a constituent's head child depends on."""
    verb = first_verb(node)
    grandparent = node.parent.label if node.parent else "^"
    children = []
    for child in node.children:
        label = coarse_label(child.label) if child.children else child.label
        head = child.head
        children.append(
            (label, head.label, head.closed_class, child.function_tags, child_labels(child))
        )
    subject = subject_tag(node) if verb else ""
    rule_index = head_by_rule(node)
    return coarse_label(node.label), grandparent, verb, subject, rule_index, tuple(children)


def observe_children(
    context: HeadContext,
) -> list[tuple[Observations, list[Observations]]]:
    """Return, for each child, its observations and those of it together with each sibling."""
    parent, grandparent, verb, subject, rule_index, children = context
    labels = [child[0] for child in children]
    size = len(children)
    all_labels = " ".join(labels[:12])
    all_tags = " ".join([child[1] for child in children[:12]])
    categories = [coarse_label(label) for label in labels]
    all_categories = " ".join(categories[:12])
    coordination = find_coordination(labels) if parent in _COORDINATED else None
    kind = labels_before = labels_after = ""
    if coordination is not None:
        kind = "modifiers" if coordination.are_modifiers else "nouns"
        labels_before, labels_after = coordination.labels_before, coordination.labels_after
    num_spaces = str(labels_after.count(" "))
    bounds = _find_bounds(labels)
    category_bounds = _find_bounds(categories)
    result: list[tuple[Observations, list[Observations]]] = []
    for i, (label, tag, word_class, function_tags, grandchildren) in enumerate(children):
        roles = ""
        if coordination is not None:
            conjuncts = coordination.first, coordination.previous, coordination.last
            roles = "".join([f"{i == index:d}" for index in conjuncts])
        observations = (
            parent, label, str(i), str(size - i), labels[i - 1] if i else "<",
            labels[i + 1] if i + 1 < size else ">", all_labels, tag, all_tags, word_class,
            _is_among_others(bounds[label], i),
            "ruled" if i == rule_index else "", labels[rule_index], grandparent, verb,
            grandchildren, subject, function_tags, kind, roles, labels_before, labels_after,
            num_spaces,
            categories[i], categories[i - 1] if i else "<",
            categories[i + 1] if i + 1 < size else ">", all_categories,
            _is_among_others(category_bounds[categories[i]], i), "",
        )  # fmt: skip
        siblings: list[Observations] = []
        for j in range(max(0, i - _MAX_DISTANCE), min(size, i + _MAX_DISTANCE + 1)):
            if j != i:
                sibling_label, sibling_tag, sibling_class, _, _ = children[j]
                side = "<" if j < i else ">"
                siblings.append(
                    (parent, label, tag, side, sibling_label, sibling_tag, sibling_class, verb)
                )
        result.append((observations, siblings))
    return result


def _find_bounds(labels: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the indices of the first and the last child with each label."""
    last = {label: index for index, label in enumerate(labels)}
    first = {label: index for index, label in reversed([*enumerate(labels)])}
    return {label: (first[label], last[label]) for label in last}


def _is_among_others(bounds: tuple[int, int], index: int) -> str:
    """Return for a child whether others before and after it have its label: two digits."""
    return f"{bounds[0] < index:d}{bounds[1] > index:d}"


def head_features(context: HeadContext) -> list[list[Feature]]:
    """Return the features of each child.

    The conjunctions of CHILD_TEMPLATES are numbered first, those of SIBLING_TEMPLATES after them.
    """
    result = []
    for observations, siblings in observe_children(context):
        features = CHILD_TEMPLATES.features(observations)
        for sibling in siblings:
            features += SIBLING_TEMPLATES.features(sibling, len(CHILD_TEMPLATES.getters))
        result.append(features)
    return result
