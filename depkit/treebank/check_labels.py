"""Checks of the cells of CoNLL-U that have a form of their own: UPOS, FEATS, DEPREL, DEPS, MISC."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache

from depkit.corpus.universal import RELATIONS, RENAMED, UPOS, base
from depkit.treebank.findings import Problem, quoted
from depkit.treebank.table import EMPTY, WORD, Table

Fault = tuple[str, str]  # a code and a message

_FEATURE = re.compile(
    r"[A-Z][A-Za-z0-9]*(\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(,[A-Z0-9][A-Za-z0-9]*)*"
)
_RELATION = re.compile(r"[a-z]+(:[a-z]+)?")
# A lemma in any script, and a case: obl:next_to:acc; for letters beyond a-z, here is an L.
_ENHANCED = re.compile(r"[a-z]+(:[a-z]+)?(:[a-zL]+(_[a-zL]+)*)?(:[a-z]+)?")
_LETTERS = frozenset(["Ll", "Lm", "Lo", "Mn", "Mc", "Me"])
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz:_")
_TAG = re.compile(r"[A-Z]+")


def label_problems(table: Table, ud: bool = False, tagged: bool = False) -> Iterator[Problem]:
    """What is wrong with the cells of a CoNLL-U sentence.

    ud: whether the labels must be UD's; tagged: whether every word should have a UPOS.
    """
    apart = {*table.ranges, *table.ragged}
    nodes = [row for row in range(len(table.cells)) if row not in apart]
    yield from _by_value(table, nodes, "feats", feature_faults)
    words = [row for row in table.words if row not in table.ragged]
    upos = table.format.index("upos")
    if ud or tagged:
        empties = [row for row in table.empties if table.cells[row][upos] != "_"]
        faults_of = _tag_faults if ud else _tag_form_faults
        yield from _by_value(table, words + empties, "upos", faults_of)
    yield from _by_value(table, words, "deprel", _relation_faults if ud else _form_faults)
    yield from _misc(table)
    yield from _deps(table, nodes, ud)


def _by_value(
    table: Table, rows: list[int], name: str, faults_of: Callable[[str], tuple[Fault, ...]]
) -> Iterator[Problem]:
    """The faults of a column's values, each value looked at once, wherever they stand."""
    index = table.format.index(name)
    faults = {value: faults_of(value) for value in {table.cells[row][index] for row in rows}}
    if any(faults.values()):
        for row in rows:
            for code, message in faults[table.cells[row][index]]:
                yield Problem(table.places[row], code, message)


@lru_cache(1 << 16)
def feature_faults(feats: str) -> tuple[Fault, ...]:
    """What is wrong with a value of FEATS."""
    if feats in ("_", ""):
        return ()
    features = feats.split("|")
    for feature in features:
        if not _FEATURE.fullmatch(feature):
            what = f"FEATS has {quoted(feature)}, not Name=Value or Name=Value1,Value2"
            return (("feats", what),)
    faults = []
    names = [feature.partition("=")[0].lower() for feature in features]
    if names != sorted(names):
        right = "|".join(sorted(features, key=str.lower))
        faults.append(("feats-order", f"FEATS are not in alphabetical order; write {right}"))
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        what = f"FEATS {quoted(feats, 80)} has {name.capitalize()} twice"
        faults.append(("feats-repeated", f"{what}; join its values with a comma, or remove one"))
    for feature in features:
        values = feature.partition("=")[2].split(",")
        if len(set(values)) < len(values):
            faults.append(("feats-repeated", f"{quoted(feature)} has a value twice; remove one"))
        elif values != sorted(values, key=str.lower):
            right = ",".join(sorted(values, key=str.lower))
            faults.append(("feats-order", f"values are not in order in {feature}; write {right}"))
    return tuple(faults)


def _tag_faults(tag: str) -> tuple[Fault, ...]:
    if tag in UPOS:
        return ()
    hint = f"; in UD version 2 it is {RENAMED[tag]}" if tag in RENAMED else ""
    return (("upos", f"UPOS {quoted(tag)} is none of the 17 tags of UD{hint}"),)


def _tag_form_faults(tag: str) -> tuple[Fault, ...]:
    if not tag or _TAG.fullmatch(tag):
        return ()
    if tag == "_":
        return (("upos-form", "no UPOS, though other words have one; X is for what has none"),)
    what = "not in capital letters A-Z, as UD has them; is it an XPOS?"
    return (("upos-form", f"UPOS {quoted(tag)} is {what}"),)


def _relation_faults(relation: str) -> tuple[Fault, ...]:
    if relation == "ref":
        return (("deprel", "'ref' is a relation of DEPS only"),)
    return _base_faults(relation) or _form_faults(relation)


def _form_faults(relation: str) -> tuple[Fault, ...]:
    """Of a relation of the basic tree, whatever the inventory."""
    if relation in ("_", "") or _RELATION.fullmatch(relation):
        return ()
    return (("deprel-form", f"{quoted(relation)} is not relation:subtype in letters a-z"),)


