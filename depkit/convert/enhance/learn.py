"""Learn the conventions of a treebank from its enhanced dependencies."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from depkit.convert.enhance.conventions import Conventions
from depkit.convert.enhance.graph import GrowingGraph
from depkit.convert.enhance.labels import EXTENDED, introduction
from depkit.convert.enhance.rules import OBJECTS, RELATIVE, enhance, relative_pronouns
from depkit.corpus.enhanced import Relation, collapse, read_graph, relations_f1
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base_relation

MOST_SENTENCES = 3000
RARE = 2  # A lemma that occurs less often is not listed.
Gold = list[tuple[Sentence, list[list[Relation]]]]
# The relations of dependents that conjuncts may share; each of them is tried.
SHARED = ("case", "mark", "det", "aux", "aux:pass", "cop", "advmod", "amod")


def learn_conventions(sentences: Iterable[Sentence]) -> Conventions:
    """Learn the conventions of a treebank.

    The labels that are extended and the lists of lemmas are determined by counting. The lists and
    changes of all other settings are then tried one after another, and each one that improves the
    agreement of the rules with the treebank is kept (greedy search).

    sentences: Sentences of UD with DEPS, of which at most MOST_SENTENCES are used. Raises
    ValueError if none has DEPS, and FormatError if DEPS does not describe a graph.
    """
    gold = list(itertools.islice(enhanced_sentences(sentences), MOST_SENTENCES))
    if not gold:
        raise ValueError("no sentence has enhanced dependencies, in the column DEPS")
    counted = _count(gold)
    conventions = Conventions(extended=counted.pop("extended"))
    best = agreement(gold, conventions)
    for change in _changes(conventions, counted):
        changed = replace(conventions, **change(conventions))
        score = agreement(gold, changed)
        if score > best:
            best, conventions = score, changed
    return conventions


def enhanced_sentences(
    sentences: Iterable[Sentence],
) -> Iterator[tuple[Sentence, list[list[Relation]]]]:
    """Yield the sentences that have DEPS, each with its relations without empty nodes."""
    pairs = ((sentence, collapse(read_graph(sentence))) for sentence in sentences)
    return ((sentence, relations) for sentence, relations in pairs if any(relations))


def agreement(gold: Gold, conventions: Conventions) -> float:
    """Return the ELAS of the rules: the F1 of their relations against the gold ones, in percent."""
    return relations_f1((expected, enhance(sentence, conventions)) for sentence, expected in gold)


def _changes(
    first: Conventions, counted: dict[str, Any]
) -> Iterator[Callable[[Conventions], dict[str, Any]]]:
    """Yield the changes to try, as functions from the best conventions so far to new settings."""

    def fixed(name: str, value: Any) -> Callable[[Conventions], dict[str, Any]]:
        return lambda _: {name: value}

    def longer(relation: str) -> Callable[[Conventions], dict[str, Any]]:
        return lambda best: {"shared": (*best.shared, relation)}

    def shorter(name: str, value: str) -> Callable[[Conventions], dict[str, Any]]:
        return lambda best: {name: tuple(x for x in getattr(best, name) if x != value)}

    settings = {"case_feature": True, "controlled_subject": "nsubj", "keeps_relative": True}
    yield from itertools.starmap(fixed, (counted | settings).items())
    yield from (shorter("unshared", relation) for relation in first.unshared)
    yield from map(longer, SHARED)
    yield from (shorter("types", name) for name in first.types)
    yield lambda best: {"types": (*best.types, "empty")}


def _count(gold: Gold) -> dict[str, Any]:
    """Determine by counting which labels are extended and which lemmas the lists contain."""
    extended, control, nouns = Balance(), Balance(), Balance()
    for sentence, relations in gold:
        graph = GrowingGraph(sentence)
        for word in graph.words():
            label, head = graph.deprel[word], graph.head[word]
            if base_relation(label) in EXTENDED and introduction(graph, word, label):
                found = [other for at, other in relations[word - 1] if at == head]
                extended.count(label, any(other.startswith(f"{label}:") for other in found))
            if graph.universal[word] == "xcomp" and graph.dependents(head, *OBJECTS):
                for relation, is_subject in (("nsubj", True), ("obj", False), ("iobj", False)):
                    for child in graph.dependents(head, relation):
                        if any(at == word for at, _ in relations[child - 1]):
                            control.count(graph.lemma[head], is_subject)
            if head and label == RELATIVE[0] and not list(relative_pronouns(graph, word)):
                clause = set(graph.subtree(word))
                for at, other in relations[head - 1]:
                    if at in clause:
                        nouns.count(graph.lemma[head], base_relation(other) == "obl")
    return {
        "extended": extended.positive(1),
        "subject_control": control.positive(RARE),
        "adverbial_nouns": nouns.positive(RARE),
    }


class Balance:
    """Counts, for each key, how often a condition holds and how often it does not."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, bool]] = Counter()

    def count(self, key: str, holds: bool) -> None:
        self.counts[key, holds] += 1

    def positive(self, minimum: int) -> tuple[str, ...]:
        """Return, sorted, the keys with at least `minimum` cases that are also the majority."""
        return tuple(
            sorted(
                key
                for (key, holds), number in self.counts.items()
                if holds and number >= minimum and number > self.counts[key, False]
            )
        )
