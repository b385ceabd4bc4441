"""Penn Treebank trees to basic Universal Dependencies: a first version.

The machinery of `convert.stanford`, trained on another target: a sample of the treebank as
CoreNLP's converter has it (its version 4.5.10). Brackets are written as
( rather than -LRB- and so on, and all other words as in the treebank, even quotation marks (`` and
''). The comment `# text` joins the words with the spaces of running text.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count, pairwise
from pathlib import Path

from depkit.convert.constituents import IDLE, Node
from depkit.convert.coordination import attachments
from depkit.convert.detokenize import BRACKETS, spaces_after
from depkit.convert.linear import load, load_text
from depkit.convert.stanford import Converter
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree

WEIGHTS = Path(__file__).with_name("universal.npz")


def universal_attachments(node: Node) -> dict[int, int]:
    """The children that do not belong to the head, as in `coordination.attachments`.

    In UD a conjunction belongs to what follows it (`oats, and -> corn`); in `more than 30` than
    belongs to more, in `because of` of to because, in `about $ 3 million` 3 to million.
    """
    moved = attachments(node)
    if moved == {0: 1} and node.label == "QP":
        moved = {1: 0}
    head = node.head_kid
    for before, kid in pairwise(node.kids):
        pair = before.label, kid.label
        if pair in (("IN", "IN"), ("JJ", "IN")) and node.label in ("PP", "SBAR"):
            moved = moved | {kid.place: before.place}
        elif pair == ("CD", "CD") and node.label == "QP" and head.label in ("$", "#"):
            moved = moved | {before.place: kid.place}
        elif kid.label in ("CC", "CONJP") and kid is not head:
            later = (each.place for each in node.kids[kid.place + 1 :] if each.label not in IDLE)
            place = next(later, None)
            if place is not None:
                moved = moved | {kid.place: moved.get(place, place)}
    return moved


def tags_of(trees: Iterable[Tree], gold: Iterable[Sentence]) -> dict[str, str]:
    """The commonest UPOS by tag and relation, and by tag alone: what `convert` looks up."""
    counts: dict[str, Counter[str]] = {}
    for tree, sentence in zip(trees, gold, strict=True):
        for leaf, deprel, upos in zip(tree.leaves(), sentence.deprel, sentence.upos, strict=True):
            for key in (leaf.name, f"{leaf.name} {deprel}"):
                counts.setdefault(key, Counter())[upos] += 1
    return {key: min(found, key=lambda tag: (-found[tag], tag)) for key, found in counts.items()}


@cache
def converter() -> tuple[Converter, dict[str, str]]:
    """The converter with the weights that come with depkit, and the table of tags."""
    models = load(WEIGHTS, "heads"), load(WEIGHTS, "relations")
    table = dict(line.split("\t") for line in load_text(WEIGHTS, "tags").split("\n"))
    return Converter(*models, universal_attachments), table


def convert(trees: Iterable[Tree], ids: Iterable[str] | None = None) -> Iterator[Sentence]:
    """Sentences in CoNLL-U format, one a tree: XPOS is the tree's tag; without lemmas.

    ids: the values of `# sent_id`, by default 1, 2, 3 and so on. The spaces in `# text` are the
    usual ones; see `detokenize`.
    """
    model, table = converter()
    for tree, sent_id in zip(trees, ids or map(str, count(1)), strict=False):
        leaves = tree.leaves()
        heads, relations = model.dependencies(tree)
        forms = [BRACKETS.get(leaf.word, leaf.word) for leaf in leaves]
        spaced = spaces_after(forms, [leaf.name for leaf in leaves])
        text = "".join(form + " " * space for form, space in zip(forms, spaced, strict=True))
        columns: dict[str, Sequence[str]] = {
            "upos": [
                table.get(f"{leaf.name} {relation}", table.get(leaf.name, "X"))
                for leaf, relation in zip(leaves, relations, strict=True)
            ],
            "xpos": [leaf.name for leaf in leaves],
            "head": list(map(str, heads)),
            "deprel": relations,
            "misc": ["_" if space else "SpaceAfter=No" for space in spaced],
        }
        comments = [f"# sent_id = {sent_id}\n", f"# text = {text.rstrip()}\n"]
        yield new_sentence(forms, columns, CONLLU, comments=comments)
