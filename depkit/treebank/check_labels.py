"""Checks of the CoNLL-U columns with a prescribed form: UPOS, FEATS, DEPREL, DEPS, MISC."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache

from depkit.corpus.universal import RELATIONS, RENAMED, UPOS, base_relation, sort_features
from depkit.treebank.findings import Problem, quote
from depkit.treebank.table import EMPTY, WORD, Table

Fault = tuple[str, str]  # a code and a message

_FEATURE = re.compile(
    r"[A-Z][A-Za-z0-9]*(\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(,[A-Z0-9][A-Za-z0-9]*)*"
)
_RELATION = re.compile(r"[a-z]+(:[a-z]+)?")
# A relation may end in a lemma in any script and a case: obl:next_to:acc. L represents a letter
# other than a-z.
_ENHANCED = re.compile(r"[a-z]+(:[a-z]+)?(:[a-zL]+(_[a-zL]+)*)?(:[a-z]+)?")
_LETTERS = frozenset(["Ll", "Lm", "Lo", "Mn", "Mc", "Me"])
_PATTERN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz:_")
_TAG = re.compile(r"[A-Z]+")
# The attributes of MISC, besides SpaceAfter, that a word may have only once.
_MISC_ONCE = frozenset(("Lang", "Translit", "LTranslit", "Gloss", "LId", "LDeriv", "Ref"))


def check_labels(table: Table, ud: bool = False, needs_upos: bool = False) -> Iterator[Problem]:
    """Check the cells of a CoNLL-U sentence.

    Args:
        table: The rows of the sentence.
        ud: Whether tags and relations must be those of UD.
        needs_upos: Whether every word should have a UPOS, because a word of this or of an earlier
            sentence of the file has one.
    """
    excluded = {*table.ranges, *table.ragged}
    nodes = [row for row in range(len(table.cells)) if row not in excluded]
    yield from _check_values(table, nodes, "feats", feature_faults)
    words = [row for row in table.words if row not in table.ragged]
    upos = table.format.index("upos")
    if ud or needs_upos:
        empties = [row for row in table.empties if table.cells[row][upos] != "_"]
        check_tag = _universal_tag_faults if ud else _tag_form_faults
        yield from _check_values(table, words + empties, "upos", check_tag)
    check_relation = _universal_relation_faults if ud else _relation_form_faults
    yield from _check_values(table, words, "deprel", check_relation)
    yield from _check_misc(table)
    yield from _check_deps(table, nodes, ud)


def _check_values(
    table: Table, rows: list[int], column: str, check_value: Callable[[str], tuple[Fault, ...]]
) -> Iterator[Problem]:
    """Check the cells of a column in the given rows; equal values are checked only once."""
    index = table.format.index(column)
    faults = {value: check_value(value) for value in {table.cells[row][index] for row in rows}}
    if any(faults.values()):
        for row in rows:
            for code, message in faults[table.cells[row][index]]:
                yield Problem(table.line_indices[row], code, message)


@lru_cache(1 << 16)
def feature_faults(feats: str) -> tuple[Fault, ...]:
    """Return the faults of a value of FEATS."""
    if feats in ("_", ""):
        return ()
    features = feats.split("|")
    for feature in features:
        if not _FEATURE.fullmatch(feature):
            problem = f"FEATS contains {quote(feature)}, which is not in the form Name=Value"
            advice = "names begin with A-Z, values with A-Z or 0-9"
            return (("feats", f"{problem} or Name=Value1,Value2; {advice}"),)
    faults = []
    ordered = "|".join(sort_features(features))
    if feats.lower() != ordered.lower():
        faults.append(("feats-order", f"FEATS are not in alphabetical order; write {ordered}"))
    names = [feature.partition("=")[0] for feature in features]
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        problem = f"FEATS {quote(feats, 80)} contains {name} twice"
        faults.append(("feats-repeated", f"{problem}; join its values with a comma, or remove one"))
    for feature in features:
        values = feature.partition("=")[2].split(",")
        if len(set(values)) < len(values):
            message = f"{quote(feature)} contains a value twice; remove one"
            faults.append(("feats-repeated", message))
        elif values != sorted(values, key=str.lower):
            ordered = ",".join(sorted(values, key=str.lower))
            message = f"the values of {feature} are not in alphabetical order; write {ordered}"
            faults.append(("feats-order", message))
    return tuple(faults)


def _universal_tag_faults(tag: str) -> tuple[Fault, ...]:
    if tag in UPOS:
        return ()
    hint = f"; its name in UD version 2 is {RENAMED[tag]}" if tag in RENAMED else ""
    return (("upos", f"UPOS {quote(tag)} is not one of the 17 tags of UD{hint}"),)


def _tag_form_faults(tag: str) -> tuple[Fault, ...]:
    if not tag or _TAG.fullmatch(tag):
        return ()
    if tag == "_":
        message = "the word has no UPOS, though other words have one; write X if no other tag fits"
        return (("upos-form", message),)
    problem = "is not in capital letters A-Z as the tags of UD are; is it an XPOS?"
    return (("upos-form", f"UPOS {quote(tag)} {problem}"),)


def _universal_relation_faults(relation: str) -> tuple[Fault, ...]:
    if relation == "ref":
        return (("deprel", "DEPREL is 'ref', a relation that only DEPS may have"),)
    return _inventory_faults(relation) or _relation_form_faults(relation)


def _relation_form_faults(relation: str) -> tuple[Fault, ...]:
    if relation in ("_", "") or _RELATION.fullmatch(relation):
        return ()
    message = f"DEPREL {quote(relation)} is not in the form relation:subtype, in letters a-z"
    return (("deprel-form", message),)


def _enhanced_form_faults(relation: str) -> tuple[Fault, ...]:
    if _RELATION.fullmatch(relation):
        return ()
    pattern = "".join(map(_pattern_character, relation))
    if _ENHANCED.fullmatch(pattern):
        return ()
    problem = "is not in the form relation:subtype:lemma:case, in lower-case letters"
    return (("deprel-form", f"DEPS: the relation {quote(relation)} {problem}"),)


def _pattern_character(character: str) -> str:
    if character in _PATTERN_CHARACTERS:
        return character
    return "L" if unicodedata.category(character) in _LETTERS else "?"


def _inventory_faults(relation: str) -> tuple[Fault, ...]:
    """Return a fault if a relation is not one of UD's, ignoring its subtype."""
    name = base_relation(relation)
    if name not in RELATIONS and relation not in ("_", "ref"):
        hint = f"; its name in UD version 2 is {RENAMED[name]}" if name in RENAMED else ""
        message = f"the relation {quote(relation)} is not one of the 37 relations of UD{hint}"
        return (("deprel", message),)
    return ()


