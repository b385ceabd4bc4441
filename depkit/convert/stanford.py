"""Penn Treebank trees to basic Stanford dependencies 3.3.0: de Marneffe and Manning (2008, 2013).

A linear model chooses the head child of each constituent, whose head word is that of the
constituent. The head words of the other children depend on it, with a few exceptions in flat
coordinations and numbers (see `convert.coordination`). Another linear model labels the arcs. Both
models were trained by `convert.train_stanford` on a converted sample of the treebank; the only
words in them are those of `convert.lexicon`. Punctuation keeps its arcs, and a sentence has one
root.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from depkit.convert.constituents import Node, build_nodes
from depkit.convert.coordination import find_reattachments
from depkit.convert.head_features import (
    CHILD_TEMPLATES,
    SIBLING_TEMPLATES,
    HeadContext,
    head_context,
    observe_children,
)
from depkit.convert.linear import Model, Observations, load
from depkit.convert.relation_features import RELATION_TEMPLATES, observe_relations
from depkit.corpus.formats import CONLLX
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree

Reattach = Callable[[Node], dict[int, int]]
WEIGHTS = Path(__file__).with_name("stanford.npz")
ROOT = "root"
_CACHE_SIZE = 1 << 14  # decisions in a cache; many of them recur


class Converter:
    """A converter from constituency trees to dependencies, with a cache of its decisions.

    Args:
        heads: The ranker that chooses head children.
        relations: The classifier that labels arcs.
        reattach: Finds the children that do not depend on their parent's head word, as
            `coordination.find_reattachments` does.
    """

    def __init__(
        self, heads: Model, relations: Model, reattach: Reattach = find_reattachments
    ) -> None:
        self.heads = heads
        self.relations = relations
        self.reattach = reattach
        self._cached_head_index = lru_cache(_CACHE_SIZE)(self._head_index)
        self._cached_relation = lru_cache(_CACHE_SIZE)(self._best_relation)

    def predict_dependencies(self, tree: Tree) -> tuple[list[int], list[str]]:
        """Return the heads (1-based, 0 for the root) and the relations of a tree's words."""
        constituents, words = build_nodes(tree)
        for node in constituents:
            index = 0
            if len(node.children) > 1:
                index = self._cached_head_index(head_context(node))
            node.head_child = node.children[index]
            node.head = node.head_child.head
        arcs = find_arcs(constituents, words, self.reattach)
        heads = [
            0 if head is word else head.word_index + 1
            for word, (head, _) in zip(words, arcs, strict=True)
        ]
        relations = [
            self._cached_relation(observations) for observations in observe_relations(words, arcs)
        ]
        return heads, relations

    def _head_index(self, context: HeadContext) -> int:
        scores = []
        for observations, siblings in observe_children(context):
            score = self.heads.score(CHILD_TEMPLATES, observations)
            for sibling in siblings:
                score += self.heads.score(SIBLING_TEMPLATES, sibling, len(CHILD_TEMPLATES.getters))
            scores.append(score)
        return scores.index(max(scores))

    def _best_relation(self, observations: Observations | None) -> str:
        if observations is None:
            return ROOT
        return self.relations.best_label(RELATION_TEMPLATES, observations)


def find_arcs(
    constituents: Sequence[Node], words: Sequence[Node], reattach: Reattach = find_reattachments
) -> list[tuple[Node, Node]]:
    """Find the heads of all words, given the head children of all constituents.

    Args:
        constituents: Children before their parents.
        words: The words in order.
        reattach: As for `Converter`.

    Returns:
        For each word, its head (the word itself for the root), and the largest constituent whose
        head word it is.
    """
    arcs = [(word, word) for word in words]
    for node in constituents:
        children, head = node.children, node.head_child
        new_heads = reattach(node) if len(children) > 2 else {}
        for child in children:
            if child is not head:
                index = child.child_index
                sibling = children[new_heads[index]] if index in new_heads else head
                arcs[child.head.word_index] = (sibling.head, child)
    return arcs


@cache
def load_converter() -> Converter:
    """Load the converter with the weights that come with depkit."""
    return Converter(load(WEIGHTS, "heads"), load(WEIGHTS, "relations"))


def convert_tree(tree: Tree) -> tuple[list[str], list[str], list[int], list[str]]:
    """Return forms, tags, heads (1-based, 0 for the root) and relations of a tree's words.

    The result is a dependency tree with one root, whatever the labels of the tree are.
    """
    leaves = tree.leaves()
    heads, relations = load_converter().predict_dependencies(tree)
    return [leaf.form for leaf in leaves], [leaf.name for leaf in leaves], heads, relations


def convert(trees: Iterable[Tree]) -> Iterator[Sentence]:
    """Yield a CoNLL-X sentence for each tree; CPOSTAG and POSTAG are the tree's tags."""
    for tree in trees:
        forms, tags, heads, relations = convert_tree(tree)
        columns = {
            "upos": tags, "xpos": tags, "head": list(map(str, heads)), "deprel": relations,
        }  # fmt: skip
        yield new_sentence(forms, columns, CONLLX, tree)
