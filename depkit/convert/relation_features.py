"""Features of a word and its head, from which their relation is chosen."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from depkit.convert.constituents import (
    Node,
    child_categories,
    child_labels,
    coarse_label,
    head_path,
    phrase_children,
    subject_tag,
    verb_group,
)
from depkit.convert.linear import Observations, Templates

# The conjunctions cover what the definitions of the relations in the manual refer to: the
# constituent and its sibling with the head, verb groups (passives), preceding objects, summaries of
# clauses, words of closed classes, times. They become smaller and smaller, so that a rare
# constituent still has some known features.
#
# The observations, in the order in which `observe_relations` gives them. The constituent is the
# largest one that the dependent heads; its parent is the one that the head heads as well.
# parent above top opening size: labels of the parent and of the two constituents above it; label
#   of its first child; number of its children
# head head_shape head_kinds verbs: the head child's coarse label, its children's labels (all, and
#   coarse without repetition), its verb group
# subject passive: the subject of the parent, if it is a verb phrase; the end of a passive group
# child child_told told kinds shape: the constituent's label, without and with function tags; these
#   tags; the labels of its children as for the head child
# bottom: label and children's labels of the constituent below all unary branches
# core core_kinds: label and children's categories of its first child that is no word
# first first_name: label of its first child; closed class or tag of that child's head word
# spine own: labels on the path to the dependent; verb group
# clause inner form: see `_observe_clause`
# tag name governor governor_name: tag and closed class of the dependent; coarse tag and closed
#   class of the head
# side near other: whether it precedes or follows the head child; at what distance; the distance
#   from the head, if that is not the parent's head word
# left2 left right window same: labels of the children around it; how many have its label
# objects object later prior: complements between the head child and it; whether there is an
#   object; complements after it; those before it, if it precedes the head child
# coordination marks wh: conjunctions and punctuation before it; what introduces the clause
RELATION_TEMPLATES = Templates(
    """
    parent above top opening size
    head head_shape head_kinds verbs subject passive
    child child_told told kinds shape bottom core core_kinds first first_name spine own
    clause inner form
    tag name governor governor_name
    side near other left2 left right window same
    objects object later prior coordination marks wh
    """,
    """
    parent child side
    parent child_told head side
    parent child side tag
    parent child side tag name
    tag governor side
    tag name governor
    child tag governor side
    parent child_told head side near
    parent child_told head side left right
    parent child side window
    parent child_told side window above
    parent child side window name
    parent child side verbs
    parent child_told head side verbs coordination
    parent child side verbs tag name
    name verbs child
    parent head verbs tag name
    parent child_told head side above top
    parent child side shape
    parent child_told head side shape
    parent child_told side kinds
    parent child side spine
    parent child_told head side spine near
    parent child side first first_name
    parent child side core core_kinds
    child kinds core core_kinds
    parent child_told side core_kinds own left
    parent child_told side clause inner
    child_told kinds clause
    parent child_told governor clause
    parent child side form
    parent child_told side form first_name object
    parent child_told head form first first_name
    parent child_told form kinds left object
    parent child_told form governor object marks
    parent child_told form side left right
    parent child_told form governor_name first_name
    parent child_told side objects later governor
    parent child_told head side objects later prior
    parent child_told side objects later name
    parent child_told objects left
    parent child_told name objects
    child first first_name objects parent
    child tag name told objects
    parent child_told side marks coordination
    parent child_told head side coordination left
    parent child side coordination tag governor
    parent head child_told side coordination kinds left
    parent child_told coordination left right tag
    parent child_told head same coordination governor
    parent child side tag left right
    parent child side governor left tag
    name tag
    name tag right
    name governor side child
    tag name told shape governor
    head child side tag name
    other tag governor parent name
    parent child_told head side wh prior
    parent child_told side wh first verbs
    parent child side told name tag
    parent child_told side governor governor_name
    parent child governor governor_name first first_name
    parent child side governor_name name
    parent child side subject governor_name
    parent child side head_shape
    parent child side head_kinds
    parent child_told side own verbs
    parent child opening size
    parent child_told head side bottom
    parent child_told side left2 left
    parent child side passive
    parent child_told side passive name tag
    """,
)


class ParentContext:
    """The observations that all children of a constituent share."""

    __slots__ = (
        "labels",  # of the children
        "complements",  # of the children, see `_complement_kind`
        "marked_labels",  # the labels, with a star before the head child's
        "shared",  # the first observations of RELATION_TEMPLATES, up to `passive`
    )

    def __init__(self, parent: Node) -> None:
        children, head = parent.children, parent.head_child
        above = parent.parent
        self.labels = [child.label for child in children]
        self.complements = [_complement_kind(child) for child in children]
        self.marked_labels = self.labels.copy()
        self.marked_labels[head.child_index] = "*" + head.label
        verbs = verb_group(head)
        last_two = verbs.split()[-2:]
        is_passive = len(last_two) > 1 and last_two[0] in ("be", "get", "become")
        self.shared = (
            parent.label,
            above.label if above else "^",
            above.parent.label if above and above.parent else "^",
            self.labels[0],
            str(len(children)),
            coarse_label(head.label),
            child_labels(head),
            child_categories(head),
            verbs,
            subject_tag(parent) if parent.label == "VP" else "",
            " ".join(last_two) if is_passive else "",
        )


def observe_relations(
    words: Sequence[Node], arcs: Sequence[tuple[Node, Node]]
) -> Iterator[Observations | None]:
    """Yield the observations of each word and its head, or None for the root.

    `arcs` are the result of `stanford.find_arcs` for the words.
    """
    contexts: dict[Node, ParentContext] = {}
    for word, (head, top) in zip(words, arcs, strict=True):
        parent = top.parent
        if parent is None or head is word:
            yield None
            continue
        context = contexts.get(parent)
        if context is None:
            context = contexts[parent] = ParentContext(parent)
        if top.children:
            observed = _observe_constituent(top)
        else:
            observed = _observe_word(top.label, top.function_tags, top.closed_class)
        yield (
            *context.shared,
            *observed,
            word.label,
            word.closed_class,
            coarse_label(head.label),
            head.closed_class,
            *_observe_siblings(top, parent, head, context),
        )


def _observe_constituent(top: Node) -> Observations:
    """Return the observations from `child` to `form`."""
    core = next(phrase_children(top), top)
    first = top.children[0] if top.children else top
    bottom = top
    while len(bottom.children) == 1:
        bottom = bottom.children[0]
    return (
        top.label,
        top.label + top.function_tags,
        top.function_tags,
        child_categories(top),
        child_labels(top),
        bottom.label + " " + child_labels(bottom),
        core.label,
        child_categories(core),
        first.label,
        first.head.closed_class or first.head.label,
        head_path(top),
        verb_group(top),
        *_observe_clause(top),
    )


@lru_cache(maxsize=1 << 12)
def _observe_word(label: str, function_tags: str, closed_class: str) -> Observations:
    word = Node(label, function_tags, None, 0)
    word.closed_class = closed_class
    return _observe_constituent(word)


def _observe_siblings(top: Node, parent: Node, head: Node, context: ParentContext) -> Observations:
    """Return the observations from `side` to `wh`."""
    index, head_index = top.child_index, parent.head_child.child_index
    labels, complements, marked = context.labels, context.complements, context.marked_labels
    side = "<" if index < head_index else ">"
    other = ""
    if head is not parent.head:
        sibling = next((child.child_index for child in parent.children if child.head is head), 0)
        other = str(index - sibling)
    before = marked[max(0, index - 4) : index]
    objects = complements[head_index + 1 : index]
    coordination = "c" * _has_conjunction(labels[:index]) + "C" * _has_conjunction(labels[index:])
    above = parent.parent
    wh = ""
    if above and parent.label in ("S", "SQ", "SBARQ"):
        wh = above.label + (above.children[0].label if above.children[0] is not parent else "")
    return (
        side,
        side + str(min(abs(index - head_index), 3)) + other,
        other,
        labels[index - 2] if index > 1 else "<",
        labels[index - 1] if index else "<",
        labels[index + 1] if index + 1 < len(labels) else ">",
        " ".join([*before, "^" + top.label, *marked[index + 1 : index + 5]]),
        str(min(labels.count(top.label), 3)),
        "".join(objects)[:4],
        str("N" in objects),
        "".join(complements[index + 1 :])[:2],
        "".join(complements[:index])[:4] if side == "<" else "",
        coordination,
        "".join([mark for mark in ("``", ":", ",") if mark in labels[:index]]),
        wh,
    )


def _has_conjunction(labels: list[str]) -> bool:
    return "CC" in labels or "CONJP" in labels


_TIMES = {
    "weekday", "month", "today", "season", "day", "days", "week", "weeks", "months", "year",
    "years", "morning", "afternoon", "evening", "night", "quarter",
}  # fmt: skip


def _complement_kind(child: Node) -> str:
    """Return N for a possible object, T for a time, S for a clause; "" for others."""
    if child.label == "NP":
        is_time = "T" in child.function_tags or child.head.closed_class in _TIMES
        return "T" if is_time else "N"
    return "S" if child.label in ("S", "SBAR") else ""


_CLAUSES = {"S", "SINV", "SQ", "VP"}


def _observe_clause(top: Node) -> tuple[str, str, str]:
    """Return the observations `clause`, `inner` and `form` of a clause or verb phrase.

    `clause` is the categories of the clause's and of its verb phrase's children, `inner` the label
    of its subject and its verb group, `form` the result of `_clause_form`. For a constituent that
    is no clause, `form` is the categories of its children, the others are "".
    """
    clause = top
    if top.label in ("SBAR", "SBARQ"):
        clause = next((child for child in top.children if child.label in _CLAUSES), top)
    elif top.label not in _CLAUSES:
        return "", "", child_categories(top)
    phrase = next((child for child in clause.children if child.label == "VP"), clause)
    categories = f"{child_categories(clause)} / {child_categories(phrase)}"
    subjects = [child for child in clause.children if child.label in ("NP", "SBAR", "S")]
    head_index = clause.head_child.child_index
    before = (child.label for child in reversed(subjects) if child.child_index < head_index)
    inner = f"{next(before, '')}+{verb_group(top)}"
    return categories, inner, _clause_form(clause, phrase, subjects)


def _clause_form(clause: Node, phrase: Node, subjects: list[Node]) -> str:
    """Return the subject's label and the first verb of the verb phrase: `NP TO`, ` VBG`.

    Without a verb phrase (in coordinated clauses), it is the categories of the clause's children.
    """
    if clause.label == "VP":
        phrase, subjects = clause, []
    elif phrase is clause or clause.label not in _CLAUSES:
        return child_categories(clause)
    before = (child.label for child in reversed(subjects) if child.child_index < phrase.child_index)
    verbs = (child for child in phrase.children if child.label[:2] in ("VB", "MD", "TO", "VP"))
    return next(before, "") + " " + coarse_label(next(verbs, phrase).label)
