"""Checks of the basic tree: HEAD and DEPREL."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from depkit.corpus.universal import base
from depkit.treebank.findings import Problem, quoted
from depkit.treebank.table import Table
from depkit.trees.shape import crossing, nonprojective_arcs

_NUMBER = re.compile(r"0|[1-9][0-9]*")


def tree_problems(table: Table) -> Iterator[Problem]:
    """What is wrong with HEAD and DEPREL, and whether arcs cross."""
    if not table.words:
        return
    written = [table.cells[row][table.format.index("head")] for row in table.words]
    if set(written) == {"_"} and not table.ragged:
        what = "no word has a HEAD; is the file annotated?"
        yield Problem(table.places[table.words[0]], "no-tree", what)
        return
    yield from _heads(table, written)
    yield from _relations(table)
    if len(set(table.numbers)) < len(table.words):
        return  # two words of the same number: a head may be either
    yield from _cycles(table)
    yield from _roots(table)
    if -1 not in table.head:
        yield from _crossing(table)


def _heads(table: Table, written: list[str]) -> Iterator[Problem]:
    """HEAD as such."""
    leading_zero = any(text[:1] == "0" != text for text in written)
    if not (table.sentence.problem or leading_zero or "_" in written):
        return
    for row, text in zip(table.words, written, strict=True):
        place = table.places[row]
        if row in table.ragged:
            continue
        if text == "_":
            what = "no HEAD, though other words have one; it is a number, 0 for the root"
            yield Problem(place, "no-head", what)
        elif not _NUMBER.fullmatch(text):
            what = f"HEAD is {quoted(text)}, not a word's number, or 0 for the root"
            yield Problem(place, "head", what)
        elif len(text) > 9 or int(text) not in table.known:
            what = f"HEAD is {text[:20]}, but the words are 1 to {max(table.known)}"
            yield Problem(place, "head-range", what)


def _relations(table: Table) -> Iterator[Problem]:
    """DEPREL as far as it goes with HEAD."""
    index = table.format.index("deprel")
    universal = table.format.spans
    relations = [table.cells[row][index] for row in table.words]
    if _in_order(relations, table.head, universal):
        return
    for row, head, relation in zip(table.words, table.head, relations, strict=True):
        if relation == "_":
            if head != -1 and row not in table.ragged:
                what = "a HEAD, but no DEPREL; label the arc"
                yield Problem(table.places[row], "no-deprel", what)
        elif universal and head != -1 and (head == 0) != (base(relation) == "root"):
            what = f"HEAD is {'0' if head == 0 else 'not 0'}, but DEPREL is {quoted(relation)}"
            yield Problem(table.places[row], "root-label", f"{what}; they go together: 0 and root")


def _in_order(relations: list[str], head: list[int], universal: bool) -> bool:
    """Whether `_relations` is sure to find nothing, which is quick to see."""
    if "_" in relations or not universal:
        return "_" not in relations
    roots = [relation == "root" or relation.startswith("root:") for relation in relations]
    return roots == [number == 0 for number in head]


def cycles(head: Sequence[int]) -> list[list[int]]:
    """The cycles of a graph with one head a word: their words, from 1.

    head: [word] 1-based, 0 the root's; below 0 where there is none.
    """
    found = []
    seen = [0] * (len(head) + 1)
    for start in range(1, len(head) + 1):
        word = start
        while word > 0 and not seen[word]:
            seen[word] = start
            word = head[word - 1]
        if word > 0 and seen[word] == start:
            cycle = [word]
            while head[cycle[-1] - 1] != word:
                cycle.append(head[cycle[-1] - 1])
            found.append(cycle)
    return found


def _cycles(table: Table) -> Iterator[Problem]:
    for cycle in cycles(table.head):
        numbers = [table.numbers[word - 1] for word in cycle]
        place = table.places[table.words[min(cycle) - 1]]
        if len(cycle) == 1:
            what = f"word {numbers[0]} is its own head; give it another, 0 for the root"
            yield Problem(place, "self-loop", what)
        else:
            shown = [*map(str, numbers[:10]), *["..."] * (len(cycle) > 10), str(numbers[0])]
            what = f"a cycle, each word's head after it: {' '.join(shown)}; one needs another head"
            yield Problem(place, "cycle", what)


def _roots(table: Table) -> Iterator[Problem]:
    roots = [word for word, head in enumerate(table.head) if head == 0]
    if not roots and -1 not in table.head:
        what = "no word has HEAD 0; a tree has one root"
        yield Problem(table.places[table.words[0]], "no-root", what)
    if len(roots) > 1:
        shown = ", ".join(str(table.numbers[word]) for word in roots[:10])
        what = f"{len(roots)} words have HEAD 0: {shown}{', ...' * (len(roots) > 10)}"
        place = table.places[table.words[roots[1]]]
        advice = "trees of UD have one root" if table.format.spans else "most parsers expect one"
        yield Problem(place, "several-roots", f"{what}; {advice}")


def _crossing(table: Table) -> Iterator[Problem]:
    head = np.array(table.head, np.int32)
    if crossing(head):
        arcs = np.flatnonzero(nonprojective_arcs(head)).tolist()
        numbers = ", ".join(str(table.numbers[word]) for word in arcs[:10])
        what = f"non-projective: other words' arcs cross those to {numbers or 'the root'}"
        place = table.places[table.words[arcs[0] if arcs else 0]]
        yield Problem(place, "non-projective", f"{what}{', ...' * (len(arcs) > 10)}")
