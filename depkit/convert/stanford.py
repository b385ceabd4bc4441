"""Penn Treebank trees to basic Stanford dependencies 3.3.0: de Marneffe and Manning (2008, 2013).

Punctuation keeps its arcs, and a sentence has one root.
"""

from collections.abc import Iterable, Iterator

from depkit.convert.converter import load_converter
from depkit.corpus.formats import CONLLX
from depkit.corpus.penn import BRACKETS, unescape_brackets
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree

_BRACKET_WORDS = set(BRACKETS.values())  # these words stay as they are, as is usual in CoNLL-X


def convert_tree(tree: Tree) -> tuple[list[str], list[str], list[int], list[str]]:
    """Return forms, tags, heads (1-based, 0 for the root) and relations of a tree's words."""
    leaves = tree.leaves()
    heads, relations = load_converter("sd").convert(tree)
    forms = [
        form if form in _BRACKET_WORDS else unescape_brackets(form)
        for form in (leaf.form for leaf in leaves)
    ]
    return forms, [leaf.name for leaf in leaves], heads, relations


def convert(trees: Iterable[Tree]) -> Iterator[Sentence]:
    """Yield a CoNLL-X sentence for each tree; CPOSTAG and POSTAG are the tree's tags."""
    for tree in trees:
        forms, tags, heads, relations = convert_tree(tree)
        columns = {
            "upos": tags, "xpos": tags, "head": list(map(str, heads)), "deprel": relations,
        }  # fmt: skip
        yield new_sentence(forms, columns, CONLLX, constituents=tree)
