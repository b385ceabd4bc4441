"""Question words and relative pronouns that depend on the verb of an inner clause.

In `Who do you want to see?`, `Who` is the object of `see`, so its clause lacks an object: it has a
gap. The functions here find the clause with the gap; the tables of rules use them as STEPS.
"""

from collections.abc import Callable, Sequence

from depkit.convert.constituents import Node

_CLAUSES = {"S", "SQ", "SINV"}


def _child(node: Node, *labels: str) -> Node | None:
    """Return the last child with one of some labels."""
    return next((child for child in reversed(node.children) if child.label in labels), None)


def _inner_clause(verb_phrase: Node) -> Node | None:
    """Return the last clause in a verb phrase; None if a word other than `that` introduces it."""
    clause = _child(verb_phrase, "S", "SBAR")
    if clause is not None and clause.label == "SBAR":
        first = clause.children[0]
        if first.label != "S" and first.closed_class != "that":
            return None
        return _child(clause, "S")
    return clause


def _innermost(node: Node) -> tuple[Node | None, Node | None]:
    """Return the innermost clause after a question word, and the verb phrase of this clause.

    Both are None if the clause after the question word has no subject or contains no other clause.
    """
    found: tuple[Node | None, Node | None] = None, None
    clause = _child(node.parent, *_CLAUSES) if node.parent else None
    if clause is None or not _child(clause, "NP"):
        return found  # The question word itself is the subject.
    is_inner = False
    while clause is not None:
        verb_phrase = _child(clause, "VP")
        if verb_phrase is None:
            break
        while (deeper := _child(verb_phrase, "VP")) and not _child(verb_phrase, "CC"):
            verb_phrase = deeper
        if is_inner:
            found = clause, verb_phrase
        clause, is_inner = _inner_clause(verb_phrase), True
    return found


def _find_subject_gap(node: Node) -> Sequence[Node]:
    clause, _ = _innermost(node)
    if clause is None or _child(clause, "NP") or _child(clause.children[-1], "TO"):
        return ()
    return (clause,) if clause.parent and clause.parent.label == "SBAR" else ()


def _find_object_gap(node: Node) -> Sequence[Node]:
    _, verb_phrase = _innermost(node)
    if verb_phrase is None or _child(verb_phrase, "NP", "ADJP", "SBAR"):
        return ()
    return (verb_phrase,) if verb_phrase.children[0].closed_class != "be" else ()


STEPS: dict[str, Callable[[Node], Sequence[Node]]] = {
    "subject-gap": _find_subject_gap,  # the innermost clause after a node, if it has no subject
    "object-gap": _find_object_gap,  # its verb phrase, if it has no object
}