def _check_misc(table: Table) -> Iterator[Problem]:
    """Check SpaceAfter and attributes that MISC contains twice."""
    inside_ranges = {row for words in table.range_words.values() for row in words}
    empties = set(table.empties)
    for row, misc in enumerate(table.column("misc")):
        if misc == "_":
            continue
        may_have_space_after = row not in inside_ranges and row not in empties
        if misc == "SpaceAfter=No" and may_have_space_after:
            continue
        index = table.line_indices[row]
        parts = misc.split("|")
        if "" in parts and misc:
            message = f"MISC {quote(misc)} has an empty part; is there a | too many?"
            yield Problem(index, "misc", message)
        pairs = [part.partition("=") for part in parts]
        names = [name for name, _, _ in pairs]
        for name in sorted(name for name in _MISC_ONCE if names.count(name) > 1):
            message = f"MISC {quote(misc, 80)} contains {name} twice; remove one"
            yield Problem(index, "misc-repeated", message)
        values = [value for name, _, value in pairs if name == "SpaceAfter"]
        if "NoSpaceAfter=Yes" in parts:
            advice = "write SpaceAfter=No" if may_have_space_after else "remove it"
            message = f"MISC contains NoSpaceAfter=Yes; {advice}"
        elif values and row in inside_ranges:
            message = "the word is in a multiword range, but has SpaceAfter; move it to the range"
        elif values and row in empties:
            message = "the empty node has SpaceAfter, but is not part of the text; remove it"
        elif values and values != ["No"]:
            message = f"SpaceAfter is {quote(','.join(values))}, but its only value is No"
            message += "; write SpaceAfter=No, or remove it"
        else:
            continue
        yield Problem(index, "space-after", message)


