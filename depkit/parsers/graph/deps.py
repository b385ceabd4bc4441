"""Enhanced dependencies that a parser predicts: what it learns, and how graphs are decoded.

A graph is predicted on top of a tree. Labels are learned in a delexicalized form, in which signs
replace their parts. `=` stands for the relation of the word in the tree, `*` for the text by which
the word's own prepositions or conjunctions extend its label, `&` for that text of its first
conjunct, `#` for that of the relative pronoun in the clause of its head, and `$` for the value of
its feature Case. For example, `obl:in` is learned as `=:*`.
"""

from collections.abc import Sequence

import numpy as np

from depkit.convert.enhance.graph import GrowingGraph
from depkit.convert.enhance.labels import EXTENDED, case_text, introduction
from depkit.convert.enhance.rules import relative_pronouns
from depkit.corpus.enhanced import Relation, collapse, read_graph, relations_f1
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base_relation
from depkit.parsers.inputs.tables import Table

COLUMN = "deps"  # the name of the table of labels, and the value of `scorer.predict`
MOST_HEADS = 6  # the number of heads of a word that are learned; further ones are left out
OWN, FIRST, PRONOUN, CASE, SAME = "*", "&", "#", "$", "="
SIGNS = (OWN, CASE, FIRST, PRONOUN)  # If several stand for the same text, the first one is used.
BOTH = "|"  # joins the labels of two relations to the same head


def has_deps(sentence: Sentence) -> bool:
    """Return whether a sentence has enhanced dependencies."""
    return "deps" in sentence.format.columns and set(sentence.column("deps")) != {"_"}


def has_learned_deps(sentence: Sentence) -> bool:
    """Return whether enhanced dependencies are learned from a sentence.

    Their labels are learned relative to the tree, so that all words must have heads.
    """
    return has_deps(sentence) and -1 not in sentence.head


def learned_relations(sentence: Sentence) -> list[list[Relation]]:
    """Return the heads of each word with the labels that are learned; [] if none are.

    Relations of a word to itself are left out. Raises FormatError if DEPS does not describe a
    graph, or the heads are not a tree.
    """
    if not has_learned_deps(sentence):
        return []
    graph = GrowingGraph(sentence)
    learned = []
    for word, relations in enumerate(collapse(read_graph(sentence)), start=1):
        labels: dict[int, list[str]] = {}
        for head, label in relations:
            if head != word:
                labels.setdefault(head, []).append(shorten(graph, word, head, label))
        learned.append([(head, BOTH.join(sorted(names))) for head, names in labels.items()])
    return learned


def shorten(graph: GrowingGraph, word: int, head: int, label: str) -> str:
    """Return the learned form of a label, with signs for texts; `restore` is the inverse."""
    parts = label.split(":")
    basic = graph.deprel[word]
    if head == graph.head[word] and (label == basic or label.startswith(f"{basic}:")):
        rest = label[len(basic) + 1 :].split(":") if label != basic else []
        start, relation = SAME, basic
    elif parts[0] in EXTENDED:
        start, relation, rest = parts[0], parts[0], parts[1:]
    else:
        return label
    signs = {
        text: sign
        for sign in reversed(SIGNS)
        if rest and (text := _text(graph, word, head, relation, sign=sign))
    }
    return ":".join([start, *(signs.get(part, part) for part in rest)])


def restore(graph: GrowingGraph, word: int, head: int, label: str) -> str:
    """Return the label whose learned form is given, with the texts of the sentence for signs."""
    start, *rest = label.split(":")
    relation = graph.deprel[word] if start == SAME else start
    if not rest:
        return relation
    parts = [
        _text(graph, word, head, relation, sign=part) if part in SIGNS else part for part in rest
    ]
    return ":".join(filter(None, [relation, *parts]))


def _text(graph: GrowingGraph, word: int, head: int, relation: str, *, sign: str) -> str:
    """Return the text that a sign stands for in a label of a word; "" if there is none."""
    kind = base_relation(relation)
    if kind not in EXTENDED or (kind == "conj" and graph.universal[word] != "conj"):
        return ""
    if sign == OWN:
        return introduction(graph, word, relation)
    if sign == CASE:
        return case_text(graph, word)
    if kind == "conj":
        return ""
    if sign == FIRST:
        first = graph.first_conjunct(word)
        return introduction(graph, first, relation) if first != word else ""
    pronoun = next(relative_pronouns(graph, head), 0) if head else 0
    return introduction(graph, pronoun, relation) if pronoun else ""


