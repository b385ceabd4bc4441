"""Features of a word and its head, from which their relation is chosen."""

from bisect import bisect_left
from collections import Counter
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
# The observations, in the order in which `observe_relations` yields them. The constituent is the
# largest one whose head word is the dependent. The head word of its parent is usually the head.
# parent, grandparent, great_grandparent: labels of the constituents above
# first_label, num_children: of the parent's children
# head, head_shape, head_categories, head_verbs: the parent's head child: its coarse label, its
#   children's labels, the sorted set of their coarse labels, its verb group
# subject, passive: the subject of the parent, if it is a verb phrase; the end of a passive group
# child, child_functions, functions, categories, shape: the constituent's label, without and with
#   function tags; these tags; its children's categories and labels, as for the head child
# bottom: label and children's labels of the constituent below all unary branches
# core, core_categories: label and children's categories of its first child that is not a word
# first, first_class: label of its first child; closed class or tag of that child's head word
# head_path, verbs: labels on the path to the dependent; verb group
# clause, subject_verbs, form: see `_observe_clause`
# tag, word_class, head_tag, head_class: tag and closed class of the dependent; coarse tag and
#   closed class of the head
# side, distance, head_offset: whether it precedes or follows the head child; at what distance; the
#   distance from the head, if the head is not the parent's head word
# left2, left, right, neighbours: labels of the siblings around it
# num_same: how many children of the parent have its label
# complements, has_object, complements_after, complements_before: complements between the head child
#   and it; whether there is an object; complements after it; those before it, if it precedes the
#   head child
# coordination, punctuation: conjunctions before and after it; punctuation before it
# introduction: label of the constituent above a clause, and of the first child of that constituent
RELATION_TEMPLATES = Templates(
    """
    parent grandparent great_grandparent first_label num_children
    head head_shape head_categories head_verbs subject passive
    child child_functions functions categories shape bottom core core_categories first first_class
    head_path verbs clause subject_verbs form
    tag word_class head_tag head_class
    side distance head_offset left2 left right neighbours num_same
    complements has_object complements_after complements_before coordination punctuation
    introduction
    """,
    """
    parent child side
    parent child_functions head side
    parent child side tag
    parent child side tag word_class
    tag head_tag side
    tag word_class head_tag
    child tag head_tag side
    parent child_functions head side distance
    parent child_functions head side left right
    parent child side neighbours
    parent child_functions side neighbours grandparent
    parent child side neighbours word_class
    parent child side head_verbs
    parent child_functions head side head_verbs coordination
    parent child side head_verbs tag word_class
    word_class head_verbs child
    parent head head_verbs tag word_class
    parent child_functions head side grandparent great_grandparent
    parent child side shape
    parent child_functions head side shape
    parent child_functions side categories
    parent child side head_path
    parent child_functions head side head_path distance
    parent child side first first_class
    parent child side core core_categories
    child categories core core_categories
    parent child_functions side core_categories verbs left
    parent child_functions side clause subject_verbs
    child_functions categories clause
    parent child_functions head_tag clause
    parent child side form
    parent child_functions side form first_class has_object
    parent child_functions head form first first_class
    parent child_functions form categories left has_object
    parent child_functions form head_tag has_object punctuation
    parent child_functions form side left right
    parent child_functions form head_class first_class
    parent child_functions side complements complements_after head_tag
    parent child_functions head side complements complements_after complements_before
    parent child_functions side complements complements_after word_class
    parent child_functions complements left
    parent child_functions word_class complements
    child first first_class complements parent
    child tag word_class functions complements
    parent child_functions side punctuation coordination
    parent child_functions head side coordination left
    parent child side coordination tag head_tag
    parent head child_functions side coordination categories left
    parent child_functions coordination left right tag
    parent child_functions head num_same coordination head_tag
    parent child side tag left right
    parent child side head_tag left tag
    word_class tag
    word_class tag right
    word_class head_tag side child
    tag word_class functions shape head_tag
    head child side tag word_class
    head_offset tag head_tag parent word_class
    parent child_functions head side introduction complements_before
    parent child_functions side introduction first head_verbs
    parent child side functions word_class tag
    parent child_functions side head_tag head_class
    parent child head_tag head_class first first_class
    parent child side head_class word_class
    parent child side subject head_class
    parent child side head_shape
    parent child side head_categories
    parent child_functions side verbs head_verbs
    parent child first_label num_children
    parent child_functions head side bottom
    parent child_functions side left2 left
    parent child side passive
    parent child_functions side passive word_class tag
    """,
)