def _check_deps(table: Table, nodes: list[int], ud: bool) -> Iterator[Problem]:
    index = table.format.index("deps")
    column = [table.cells[row][index] for row in nodes]
    if set(column) <= {"_", ""} and not table.empties:
        return  # Only a sentence with enhanced dependencies may have empty nodes.
    ids = [table.cells[row][0] for row in nodes]
    valid_heads = {"0", *ids, *map(str, table.valid_heads)}
    checked = [deps_faults(deps, ud) for deps in column]
    dependents: dict[str, list[str]] = defaultdict(list)  # ids, by the id of the head
    for node_id, (heads, _) in zip(ids, checked, strict=True):
        for head in heads:
            dependents[head].append(node_id)
    is_valid = not table.sentence.problem
    rows = zip(nodes, ids, column, checked, strict=True)
    for row, node_id, deps, (heads, faults) in rows:
        if node_id in heads:
            message = f"DEPS {quote(deps)} makes the node its own head; name another head"
            faults += (("deps", message),)
        if not valid_heads.issuperset(heads):
            unknown = next(head for head in heads if head not in valid_heads)
            message = f"DEPS {quote(deps)} names the head {unknown}, which is not in the sentence"
            faults += (("deps", message),)
        for code, message in faults:
            is_valid &= code != "deps"
            yield Problem(table.line_indices[row], code, message)
    if is_valid and len(reachable := _find_reachable(dependents)) <= len(ids):
        unreachable = [i for i, node_id in enumerate(ids) if node_id not in reachable]
        names = ", ".join(ids[i] for i in unreachable[:10]) + ", ..." * (len(unreachable) > 10)
        message = f"DEPS do not connect {names} to the root; every node needs a path of heads to 0"
        yield Problem(table.line_indices[nodes[unreachable[0]]], "deps-unreachable", message)


@lru_cache(1 << 16)
def deps_faults(deps: str, ud: bool = False) -> tuple[tuple[str, ...], tuple[Fault, ...]]:
    """Return the heads in a value of DEPS, and the faults of the value.

    `ud` means that the relations must be those of UD.
    """
    if deps in ("_", ""):
        return (), ()
    heads, keys = [], []
    faults: list[Fault] = []
    for part in deps.split("|"):
        head, colon, relation = part.partition(":")
        match = EMPTY.fullmatch(head)
        if not colon or not relation or not (match or WORD.fullmatch(head) or head == "0"):
            message = f"DEPS contains {quote(part)}, which is not in the form head:relation"
            return (), (("deps", message),)
        if (head == "0") != (base_relation(relation) == "root"):
            message = f"DEPS contains {quote(part)}, but head 0, and only it, has the relation root"
            faults.append(("deps", message))
        unknown = _inventory_faults(relation) if ud else ()
        faults += [(code, f"DEPS: {message}") for code, message in unknown]
        faults += () if unknown else _enhanced_form_faults(relation)
        heads.append(head)
        number = (int(match[1]), int(match[2])) if match else (int(head), 0)
        keys.append((number, relation))
    if len(set(keys)) < len(keys):
        message = f"DEPS {quote(deps, 80)} contains the same head and relation twice; remove one"
        faults.append(("deps-repeated", message))
    elif keys != sorted(keys):
        pairs = sorted(zip(keys, deps.split("|"), strict=True))
        ordered = "|".join(part for _, part in pairs)
        faults.append(("deps-order", f"DEPS are not sorted by their heads; write {ordered}"))
    return tuple(heads), tuple(faults)


def _find_reachable(dependents: dict[str, list[str]]) -> set[str]:
    """Return the ids of the root, 0, and of all nodes that can be reached from it."""
    reachable, stack = {"0"}, ["0"]
    while stack:
        for node_id in dependents.get(stack.pop(), ()):
            if node_id not in reachable:
                reachable.add(node_id)
                stack.append(node_id)
    return reachable
