"""Penn Treebank trees to basic Universal Dependencies of today, in the manner of UD_English-EWT.

Unlike `convert.universal`, the relations are those of today (such as obl:unmarked rather than
obl:tmod), FEATS are written as far as they follow from the tags, a word and the clitics that are
attached to it are a multiword token (`do` and `n't` are `don't`), and quotation marks and brackets
are those of running text. There are no lemmas.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import numpy as np

from depkit.convert.converter import load_converter
from depkit.convert.detokenize import join_words, multiword_ranges, spaces_after
from depkit.convert.features import find_features
from depkit.convert.universal import find_upos
from depkit.corpus.formats import CONLLU
from depkit.corpus.penn import QUOTATION_MARKS, unescape_brackets
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.corpus.tree import Tree
from depkit.corpus.universal import base_relation, sort_features

# Words with these relations have no dependents but those with the relations in _OF_FUNCTION_WORDS.
_FUNCTION_WORDS = {"aux", "cop", "mark", "case", "cc", "punct", "fixed"}
_OF_FUNCTION_WORDS = {"fixed", "conj", "cc", "punct"}
# Dependents with these relations follow their head.
_TO_THE_RIGHT = {"conj", "fixed", "flat", "appos"}
# The UPOS that a relation requires, and the relation of words with another UPOS.
_REQUIRED_UPOS = {
    "aux": ({"AUX"}, "dep"),
    "cop": ({"AUX", "PRON", "DET", "SYM"}, "dep"),
    "det": ({"DET", "PRON"}, "dep"),
    "nummod": ({"NUM"}, "amod"),
    "advmod": ({"ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"}, "dep"),
    "expl": ({"PRON", "DET", "PART"}, "dep"),
}
# The UPOS that words of other classes have as function words, and ExtPos if others are fixed to it.
_FUNCTION_UPOS = {"case": "ADP", "mark": "SCONJ", "cc": "CCONJ"}
_EXTERNAL_UPOS = {**_FUNCTION_UPOS, "advmod": "ADV"}
# The UPOS that a relation gives words with a tag: `about` before a number, `out` of, emoticons.
_UPOS_BY_RELATION = {
    ("advmod", "IN"): "ADV", ("advmod", "RP"): "ADV", ("case", "RB"): "ADP",
    ("discourse", "NFP"): "SYM",
}  # fmt: skip
_CONTENT_UPOS = {"ADJ", "DET", "INTJ", "NOUN", "PRON", "PROPN", "NUM", "VERB", "AUX"}
_NOMINAL = {"NOUN", "PROPN", "PRON", "NUM", "SYM"}
_OF_PREDICATES = {"nsubj", "csubj", "cop", "aux", "expl"}


def annotate(tree: Tree) -> dict[str, list[str]]:
    """Return the columns upos, feats, head and deprel of a tree's words."""
    leaves = tree.leaves()
    forms, tags = [leaf.form for leaf in leaves], [leaf.name for leaf in leaves]
    heads, relations = load_converter("ud2").convert(tree)
    upos = list(map(find_upos, forms, tags, relations))
    _attach_to_content_words(heads, relations)
    _attach_punctuation(heads, relations)
    children: list[set[str]] = [set() for _ in forms]  # the relations of each word's dependents
    for head, relation in zip(heads, relations, strict=True):
        if head:
            children[head - 1].add(relation)
    for i, (relation, tag) in enumerate(zip(relations, tags, strict=True)):
        if (relation, tag) in _UPOS_BY_RELATION and "fixed" not in children[i]:
            upos[i] = _UPOS_BY_RELATION[relation, tag]
        if tag == "ADD":
            upos[i] = "PROPN"
        if base_relation(relation) in _FUNCTION_UPOS and upos[i] in _CONTENT_UPOS:
            if "fixed" not in children[i]:
                upos[i] = _FUNCTION_UPOS[base_relation(relation)]
        relations[i] = _check_relation(
            i, heads=heads, relations=relations, upos=upos, children=children
        )
    _keep_one_object(heads, relations)
    feats = []
    for i, (form, tag) in enumerate(zip(forms, tags, strict=True)):
        is_passive = relations[i] in ("acl", "amod") or "aux:pass" in children[i]
        values = find_features(form, tag, _is_relative(i, heads, relations), is_passive)
        external = _EXTERNAL_UPOS.get(base_relation(relations[i]))
        if external and "fixed" in children[i]:
            features = {f"ExtPos={external}", *values.split("|")} - {"_"}
            values = "|".join(sort_features(features))
        feats.append(values)
    return {"upos": upos, "feats": feats, "head": list(map(str, heads)), "deprel": relations}


