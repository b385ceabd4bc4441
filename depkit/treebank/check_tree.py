"""Checks of the basic tree: HEAD and DEPREL."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from depkit.corpus.universal import base_relation
from depkit.treebank.findings import Problem, quote
from depkit.treebank.table import Table
from depkit.trees.shape import has_crossing_arcs, nonprojective_arcs

_NUMBER = re.compile(r"0|[1-9][0-9]*")


def check_tree(table: Table) -> Iterator[Problem]:
    """Check HEAD and DEPREL of a sentence, and whether its arcs cross."""
    if not table.words:
        return
    texts = [table.cells[row][table.format.index("head")] for row in table.words]
    if set(texts) == {"_"} and not table.ragged:
        message = "no word of the sentence has a HEAD; is the file annotated?"
        yield Problem(table.line_indices[table.words[0]], "no-tree", message)
        return
    yield from _check_heads(table, texts)
    yield from _check_relations(table)
    if len(set(table.word_ids)) < len(table.words):
        return  # If two words have the same ID, a HEAD with this number is ambiguous.
    yield from _check_cycles(table)
    yield from _check_roots(table)
    if -1 not in table.heads:
        yield from _check_projectivity(table)


def _check_heads(table: Table, texts: list[str]) -> Iterator[Problem]:
    """Check each HEAD, independently of the others."""
    has_leading_zero = any(text[:1] == "0" != text for text in texts)
    if not (table.sentence.problem or has_leading_zero or "_" in texts):
        return
    for row, text in zip(table.words, texts, strict=True):
        index = table.line_indices[row]
        if row in table.ragged:
            continue
        if text == "_":
            problem = "the word has no HEAD, though other words have one"
            advice = "write the number of its head, or 0 for the root"
            yield Problem(index, "no-head", f"{problem}; {advice}")
        elif not _NUMBER.fullmatch(text):
            message = f"HEAD is {quote(text)}, but must be a word's number, or 0 for the root"
            yield Problem(index, "head", message)
        elif len(text) > 9 or int(text) not in table.valid_heads:
            end = max(table.valid_heads)
            message = f"HEAD is {text[:20]}, but the words are numbered from 1 to {end}"
            yield Problem(index, "head-range", message)


def _check_relations(table: Table) -> Iterator[Problem]:
    """Check whether words with HEAD have a DEPREL, and whether it is root where HEAD is 0."""
    column = table.format.index("deprel")
    is_universal = table.format.has_ranges
    relations = [table.cells[row][column] for row in table.words]
    if _are_relations_valid(relations, table.heads, is_universal):
        return
    for row, head, relation in zip(table.words, table.heads, relations, strict=True):
        index = table.line_indices[row]
        if relation == "_":
            if head != -1 and row not in table.ragged:
                message = "the word has a HEAD, but no DEPREL; add the relation to its head"
                yield Problem(index, "no-deprel", message)
        elif is_universal and head != -1 and (head == 0) != (base_relation(relation) == "root"):
            problem = f"HEAD is {'0' if head == 0 else 'not 0'}, but DEPREL is {quote(relation)}"
            advice = "the root, and no other word, has HEAD 0 and DEPREL root"
            yield Problem(index, "root-label", f"{problem}; {advice}")


def _are_relations_valid(relations: list[str], heads: Sequence[int], is_universal: bool) -> bool:
    """Return whether all relations are valid; faster than checking each."""
    if "_" in relations or not is_universal:
        return "_" not in relations
    roots = [relation == "root" or relation.startswith("root:") for relation in relations]
    return roots == [head == 0 for head in heads]


def find_cycles(head: Sequence[int]) -> list[list[int]]:
    """Find the cycles of a graph in which each word has one head at most.

    `head` contains the 1-based head of each word, 0 for the root, -1 if there is none. The result
    contains the 1-based words of each cycle; each word is followed by its head.
    """
    cycles = []
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
            cycles.append(cycle)
    return cycles


def _check_cycles(table: Table) -> Iterator[Problem]:
    for cycle in find_cycles(table.heads):
        ids = [table.word_ids[word - 1] for word in cycle]
        index = table.line_indices[table.words[min(cycle) - 1]]
        if len(cycle) == 1:
            message = f"word {ids[0]} is its own head; write another HEAD, or 0 for the root"
            yield Problem(index, "self-loop", message)
        else:
            path = [*map(str, ids[:10]), *["..."] * (len(cycle) > 10), str(ids[0])]
            problem = f"the heads form a cycle (word -> head): {' -> '.join(path)}"
            yield Problem(index, "cycle", f"{problem}; one of the words needs another head")


def _check_roots(table: Table) -> Iterator[Problem]:
    roots = [word for word, head in enumerate(table.heads) if head == 0]
    if not roots and -1 not in table.heads:
        message = "no word has HEAD 0; a tree has one root"
        yield Problem(table.line_indices[table.words[0]], "no-root", message)
    if len(roots) > 1:
        ids = ", ".join(str(table.word_ids[word]) for word in roots[:10])
        problem = f"{len(roots)} words have HEAD 0: {ids}{', ...' * (len(roots) > 10)}"
        index = table.line_indices[table.words[roots[1]]]
        advice = (
            "trees of UD have one root" if table.format.has_ranges else "most parsers expect one"
        )
        yield Problem(index, "several-roots", f"{problem}; {advice}")


def _check_projectivity(table: Table) -> Iterator[Problem]:
    heads = np.array(table.heads, np.int32)
    if has_crossing_arcs(heads):
        dependents = np.flatnonzero(nonprojective_arcs(heads)).tolist()
        ids = ", ".join(str(table.word_ids[word]) for word in dependents[:10])
        if not dependents:  # This happens only if heads form a cycle.
            problem = "the arcs of the sentence cross each other"
        elif len(dependents) == 1:
            problem = f"other arcs cross the arc to word {ids}"
        else:
            more = ", ..." * (len(dependents) > 10)
            problem = f"other arcs cross the arcs to words {ids}{more}"
        index = table.line_indices[table.words[dependents[0] if dependents else 0]]
        message = f"the tree is non-projective: {problem}"
        yield Problem(index, "non-projective", message)
