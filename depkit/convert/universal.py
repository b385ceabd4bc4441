"""Penn Treebank trees to basic Universal Dependencies: a first version.

The conversion works as in `convert.stanford`, but the models were trained on a sample of the
treebank as converted by CoreNLP 4.5.10. Brackets are written as ( rather than -LRB- and so on, and
all other words as in the treebank, even quotation marks (`` and ''). The comment `# text` joins the
words with the spaces of running text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count, pairwise
from pathlib import Path

from depkit.convert.constituents import NEVER_CONJUNCT, Node
from depkit.convert.coordination import find_reattachments
from depkit.convert.detokenize import BRACKETS, spaces_after
from depkit.convert.linear import load, load_text
from depkit.convert.stanford import Converter
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree

WEIGHTS = Path(__file__).with_name("universal.npz")


def find_universal_reattachments(node: Node) -> dict[int, int]:
    """Find the children that do not depend on the head, as `coordination.find_reattachments` does.

    A conjunction depends on the conjunct after it: in `oats and corn`, `and` depends on `corn`.
    In `more than 30`, `than` depends on `more`; in `because of`, `of` depends on `because`; in
    `about $ 3 million`, `3` depends on `million`.
    """
    new_heads = find_reattachments(node)
    if new_heads == {0: 1} and node.label == "QP":
        new_heads = {1: 0}
    head = node.head_child
    for previous, child in pairwise(node.children):
        labels = previous.label, child.label
        if labels in (("IN", "IN"), ("JJ", "IN")) and node.label in ("PP", "SBAR"):
            new_heads = new_heads | {child.child_index: previous.child_index}
        elif labels == ("CD", "CD") and node.label == "QP" and head.label in ("$", "#"):
            new_heads = new_heads | {previous.child_index: child.child_index}
        elif child.label in ("CC", "CONJP") and child is not head:
            following = node.children[child.child_index + 1 :]
            conjuncts = (
                sibling.child_index for sibling in following if sibling.label not in NEVER_CONJUNCT
            )
            conjunct = next(conjuncts, None)
            if conjunct is not None:
                new_heads = new_heads | {child.child_index: new_heads.get(conjunct, conjunct)}
    return new_heads


def most_frequent_upos(trees: Iterable[Tree], gold: Iterable[Sentence]) -> dict[str, str]:
    """Find the most frequent UPOS of each tag and relation, and of each tag.

    The keys are `TAG relation` and `TAG`; `convert` looks UPOS up in this table.
    """
    counts: dict[str, Counter[str]] = {}
    for tree, sentence in zip(trees, gold, strict=True):
        for leaf, deprel, upos in zip(tree.leaves(), sentence.deprel, sentence.upos, strict=True):
            for key in (leaf.name, f"{leaf.name} {deprel}"):
                counts.setdefault(key, Counter())[upos] += 1
    return {
        key: min(upos_counts, key=lambda upos: (-upos_counts[upos], upos))
        for key, upos_counts in counts.items()
    }


@cache
def load_converter() -> tuple[Converter, dict[str, str]]:
    """Load the converter and the UPOS table that come with depkit."""
    models = load(WEIGHTS, "heads"), load(WEIGHTS, "relations")
    table = dict(line.split("\t") for line in load_text(WEIGHTS, "tags").split("\n"))
    return Converter(*models, find_universal_reattachments), table


def convert(trees: Iterable[Tree], ids: Iterable[str] | None = None) -> Iterator[Sentence]:
    """Yield a CoNLL-U sentence for each tree; XPOS is the tree's tag, and there are no lemmas.

    `ids` are the values of `# sent_id`, by default 1, 2, 3 and so on. The spaces in `# text` follow
    the usual conventions; see `detokenize`.
    """
    model, upos_table = load_converter()
    for tree, sent_id in zip(trees, ids or map(str, count(1)), strict=False):
        leaves = tree.leaves()
        heads, relations = model.predict_dependencies(tree)
        forms = [BRACKETS.get(leaf.form, leaf.form) for leaf in leaves]
        spaces = spaces_after(forms, [leaf.name for leaf in leaves])
        text = "".join(form + " " * space for form, space in zip(forms, spaces, strict=True))
        columns: dict[str, Sequence[str]] = {
            "upos": [
                upos_table.get(f"{leaf.name} {relation}", upos_table.get(leaf.name, "X"))
                for leaf, relation in zip(leaves, relations, strict=True)
            ],
            "xpos": [leaf.name for leaf in leaves],
            "head": list(map(str, heads)),
            "deprel": relations,
            "misc": ["_" if space else "SpaceAfter=No" for space in spaces],
        }
        comments = [f"# sent_id = {sent_id}\n", f"# text = {text.rstrip()}\n"]
        yield new_sentence(forms, columns, CONLLU, tree, comments)
