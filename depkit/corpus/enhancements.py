"""The types of enhancement of UD: which of them each relation of the column DEPS belongs to.

The types are those of the guidelines (universaldependencies.org/u/overview/enhanced-syntax.html)
and of the evaluation of IWPT 2020 and 2021, which can leave out relations by type: gapping, shared
parents, shared dependents, control, relative clauses and case (Bouma et al. 2020).
"""

from collections.abc import Iterator, Sequence

from depkit.corpus.enhanced import PATH, Relation
from depkit.corpus.universal import base_relation

# The types, in the order of tables: relations of the basic tree; those whose label also names the
# case, the preposition or the conjunction; the head of the first conjunct as a head of the other
# ones; a dependent that conjuncts share; subjects of controlled and raised predicates; the relation
# of the antecedent in the relative clause, and ref; paths through empty nodes; other relations
TYPES = ("basic", "case", "conj", "shared", "xsubj", "relcl", "empty", "other")
_WITH_CASE = frozenset(("obl", "nmod", "acl", "advcl", "conj"))  # the relations that name the case
# Subtypes that do not name a case; the first three are those of the evaluation of IWPT.
_SUBTYPES = frozenset(("pass", "relcl", "xsubj", "agent", "arg", "lmod", "npmod", "poss", "tmod"))
_SUBJECTS = frozenset(("nsubj", "csubj"))


def find_types(
    heads: Sequence[int], deprels: Sequence[str], relations: Sequence[Sequence[Relation]]
) -> list[list[str]]:
    """Return the type of each relation of each word: the first of these that applies.

    1. `empty`: the label is a path through an empty node.
    2. `basic`, `case`: the head is that of the basic tree, and the label is the same apart from its
       subtype. It is `case` if the relation is one that names the case and its subtype differs
       from that in the tree, except for subtypes that do not name a case, such as `relcl`.
    3. `relcl`: the label is `ref`, or the head is in a relative clause that modifies the word or
       a preceding conjunct of the word.
    4. `xsubj`: the subtype is `xsubj`, or the word is the subject of an `xcomp`, or of a conjunct
       of one, to which the basic tree does not attach it.
    5. `conj`: the head is that of a preceding conjunct of the word.
    6. `shared`: the head is coordinated with the head of the word or of a preceding conjunct of
       the word.
    7. `other`: all other relations.

    Args:
        heads: [words] the heads of the basic tree, 0 for the root and -1 for none.
        deprels: [words] its relations.
        relations: [words] the enhanced relations, without empty nodes; see `enhanced.collapse`.
    """
    tree = _Tree(heads, deprels)
    types = []
    for word, (head, deprel, pairs) in enumerate(zip(heads, deprels, relations, strict=True), 1):
        is_basic = len(pairs) == 1 and pairs[0] == (head, deprel)  # for speed, as most words are
        types.append(["basic"] if is_basic else [tree.find_type(word, *pair) for pair in pairs])
    return types


class _Tree:
    """A basic tree; words are referred to by their numbers, from 1, and the root is 0."""

    def __init__(self, heads: Sequence[int], deprels: Sequence[str]) -> None:
        self.heads = [0, *(max(head, 0) for head in heads)]
        self.deprels = ["", *deprels]

    def find_type(self, word: int, head: int, label: str) -> str:
        """Return the type of a relation; see `find_types`."""
        base, _, subtype = label.partition(":")
        own_base, _, own_subtype = self.deprels[word].partition(":")
        if PATH in label:
            return "empty"
        if head == self.heads[word] and base == own_base:
            is_case = base in _WITH_CASE and subtype.partition(":")[0] not in (*_SUBTYPES, "")
            return "case" if is_case and subtype != own_subtype else "basic"
        conjuncts = list(self._preceding_conjuncts(word))
        if base == "ref" or self._is_in_relative_clause(head, {word, *conjuncts}):
            return "relcl"
        if subtype == "xsubj" or (base in _SUBJECTS and self._is_controlled(word, head)):
            return "xsubj"
        if head == self.heads[word]:
            return "other"  # The label differs from that of the basic tree.
        heads = {self.heads[conjunct] for conjunct in conjuncts}
        if head in heads:
            return "conj"
        first = self._first_conjunct(head)
        if any(self._first_conjunct(other) == first for other in {self.heads[word], *heads} - {0}):
            return "shared"
        return "other"

    def _preceding_conjuncts(self, word: int) -> Iterator[int]:
        """Yield the conjuncts before a word, also those of outer coordinations, nearest first."""
        visited = {word}
        while base_relation(self.deprels[word]) == "conj":
            word = self.heads[word]
            if word in visited or not word:
                return
            visited.add(word)
            yield word

    def _first_conjunct(self, word: int) -> int:
        """Return the first conjunct of the outermost coordination of a word, or the word itself."""
        return [word, *self._preceding_conjuncts(word)][-1]

    def _is_in_relative_clause(self, word: int, antecedents: set[int]) -> bool:
        """Whether a word is in a clause that modifies one of the antecedents."""
        visited = set()
        while word and word not in visited:
            visited.add(word)
            relation = self.deprels[word]
            is_clause = base_relation(relation) == "acl" or relation.endswith(":relcl")
            if is_clause and self.heads[word] in antecedents:
                return True
            word = self.heads[word]
        return False

    def _is_controlled(self, word: int, head: int) -> bool:
        """Whether a head is an xcomp, or a conjunct of one, that does not have the dependent."""
        first = self._first_conjunct(head)
        return base_relation(self.deprels[first]) == "xcomp" and self.heads[word] != first
