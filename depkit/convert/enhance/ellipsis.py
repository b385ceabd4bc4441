"""Elided predicates: in `I ate tea and you [ate] pie`, `pie` is an orphan of `you`."""

from depkit.convert.enhance.conventions import Conventions
from depkit.convert.enhance.graph import GrowingGraph
from depkit.convert.enhance.labels import extended_label
from depkit.corpus.enhanced import PATH

NOMINALS = ("NOUN", "PROPN", "PRON", "NUM", "DET", "ADJ", "SYM")
CORE = ("nsubj", "obj", "iobj")


def restore_predicates(graph: GrowingGraph, conventions: Conventions) -> None:
    """Attach the arguments of an elided predicate to an empty node, a copy of the first conjunct.

    In the basic tree, a conjunct with orphans stands for the elided predicate. It and its orphans
    get the relations that their tags and prepositions suggest; see `_argument_label`. The empty
    node is collapsed: the labels are paths (`conj:and>obj`), from which `corpus.enhanced.expand`
    makes empty nodes.
    """
    for word in graph.words():
        orphans = graph.dependents(word, "orphan")
        if graph.universal[word] != "conj" or not orphans:
            continue
        predicate = graph.head[word]
        is_extended = "case" in conventions.types
        link = extended_label(graph, word, "conj", conventions) if is_extended else "conj"
        free = [graph.deprel[x] for x in graph.dependents(predicate, *CORE)]
        for argument in sorted([word, *orphans]):
            label = _argument_label(graph, argument, free)
            if is_extended and argument != word:
                label = extended_label(graph, argument, label, conventions)
            graph.relations[argument] = {(predicate, f"{link}{PATH}{label}"): None}
        for child in graph.dependents(word, "cc", "mark", "punct", "aux"):
            graph.relations[child] = {(predicate, f"{link}{PATH}{graph.deprel[child]}"): None}


def _argument_label(graph: GrowingGraph, word: int, free: list[str]) -> str:
    """Return the relation of a word to an elided predicate.

    free: the core relations of the first conjunct's arguments that no argument of the elided
    predicate has yet. A relation that is returned is removed from this list.
    """
    if graph.upos[word] == "ADV":
        return "advmod"
    if graph.dependents(word, "case"):
        return "obl"
    if graph.upos[word] in NOMINALS and free:
        return free.pop(0)
    return "obj" if graph.upos[word] in NOMINALS else "advcl"
