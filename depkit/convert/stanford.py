"""Penn Treebank trees to basic Stanford dependencies 3.3.0: de Marneffe and Manning (2008, 2013).

A constituent's head word is that of one of its children, which a linear model chooses; the other
children's head words depend on it, but for a few in flat coordinations and numbers (see
`convert.coordination`); another linear model labels the arcs. Both were trained by
`convert.train_stanford` on a converted sample of the treebank; there is no word in them but those
of `convert.lexicon`. Punctuation keeps its arcs, and a sentence has one root.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from depkit.convert.constituents import Node, constituents
from depkit.convert.coordination import attachments
from depkit.convert.head_features import BESIDE, HEAD, HeadView, head_observed, head_view
from depkit.convert.linear import Model, Observed, load
from depkit.convert.relation_features import RELATION, relations_observed
from depkit.corpus.formats import CONLLX
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree

Attach = Callable[[Node], dict[int, int]]
WEIGHTS = Path(__file__).with_name("stanford.npz")
ROOT = "root"
_CACHED = 1 << 14  # decisions that are remembered; many come again and again


class Converter:
    """Two models, of heads and of relations, and what they have decided before.

    attach: which children do not belong to the head, see `coordination.attachments`.
    """

    def __init__(self, heads: Model, relations: Model, attach: Attach = attachments) -> None:
        self.heads = heads
        self.relations = relations
        self.attach = attach
        self._head_place = lru_cache(_CACHED)(self._best_head)
        self._relation = lru_cache(_CACHED)(self._best_relation)

    def dependencies(self, tree: Tree) -> tuple[list[int], list[str]]:
        """Heads (1-based, 0 the root's) and relations of a tree's words."""
        order, words = constituents(tree)
        for node in order:
            place = self._head_place(head_view(node)) if len(node.kids) > 1 else 0
            node.head_kid = node.kids[place]
            node.head = node.head_kid.head
        arcs = governors(order, words, self.attach)
        heads = [
            0 if governor is word else governor.index + 1
            for word, (governor, _) in zip(words, arcs, strict=True)
        ]
        return heads, [self._relation(observed) for observed in relations_observed(words, arcs)]

    def _best_head(self, view: HeadView) -> int:
        """The place of the head child; the first of those that are as good."""
        scores = []
        for observed, siblings in head_observed(view):
            score = self.heads.score(HEAD, observed)
            for sibling in siblings:
                score += self.heads.score(BESIDE, sibling, len(HEAD.getters))
            scores.append(score)
        return scores.index(max(scores))

    def _best_relation(self, observed: Observed | None) -> str:
        return ROOT if observed is None else self.relations.label(RELATION, observed)


def governors(
    order: Sequence[Node], words: Sequence[Node], attach: Attach = attachments
) -> list[tuple[Node, Node]]:
    """Of every word, its head word (itself for the root), and the largest constituent it heads.

    order: constituents, children before their parents, their heads known.
    """
    arcs = [(word, word) for word in words]
    for node in order:
        kids, head = node.kids, node.head_kid
        moved = attach(node) if len(kids) > 2 else {}
        for kid in kids:
            if kid is not head:
                governor = kids[moved[kid.place]] if kid.place in moved else head
                arcs[kid.head.index] = (governor.head, kid)
    return arcs


@cache
def converter() -> Converter:
    """The converter with the weights that come with depkit."""
    return Converter(load(WEIGHTS, "heads"), load(WEIGHTS, "relations"))


def dependencies(tree: Tree) -> tuple[list[str], list[str], list[int], list[str]]:
    """Forms, tags, heads (1-based, 0 the root's) and relations of a tree's words.

    Any tree of words gets one tree of dependencies with one root, whatever its labels are.
    """
    leaves = tree.leaves()
    heads, relations = converter().dependencies(tree)
    return [leaf.word for leaf in leaves], [leaf.name for leaf in leaves], heads, relations


def convert(trees: Iterable[Tree]) -> Iterator[Sentence]:
    """Sentences in CoNLL-X format, one a tree: CPOSTAG and POSTAG are the tree's tags."""
    for tree in trees:
        forms, tags, heads, relations = dependencies(tree)
        columns = {
            "upos": tags, "xpos": tags, "head": list(map(str, heads)), "deprel": relations,
        }  # fmt: skip
        yield new_sentence(forms, columns, CONLLX)