def _enhanced_faults(relation: str) -> tuple[Fault, ...]:
    """Of a relation of DEPS, whatever the inventory."""
    if _RELATION.fullmatch(relation):
        return ()
    letters = "".join(
        each if each in _PLAIN else "L" if unicodedata.category(each) in _LETTERS else "?"
        for each in relation
    )
    if _ENHANCED.fullmatch(letters):
        return ()
    what = "is not relation:subtype:lemma:case in small letters"
    return (("deprel-form", f"DEPS: {quoted(relation)} {what}"),)


def _base_faults(relation: str) -> tuple[Fault, ...]:
    """Of a relation that must be one of UD's."""
    name = base(relation)
    if name not in RELATIONS and relation not in ("_", "ref"):
        hint = f"; in UD version 2 it is {RENAMED[name]}" if name in RENAMED else ""
        return (("deprel", f"{quoted(relation)} is none of the 37 relations of UD{hint}"),)
    return ()


def _misc(table: Table) -> Iterator[Problem]:
    """Of MISC only SpaceAfter means something to all."""
    inside = {row for rows in table.spans.values() for row in rows}
    empties = set(table.empties)
    for row, misc in enumerate(table.column("misc")):
        if misc == "_" or (misc == "SpaceAfter=No" and row not in inside and row not in empties):
            continue
        place = table.places[row]
        parts = misc.split("|")
        if "" in parts and misc:
            what = f"MISC {quoted(misc)} has an empty piece; is a | too many?"
            yield Problem(place, "misc", what)
        pairs = (part.partition("=") for part in parts)
        values = [value for name, _, value in pairs if name == "SpaceAfter"]
        if values and row in inside:
            what = "SpaceAfter of a word in a range; it belongs to the range"
        elif values and row in empties:
            what = "SpaceAfter of an empty node, which is not in the text; remove it"
        elif values and values != ["No"]:
            what = f"SpaceAfter is {quoted(','.join(values))}; it is No, or not there"
        else:
            continue
        yield Problem(place, "space-after", what)


def _deps(table: Table, nodes: list[int], ud: bool) -> Iterator[Problem]:
    index = table.format.index("deps")
    written = [table.cells[row][index] for row in nodes]
    if set(written) <= {"_", ""}:
        return
    ids = [table.cells[row][0] for row in nodes]
    known = {"0", *ids, *map(str, table.known)}
    found = [deps_faults(deps, ud) for deps in written]
    below: dict[str, list[str]] = defaultdict(list)  # by the id of the head
    for own, (heads, _) in zip(ids, found, strict=True):
        for head in heads:
            below[head].append(own)
    sound = not table.sentence.problem
    for row, own, deps, (heads, faults) in zip(nodes, ids, written, found, strict=True):
        if own in heads:
            faults += (("deps", f"DEPS {quoted(deps)} has the node as its own head"),)
        if not known.issuperset(heads):
            unknown = next(head for head in heads if head not in known)
            faults += (("deps", f"DEPS {quoted(deps)} names {unknown}, which is not here"),)
        for code, message in faults:
            sound &= code != "deps"
            yield Problem(table.places[row], code, message)
    if sound and len(reached := _reached(below)) <= len(ids):
        lost = [(row, own) for row, own in zip(nodes, ids, strict=True) if own not in reached]
        shown = ", ".join(own for _, own in lost[:10]) + ", ..." * (len(lost) > 10)
        what = f"DEPS do not connect {shown} to the root; every node has a way up to 0"
        yield Problem(table.places[lost[0][0]], "deps-unreachable", what)


@lru_cache(1 << 16)
def deps_faults(deps: str, ud: bool = False) -> tuple[tuple[str, ...], tuple[Fault, ...]]:
    """The heads in a value of DEPS, and what is wrong with it as such."""
    if deps in ("_", ""):
        return (), ()
    heads, keys = [], []
    faults: list[Fault] = []
    for part in deps.split("|"):
        head, colon, relation = part.partition(":")
        match = EMPTY.fullmatch(head)
        if not colon or not relation or not (match or WORD.fullmatch(head) or head == "0"):
            return (), (("deps", f"DEPS has {quoted(part)}, not head:relation"),)
        if (head == "0") != (base(relation) == "root"):
            faults.append(("deps", f"DEPS has {quoted(part)}; head 0 and root go together"))
        unknown = _base_faults(relation) if ud else ()
        faults += [(code, f"DEPS: {what}") for code, what in unknown]
        faults += () if unknown else _enhanced_faults(relation)
        heads.append(head)
        number = (int(match[1]), int(match[2])) if match else (int(head), 0)
        keys.append((number, relation))
    if len(set(keys)) < len(keys):
        faults.append(("deps-repeated", f"DEPS {quoted(deps, 80)} has the same twice; remove one"))
    elif keys != sorted(keys):
        ordered = sorted(zip(keys, deps.split("|"), strict=True))
        right = "|".join(part for _, part in ordered)
        faults.append(("deps-order", f"DEPS are not in the order of heads; write {right}"))
    return tuple(heads), tuple(faults)


def _reached(below: dict[str, list[str]]) -> set[str]:
    """The nodes that have a way up to the root."""
    reached, todo = {"0"}, ["0"]
    while todo:
        for node in below.get(todo.pop(), ()):
            if node not in reached:
                reached.add(node)
                todo.append(node)
    return reached