def _check_relation(
    index: int,
    *,
    heads: Sequence[int],
    relations: Sequence[str],
    upos: Sequence[str],
    children: Sequence[set[str]],
) -> str:
    """Return the relation of a word, or another one if the guidelines do not allow it there."""
    relation, head = relations[index], heads[index] - 1
    base = base_relation(relation)
    required, other = _REQUIRED_UPOS.get(base, (set(), ""))
    if required and upos[index] not in required and "fixed" not in children[index]:
        return other
    if relation != "root" and (relation == "punct") != (upos[index] == "PUNCT"):
        return "punct" if upos[index] == "PUNCT" else "dep"
    if base in _TO_THE_RIGHT and head > index:
        return "dep"
    if base == "obl" and upos[head] in _NOMINAL:
        if not {base_relation(child) for child in children[head]} & _OF_PREDICATES:
            return "nmod" + relation[3:].replace(":agent", "")
    return relation


def _attach_to_content_words(heads: list[int], relations: Sequence[str]) -> None:
    """Attach the dependents of function words to the words that these depend on."""
    for i, relation in enumerate(relations):
        if base_relation(relation) in _OF_FUNCTION_WORDS and relation != "punct":
            continue
        while heads[i] and base_relation(relations[heads[i] - 1]) in _FUNCTION_WORDS:
            heads[i] = heads[heads[i] - 1]


def _attach_punctuation(heads: list[int], relations: Sequence[str]) -> None:
    """Attach punctuation marks whose arcs cross others to a word where they cross none."""
    current = np.array(heads)
    for i, relation in enumerate(relations):
        if relation == "punct" and _crosses(i, heads[i], current):
            for neighbour in (i, i + 2):  # 1-based: the word before it, then the one after it
                head = neighbour
                while 0 < head <= len(heads) and _crosses(i, head, current):
                    head = heads[head - 1]
                if 0 < head <= len(heads) and relations[head - 1] != "punct":
                    heads[i] = current[i] = head
                    break


def _crosses(index: int, head: int, heads: np.ndarray) -> bool:
    """Whether an arc to a word (0-based) from a head (1-based) crosses another arc.

    heads: [words], the 1-based heads of all words.
    """
    low, high = sorted((index + 1, head))
    between = heads[low : max(low, high - 1)]
    before, after = heads[: max(0, low - 1)], heads[high:]
    return bool(
        ((between < low) | (between > high)).any()
        or ((low < before) & (before < high)).any()
        or ((low < after) & (after < high)).any()
    )


def _keep_one_object(heads: Sequence[int], relations: list[str]) -> None:
    """Turn the second direct object of a verb into an indirect one, or into an adjunct."""
    objects: dict[int, int] = {}
    for i, relation in enumerate(relations):
        if relation == "obj":
            first = objects.setdefault(heads[i], i)
            if first != i:
                relations[i] = "iobj" if first + 1 < heads[i] else "obl:unmarked"


def _is_relative(index: int, heads: Sequence[int], relations: Sequence[str]) -> bool:
    """Whether a word is in a relative clause, and in no other clause in it."""
    clauses = {"acl:relcl": True, "ccomp": False, "advcl": False, "csubj": False, "root": False}
    while relations[index] not in clauses:
        index = heads[index] - 1
    return clauses[relations[index]]


def convert(trees: Iterable[Tree], ids: Iterable[str] | None = None) -> Iterator[Sentence]:
    """Yield a CoNLL-U sentence for each tree; XPOS is the tree's tag.

    `ids` are the values of `# sent_id`, by default 1, 2, 3 and so on. The spaces in `# text` follow
    the usual conventions; see `detokenize`.
    """
    for tree, sent_id in zip(trees, ids or map(str, count(1)), strict=False):
        leaves = tree.leaves()
        tags = [leaf.name for leaf in leaves]
        forms = [unescape_brackets(leaf.form) for leaf in leaves]
        spaces = spaces_after(forms, tags)
        ranges = multiword_ranges(forms, tags, spaces)
        forms = [QUOTATION_MARKS.get(form, form) for form in forms]
        text = join_words(forms, spaces)
        inner = {i for first, last in ranges for i in range(first, last + 1)}
        misc = ["_" if space or i in inner else "SpaceAfter=No" for i, space in enumerate(spaces)]
        columns = {**annotate(tree), "xpos": tags, "misc": misc}
        comments = [f"# sent_id = {sent_id}\n", f"# text = {text}\n"]
        sentence = new_sentence(forms, columns, CONLLU, constituents=tree, comments=comments)
        yield _with_ranges(sentence, ranges, spaces) if ranges else sentence


def _with_ranges(
    sentence: Sentence, ranges: Sequence[tuple[int, int]], spaces: Sequence[bool]
) -> Sentence:
    """Return a sentence with multiword tokens; `ranges` are the first and last words, 0-based."""
    lines, rows = list(sentence.lines), list(sentence.rows)
    for first, last in reversed(ranges):
        form = "".join(sentence.form[first : last + 1])
        misc = "_" if spaces[last] else "SpaceAfter=No"
        lines.insert(rows[first], f"{first + 1}-{last + 1}\t{form}\t" + "_\t" * 7 + f"{misc}\n")
        rows[first:] = [row + 1 for row in rows[first:]]
    columns = {name: sentence.column(name) for name in sentence.format.columns}
    return Sentence(
        sentence.format,
        lines,
        rows,
        columns,
        head=sentence.head,
        constituents=sentence.constituents,
    )