class ParentContext:
    """The observations that all children of a constituent share, and summaries of the children."""

    __slots__ = (
        "labels",  # of the children
        "marked_labels",  # the labels, with a star before the head child's
        "counts",  # of each label
        "first",  # the index of the first child with each label
        "first_conjunction",  # its index, or the number of children
        "last_conjunction",  # its index, or -1
        "kinds",  # of the complements among the children, see `_complement_kind`
        "complements",  # the indices of these children
        "next_noun",  # the index of the first complement N after the head child
        "shared",  # the first observations of RELATION_TEMPLATES, up to `passive`
    )

    def __init__(self, parent: Node) -> None:
        children, head = parent.children, parent.head_child
        grandparent = parent.parent
        self.labels = [child.label for child in children]
        kinds = [_complement_kind(child) for child in children]
        self.kinds = "".join(kinds)
        self.complements = [index for index, kind in enumerate(kinds) if kind]
        start, size = head.child_index + 1, len(children)
        self.next_noun = kinds.index("N", start) if "N" in kinds[start:] else size
        self.counts = Counter(self.labels)
        self.first = {label: i for i, label in reversed([*enumerate(self.labels)])}
        conjunctions = [i for i, label in enumerate(self.labels) if label in ("CC", "CONJP")]
        self.first_conjunction = min(conjunctions, default=size)
        self.last_conjunction = max(conjunctions, default=-1)
        self.marked_labels = self.labels.copy()
        self.marked_labels[head.child_index] = "*" + head.label
        verbs = verb_group(head)
        last_two = verbs.split()[-2:]
        is_passive = len(last_two) > 1 and last_two[0] in ("be", "get", "become")
        self.shared = (
            parent.label,
            grandparent.label if grandparent else "^",
            grandparent.parent.label if grandparent and grandparent.parent else "^",
            self.labels[0],
            str(len(children)),
            coarse_label(head.label),
            child_labels(head),
            child_categories(head),
            verbs,
            subject_tag(parent) if parent.label == "VP" else "",
            " ".join(last_two) if is_passive else "",
        )

    def complements_in(self, begin: int, end: int, count: int) -> str:
        """Return the kinds of the first complements from one index up to another, at most count."""
        low = bisect_left(self.complements, begin)
        high = bisect_left(self.complements, end, low)
        return self.kinds[low : min(high, low + count)]


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
            observations = _observe_constituent(top)
        else:
            observations = _observe_word(top.label, top.function_tags, top.closed_class)
        yield (
            *context.shared,
            *observations,
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
    """Return the observations from `side` to `introduction`."""
    index, head_index = top.child_index, parent.head_child.child_index
    labels, size = context.labels, len(context.labels)
    side = "<" if index < head_index else ">"
    head_offset = ""
    if head is not parent.head:
        sibling = next((child.child_index for child in parent.children if child.head is head), 0)
        head_offset = str(index - sibling)
    left_labels = context.marked_labels[max(0, index - 4) : index]
    right_labels = context.marked_labels[index + 1 : index + 5]
    coordination = "c" * (context.first_conjunction < index)
    coordination += "C" * (context.last_conjunction >= index)
    grandparent = parent.parent
    introduction = ""
    if grandparent and parent.label in ("S", "SQ", "SBARQ"):
        first = grandparent.children[0]
        introduction = grandparent.label + (first.label if first is not parent else "")
    return (
        side,
        side + str(min(abs(index - head_index), 3)) + head_offset,
        head_offset,
        labels[index - 2] if index > 1 else "<",
        labels[index - 1] if index else "<",
        labels[index + 1] if index + 1 < size else ">",
        " ".join([*left_labels, "^" + top.label, *right_labels]),
        str(min(context.counts[top.label], 3)),
        context.complements_in(head_index + 1, index, 4),
        str(context.next_noun < index),
        context.complements_in(index + 1, size, 2),
        context.complements_in(0, index, 4) if side == "<" else "",
        coordination,
        "".join([mark for mark in ("``", ":", ",") if context.first.get(mark, size) < index]),
        introduction,
    )


_TIMES = {
    "weekday", "month", "today", "season", "day", "days", "week", "weeks", "months", "year",
    "years", "morning", "afternoon", "evening", "night", "quarter",
}  # fmt: skip


def _complement_kind(child: Node) -> str:
    """Return N for a possible object, T for a time, S for a clause, "" for any other child."""
    if child.label == "NP":
        is_time = "T" in child.function_tags or child.head.closed_class in _TIMES
        return "T" if is_time else "N"
    return "S" if child.label in ("S", "SBAR") else ""


_CLAUSES = {"S", "SINV", "SQ", "VP"}


def _observe_clause(top: Node) -> tuple[str, str, str]:
    """Return the observations `clause`, `subject_verbs` and `form` of a clause or verb phrase.

    `clause` contains the categories of the clause's and of its verb phrase's children,
    `subject_verbs` the label of its subject and its verb group, `form` the result of
    `_clause_form`. For a constituent that is not a clause, `form` contains the categories of its
    children, and the other two are "".
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
    preceding = (child.label for child in reversed(subjects) if child.child_index < head_index)
    subject_verbs = f"{next(preceding, '')}+{verb_group(top)}"
    return categories, subject_verbs, _clause_form(clause, phrase, subjects)


def _clause_form(clause: Node, phrase: Node, subjects: list[Node]) -> str:
    """Return the subject's label and the first verb of the verb phrase: `NP TO`, ` VBG`.

    Without a verb phrase (in coordinated clauses), return the categories of the clause's children.
    """
    if clause.label == "VP":
        phrase, subjects = clause, []
    elif phrase is clause or clause.label not in _CLAUSES:
        return child_categories(clause)
    end = phrase.child_index
    preceding = (child.label for child in reversed(subjects) if child.child_index < end)
    verbs = (child for child in phrase.children if child.label[:2] in ("VB", "MD", "TO", "VP"))
    return next(preceding, "") + " " + coarse_label(next(verbs, phrase).label)
