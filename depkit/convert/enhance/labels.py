"""Labels that are extended by prepositions, conjunctions and cases: `obl:in`, `conj:and`."""

from depkit.convert.enhance.conventions import Conventions
from depkit.convert.enhance.graph import GrowingGraph
from depkit.corpus.universal import base_relation

# The relations whose labels are extended, and the relations of the words that extend them
EXTENDED = {
    "obl": ("case",),
    "nmod": ("case",),
    "acl": ("mark", "case"),
    "advcl": ("mark", "case"),
    "conj": ("cc",),
}
CASED = ("obl", "nmod")  # the relations whose labels can also contain the feature Case


def extended_label(graph: GrowingGraph, word: int, label: str, conventions: Conventions) -> str:
    """Return the label of a word, extended if the conventions extend labels of this kind."""
    if label not in conventions.extended:
        return label
    parts = [label, introduction(graph, word, label)]
    if conventions.case_feature and base_relation(label) in CASED:
        parts.append(case_text(graph, word))
    return ":".join(filter(None, parts))


def introduction(graph: GrowingGraph, word: int, label: str) -> str:
    """Return the text by which the words that introduce a word extend its label; "" for none.

    Of several prepositions or subordinators, the last one counts. A clause without them is extended
    by its first adverb if that is interrogative or relative, such as `when`. A conjunct without a
    coordinator has the one of the next conjunct, or else of the previous one. Symbols such as `&`
    do not extend a label.
    """
    kind = base_relation(label)
    if kind == "conj":
        introducing = graph.coordinators(word)
    else:
        introducing = [x for name in EXTENDED[kind] for x in graph.dependents(word, name)][-1:]
    if not introducing and kind == "advcl":
        introducing = _leading_adverb(graph, word)
    return "_".join(filter(None, (_text(graph, child) for child in introducing)))


def _leading_adverb(graph: GrowingGraph, clause: int) -> list[int]:
    adverbs = graph.dependents(clause, "advmod")[:1]
    return [
        x for x in adverbs
        if graph.has_feature(x, "PronType=Int", "PronType=Rel") or graph.xpos[x] in graph.wh_tags
    ]  # fmt: skip


def _text(graph: GrowingGraph, word: int) -> str:
    """Return the text by which a word, with the rest of its fixed expression, extends a label."""
    words = [word, *graph.dependents(word, "fixed")]
    texts = [graph.form[x] if graph.upos[x] == "VERB" else graph.lemma[x] for x in words]
    return "_".join(text.lower() for text in texts if text.replace("-", "").isalpha())


def case_text(graph: GrowingGraph, word: int) -> str:
    """Return the value of Case of a word in lower case; "" if it has none."""
    values = [feature for feature in graph.feats[word].split("|") if feature.startswith("Case=")]
    return values[0].removeprefix("Case=").lower() if values else ""
