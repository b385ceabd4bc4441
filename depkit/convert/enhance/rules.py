"""Enhanced Universal Dependencies from basic trees by rules (Schuster and Manning 2016)."""

from collections.abc import Iterator

from depkit.convert.enhance.conventions import GUIDELINES, Conventions
from depkit.convert.enhance.ellipsis import restore_predicates
from depkit.convert.enhance.graph import GrowingGraph
from depkit.convert.enhance.labels import extended_label
from depkit.corpus.enhanced import Relation, expand, write_graph
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import base_relation

RELATIVE = ("acl:relcl", "advcl:relcl")
OBJECTS = ("obj", "iobj")
SUBJECTS = ("nsubj", "csubj", "expl")
CLAUSAL = ("xcomp", "ccomp")
FINITE = ("ccomp", "advcl", "csubj")
PREDICATES = ("VERB", "AUX", "ADJ")


def enhance(sentence: Sentence, conventions: Conventions = GUIDELINES) -> list[list[Relation]]:
    """Return the enhanced heads and labels of each word, from the basic tree.

    sentence: A sentence of UD, whose words have heads. Empty nodes are collapsed in the result, see
    `corpus.enhanced`. Raises FormatError if the heads are not a tree.
    """
    graph = GrowingGraph(sentence)
    for name, add in _STEPS.items():
        if name in conventions.types:
            add(graph, conventions)
    return [sorted(set(relations)) for relations in graph.relations[1:]]


def enhance_sentence(sentence: Sentence, conventions: Conventions = GUIDELINES) -> Sentence:
    """Copy a sentence in CoNLL-U with new enhanced dependencies; see `enhance`.

    Its old ones and its empty nodes are left out.
    """
    enhanced = write_graph(sentence, enhance(sentence, conventions))
    return expand(enhanced) if "empty" in conventions.types else enhanced


def _extend_labels(graph: GrowingGraph, conventions: Conventions) -> None:
    for word in graph.words():
        label = extended_label(graph, word, graph.deprel[word], conventions)
        graph.relations[word] = {(graph.head[word], label): None}


def _share_heads(graph: GrowingGraph, conventions: Conventions) -> None:
    """Give each conjunct the relation of the first one, with its own preposition if any."""
    for word in graph.words():
        if graph.universal[word] != "conj" or graph.is_elided(word):
            continue
        first = graph.first_conjunct(word)
        label = graph.deprel[first]
        if base_relation(label) in conventions.unshared:
            continue
        if "case" in conventions.types:
            own = extended_label(graph, word, label, conventions)
            first_label = extended_label(graph, first, label, conventions)
            label = own if own != label else first_label
        graph.add(word, graph.head[first], label)


def _share_dependents(graph: GrowingGraph, conventions: Conventions) -> None:
    """Give later conjuncts the subject of the first one, and objects after all of them."""
    for word in graph.words():
        if graph.universal[word] != "conj" or graph.is_elided(word):
            continue
        first = graph.head[word]
        if not graph.dependents(word, *SUBJECTS):
            for subject in graph.dependents(first, "nsubj", "csubj"):
                if subject < word:
                    graph.add(subject, word, _subject_label(graph, word, graph.deprel[subject]))
        if graph.upos[first] in PREDICATES and not graph.dependents(word, *OBJECTS):
            for child in graph.dependents(first, "obj"):
                if child > word:
                    graph.add(child, word, graph.deprel[child])
        for child in graph.children[first]:
            label = graph.deprel[child]
            if child < first and label in conventions.shared:
                if not graph.dependents(word, base_relation(label)):
                    graph.add(child, word, label)


def _subject_label(graph: GrowingGraph, predicate: int, label: str) -> str:
    """Return the label of a subject that another predicate shares, which depends on its voice."""
    if label not in ("nsubj", "nsubj:pass"):
        return label
    auxiliaries = graph.dependents(predicate, "aux", "cop")
    if any(graph.deprel[child] == "aux:pass" for child in auxiliaries):
        return "nsubj:pass"
    # Without an auxiliary of its own, a participle shares that of the first predicate.
    is_finite = auxiliaries or not graph.has_feature(predicate, "VerbForm=Part", "Voice=Pass")
    return "nsubj" if is_finite else label


def _add_subjects(graph: GrowingGraph, conventions: Conventions) -> None:
    """Give open clausal complements a subject: the object of their head, or else its subject."""
    for word in graph.words():
        if graph.dependents(word, *SUBJECTS):
            continue
        if graph.universal[word] == "xcomp":
            governor = graph.head[word]
        elif graph.universal[word] == "conj" and graph.universal[graph.head[word]] == "xcomp":
            if "shared" not in conventions.types:
                continue
            governor = graph.head[graph.head[word]]
        else:
            continue
        subjects = graph.arguments(governor, *OBJECTS)
        if not subjects or graph.lemma[governor] in conventions.subject_control:
            subjects = graph.arguments(governor, "nsubj")
        for subject, label in subjects:
            if label != "nsubj:outer":
                graph.add(subject, word, conventions.controlled_subject)


def _connect_relative_clauses(graph: GrowingGraph, conventions: Conventions) -> None:
    """Attach relative pronouns to antecedents, which get the pronouns' relations in the clause."""
    for clause in graph.words():
        antecedent = graph.head[clause]
        if graph.deprel[clause] not in RELATIVE or not antecedent:
            continue
        pronoun = next(relative_pronouns(graph, clause), 0)
        if not pronoun:
            if graph.deprel[clause] == "acl:relcl":
                graph.add(antecedent, *_gap(graph, antecedent, clause, conventions))
            continue
        for head, label in graph.relations[pronoun]:
            graph.add(antecedent, head, "obl" if label == "advmod" else label)
        if not conventions.keeps_relative:
            graph.relations[pronoun] = {}
        graph.add(pronoun, antecedent, "ref")


def _gap(graph: GrowingGraph, antecedent: int, clause: int, conventions: Conventions) -> Relation:
    """Return the relation of the antecedent in a relative clause without a relative pronoun.

    The antecedent is the subject if the clause has none. Otherwise, it depends on the innermost
    complement: as an adverbial if the complement has an object or a copula, or if the antecedent is
    a noun such as time or way, and as the object in all other cases.
    """
    if not graph.dependents(clause, *SUBJECTS):
        return clause, "nsubj"
    while complements := graph.dependents(clause, *CLAUSAL):
        clause = complements[-1]
    has_object = graph.dependents(clause, "obj") or graph.dependents(clause, "cop")
    if has_object or graph.lemma[antecedent] in conventions.adverbial_nouns:
        return clause, "obl"
    return clause, "obj"


def relative_pronouns(graph: GrowingGraph, clause: int) -> Iterator[int]:
    """Yield the relative pronouns of a clause, the nearest to its predicate first.

    In a sentence without FEATS, they are the words tagged as wh-words, except those in embedded
    clauses, which could be interrogative.
    """
    is_tagged = bool(graph.wh_tags)
    for word in graph.subtree(clause, (*RELATIVE, *FINITE) if is_tagged else RELATIVE):
        if graph.has_feature(word, "PronType=Rel") or graph.xpos[word] in graph.wh_tags:
            if word != clause:
                yield word


# The enhancements in the order in which they are added: conjuncts share labels that are already
# extended, and antecedents get the relations of relative pronouns that are already shared.
_STEPS = {
    "case": _extend_labels,
    "empty": restore_predicates,
    "conj": _share_heads,
    "shared": _share_dependents,
    "xsubj": _add_subjects,
    "relcl": _connect_relative_clauses,
}
