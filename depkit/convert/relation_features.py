"""What is observed of a word and its governor when their relation is named."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from depkit.convert.constituents import Node, coarse, kinds, phrases, shape, spine, subject, verbs
from depkit.convert.linear import Observed, Templates

# The conjunctions are what the relations' definitions in the manual look at: the constituent and
# its sibling with the head, verb groups (passives), objects before, clauses in short, words of
# closed classes, times; in ever smaller pieces, so that what is rare is still known in part.
RELATION = Templates(
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


class Siblings:
    """What is the same for all children of a constituent."""

    __slots__ = ("labels", "nominal", "marked", "shared")

    def __init__(self, parent: Node) -> None:
        kids, head = parent.kids, parent.head_kid
        above = parent.parent
        self.labels = [kid.label for kid in kids]
        self.nominal = [_nominal(kid) for kid in kids]
        self.marked = self.labels.copy()
        self.marked[head.place] = "*" + head.label
        group = verbs(head)
        last_two = group.split()[-2:]
        passive = len(last_two) > 1 and last_two[0] in ("be", "get", "become")
        self.shared = (
            parent.label,
            above.label if above else "^",
            above.parent.label if above and above.parent else "^",
            self.labels[0],
            str(len(kids)),
            coarse(head.label),
            shape(head),
            kinds(head),
            group,
            subject(parent) if parent.label == "VP" else "",
            " ".join(last_two) if passive else "",
        )


def relations_observed(
    words: Sequence[Node], arcs: Sequence[tuple[Node, Node]]
) -> Iterator[Observed | None]:
    """What is seen of every word and its governor, in the order of RELATION's observations.

    arcs: see `stanford.governors`; None for the root, which has no governor.
    """
    known: dict[Node, Siblings] = {}
    for word, (governor, top) in zip(words, arcs, strict=True):
        parent = top.parent
        if parent is None or governor is word:
            yield None
            continue
        siblings = known.get(parent)
        if siblings is None:
            siblings = known[parent] = Siblings(parent)
        yield (
            *siblings.shared,
            *(_inside(top) if top.kids else _inside_word(top.label, top.told, top.name)),
            word.label,
            word.name,
            coarse(governor.label),
            governor.name,
            *_around(top, parent, governor, siblings),
        )


def _inside(top: Node) -> Observed:
    """child child_told told kinds shape bottom core core_kinds first ... clause inner form"""
    core = next(phrases(top), top)
    first = top.kids[0] if top.kids else top
    bottom = top
    while len(bottom.kids) == 1:
        bottom = bottom.kids[0]
    return (
        top.label,
        top.label + top.told,
        top.told,
        kinds(top),
        shape(top),
        bottom.label + " " + shape(bottom),
        core.label,
        kinds(core),
        first.label,
        first.head.name or first.head.label,
        spine(top),
        verbs(top),
        *_clause(top),
    )


@lru_cache(maxsize=1 << 12)
def _inside_word(label: str, told: str, name: str) -> Observed:
    word = Node(label, told, None, 0)
    word.name = name
    return _inside(word)


def _around(top: Node, parent: Node, governor: Node, siblings: Siblings) -> Observed:
    """side near other left2 left right window same objects object later prior ... wh"""
    place, pivot = top.place, parent.head_kid.place
    labels, nominal, marked = siblings.labels, siblings.nominal, siblings.marked
    side = "<" if place < pivot else ">"
    other = ""
    if governor is not parent.head:
        other = str(place - next((k.place for k in parent.kids if k.head is governor), 0))
    before = marked[max(0, place - 4) : place]
    objects = nominal[pivot + 1 : place]
    joins = "c" * _conjoins(labels[:place]) + "C" * _conjoins(labels[place:])
    above = parent.parent
    wh = ""
    if above and parent.label in ("S", "SQ", "SBARQ"):
        wh = above.label + (above.kids[0].label if above.kids[0] is not parent else "")
    return (
        side,
        side + str(min(abs(place - pivot), 3)) + other,
        other,
        labels[place - 2] if place > 1 else "<",
        labels[place - 1] if place else "<",
        labels[place + 1] if place + 1 < len(labels) else ">",
        " ".join([*before, "^" + top.label, *marked[place + 1 : place + 5]]),
        str(min(labels.count(top.label), 3)),
        "".join(objects)[:4],
        str("N" in objects),
        "".join(nominal[place + 1 :])[:2],
        "".join(nominal[:place])[:4] if side == "<" else "",
        joins,
        "".join([mark for mark in ("``", ":", ",") if mark in labels[:place]]),
        wh,
    )


def _conjoins(labels: list[str]) -> bool:
    return "CC" in labels or "CONJP" in labels


_TIMES = {
    "weekday", "month", "today", "season", "day", "days", "week", "weeks", "months", "year",
    "years", "morning", "afternoon", "evening", "night", "quarter",
}  # fmt: skip


def _nominal(kid: Node) -> str:
    """N for what can be an object, T for a time, S for a clause; "" for others."""
    if kid.label == "NP":
        return "T" if "T" in kid.told or kid.head.name in _TIMES else "N"
    return "S" if kid.label in ("S", "SBAR") else ""


_CLAUSES = {"S", "SINV", "SQ", "VP"}


def _clause(top: Node) -> tuple[str, str, str]:
    """A clause's kinds and its verb phrase's; its subject and verb group; and in short.

    That is its subject and the first word of its verb phrase (`NP TO`, ` VBG`); the kinds of
    the children, if it has no verb phrase of its own (joined clauses), or is no clause.
    """
    clause = top
    if top.label in ("SBAR", "SBARQ"):
        clause = next((kid for kid in top.kids if kid.label in _CLAUSES), top)
    elif top.label not in _CLAUSES:
        return "", "", kinds(top)
    phrase = next((kid for kid in clause.kids if kid.label == "VP"), clause)
    both = f"{kinds(clause)} / {kinds(phrase)}"
    subjects = [kid for kid in clause.kids if kid.label in ("NP", "SBAR", "S")]
    pivot = clause.head_kid.place
    group = next((kid.label for kid in reversed(subjects) if kid.place < pivot), "")
    return both, f"{group}+{verbs(top)}", _form(clause, phrase, subjects)


def _form(clause: Node, phrase: Node, subjects: list[Node]) -> str:
    if clause.label == "VP":
        phrase, subjects = clause, []
    elif phrase is clause or clause.label not in _CLAUSES:
        return kinds(clause)
    before = next((kid.label for kid in reversed(subjects) if kid.place < phrase.place), "")
    verb = next((kid for kid in phrase.kids if kid.label[:2] in ("VB", "MD", "TO", "VP")), phrase)
    return before + " " + coarse(verb.label)