def targets(sentence: Sentence, table: Table, ignored: int) -> dict[str, list[int]]:
    """Return the heads and the indices of labels of each word, as arrays by name.

    Returns MOST_HEADS arrays of heads and as many of labels. If a word has fewer heads, the rest is
    `ignored`; if no relations are learned from the sentence, all values are `ignored`.
    """
    learned = learned_relations(sentence) or [[] for _ in range(len(sentence))]
    arrays = {}
    for number in range(MOST_HEADS):
        pairs = [pairs[number] if number < len(pairs) else (ignored, "") for pairs in learned]
        arrays[f"deps_head{number}"] = [head for head, _ in pairs]
        arrays[f"deps_label{number}"] = [table.indices.get(label, ignored) for _, label in pairs]
    return arrays


def score_deps(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> float:
    """Return ELAS in percent: the F1 of relations in DEPS, over the sentences with gold DEPS."""
    return relations_f1(
        (collapse(read_graph(sentence)), collapse(read_graph(other)))
        for sentence, other in zip(gold, predicted, strict=True)
        if has_deps(sentence)
    )


def candidate_heads(scores: np.ndarray, heads: Sequence[int]) -> list[list[int]]:
    """Return the possible heads of each word: those with positive scores, and that of the tree.

    Args:
        scores: [words + 1, words + 1] The logits of arcs, dependent first.
        heads: [words] The heads of a tree.
    """
    found: list[list[int]] = [[] for _ in heads]
    for word, head in np.argwhere(scores[1:] > 0).tolist():
        found[word].append(head)
    return [
        positive if head in positive else sorted([*positive, head])
        for positive, head in zip(found, heads, strict=True)
    ]


def needs_label(sentence: Sentence, word: int, head: int) -> bool:
    """Return whether the label of a relation does not follow from the tree of a parsed sentence.

    It follows from the tree if the head is that of the tree, and the relation is not one of those
    whose labels are extended.
    """
    return sentence.head[word - 1] != head or base_relation(sentence.deprel[word - 1]) in EXTENDED


Labelled = list[tuple[int, str]]  # heads and their learned labels


def choose_relations(
    scores: np.ndarray, heads: Sequence[int], candidates: Sequence[Labelled]
) -> list[Labelled]:
    """Choose the relations of a graph in which every word is reachable from the root.

    The label `=`, the relation in the tree, is left out for all heads but that of the tree. The
    head of the tree is left out if its score is not positive and the word has another head, which
    is common for relative pronouns; but it is kept if the word were unreachable without it.

    Args:
        scores: As for `candidate_heads`.
        heads: As for `candidate_heads`.
        candidates: [words] The candidates with their labels.
    """
    chosen, basic = [], []
    for word, (head, labelled) in enumerate(zip(heads, candidates, strict=True), start=1):
        own = [(other, label) for other, label in labelled if other == head]
        rest = [
            (other, BOTH.join(kept))
            for other, label in labelled
            if other != head
            and (kept := [name for name in label.split(BOTH) if not name.startswith(SAME)])
        ]
        chosen.append(rest if rest and scores[word, head] <= 0 else sorted(own + rest))
        basic.append(own)
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, relations in enumerate(chosen, start=1):
        for other, _ in relations:
            dependents[other].append(word)
    reached = {0}
    _reach(0, dependents, reached)
    # Words come after their heads in the tree, so the head of each word has been reached before.
    for word in _top_down(heads):
        if word not in reached:
            chosen[word - 1] = sorted({*chosen[word - 1], *basic[word - 1]})
            reached.add(word)
            _reach(word, dependents, reached)
    return chosen


def _top_down(heads: Sequence[int]) -> list[int]:
    """Return the words of a tree in an order in which each comes after its head."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        dependents[head].append(word)
    order = [0]
    for word in order:
        order += dependents[word]
    return order[1:]


def _reach(start: int, dependents: Sequence[Sequence[int]], reached: set[int]) -> None:
    """Add the words to which paths lead from a word to those that are reached."""
    stack = [start]
    while stack:
        new = [word for word in dependents[stack.pop()] if word not in reached]
        reached.update(new)
        stack += new


def restore_relations(sentence: Sentence, learned: Sequence[Labelled]) -> list[list[Relation]]:
    """Return the relations of each word of a parsed sentence, from learned labels.

    All relations to the root have the label `root`. Other relations have it only if the relation of
    the word in the tree is so called.
    """
    graph = GrowingGraph(sentence)
    relations: list[list[Relation]] = []
    for word, labelled in enumerate(learned, start=1):
        pairs: list[Relation] = []
        for head, names in labelled:
            for name in names.split(BOTH):
                label = restore(graph, word, head, name) if head else "root"
                if head and label == "root":
                    label = graph.deprel[word] if head == graph.head[word] else "dep"
                pairs.append((head, label))
        relations.append(pairs)
    return relations
