"""Penn Treebank trees to basic Universal Dependencies as CoreNLP 4.5 writes them.

Brackets are written as ( rather than -LRB- and so on, also inside words, and all other words as in
the treebank, even quotation marks (`` and ''). The comment `# text` joins the words with the spaces
of running text.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from depkit.convert.converter import load_converter
from depkit.convert.detokenize import join_words, spaces_after
from depkit.corpus.formats import CONLLU
from depkit.corpus.penn import unescape_brackets
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree

# UPOS by tag; the tags of verbs (VB, VBD, ...) and of punctuation are not listed.
UPOS = {
    "CC": "CCONJ", "CD": "NUM", "DT": "DET", "EX": "PRON", "FW": "X", "IN": "ADP", "JJ": "ADJ",
    "JJR": "ADJ", "JJS": "ADJ", "LS": "NUM", "MD": "AUX", "NN": "NOUN", "NNP": "PROPN",
    "NNPS": "PROPN", "NNS": "NOUN", "PDT": "DET", "POS": "PART", "PRP": "PRON", "PRP$": "PRON",
    "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "RP": "ADP", "SYM": "SYM", "TO": "ADP", "UH": "INTJ",
    "WDT": "PRON", "WP": "PRON", "WP$": "PRON", "WRB": "ADV", "$": "SYM", "#": "SYM", "ADD": "X",
    "AFX": "X", "GW": "X", "XX": "X",
}  # fmt: skip
_PUNCTUATION = {",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"}
_INDEFINITE = {
    quantity + noun
    for quantity in ("some", "any", "every", "no")
    for noun in ("one", "body", "thing")
} | {"none"}
_DEMONSTRATIVES = {"this", "that", "these", "those"}


def find_upos(form: str, tag: str, relation: str) -> str:
    """Return the UPOS of a word; its form matters if it is a function word."""
    word = form.lower()
    if tag in _PUNCTUATION:
        return "PUNCT"
    if tag.startswith("VB"):
        return "AUX" if relation in ("aux", "aux:pass", "cop") else "VERB"
    if tag in ("IN", "TO") and relation == "mark":
        # The tag of "na" in "gonna" and of "ta" in "gotta" is TO as well.
        return "PART" if tag == "TO" or word == "to" else "SCONJ"
    if tag in ("DT", "WDT") and relation == "det":
        return "DET"
    if tag == "DT" and word in _DEMONSTRATIVES and relation != "advmod":
        return "PRON"
    if tag == "RB" and word in ("not", "n't", "n’t"):
        return "PART"
    if tag == "NN":
        return "SYM" if word == "%" else "PRON" if word in _INDEFINITE else "NOUN"
    return UPOS.get(tag, "X")


def convert(trees: Iterable[Tree], ids: Iterable[str] | None = None) -> Iterator[Sentence]:
    """Yield a CoNLL-U sentence for each tree; XPOS is the tree's tag, and there are no lemmas.

    `ids` are the values of `# sent_id`, by default 1, 2, 3 and so on. The spaces in `# text` follow
    the usual conventions; see `detokenize`.
    """
    converter = load_converter("ud")
    for tree, sent_id in zip(trees, ids or map(str, count(1)), strict=False):
        leaves = tree.leaves()
        heads, relations = converter.convert(tree)
        forms = [unescape_brackets(leaf.form) for leaf in leaves]
        tags = [leaf.name for leaf in leaves]
        spaces = spaces_after(forms, tags)
        columns: dict[str, Sequence[str]] = {
            "upos": list(map(find_upos, forms, tags, relations)),
            "xpos": tags,
            "head": list(map(str, heads)),
            "deprel": relations,
            "misc": ["_" if space else "SpaceAfter=No" for space in spaces],
        }
        comments = [f"# sent_id = {sent_id}\n", f"# text = {join_words(forms, spaces)}\n"]
        yield new_sentence(forms, columns, CONLLU, constituents=tree, comments=comments)
