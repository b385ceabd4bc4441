"""Basic Stanford dependencies: relations of the manual in invented sentences, and any tree."""

import re
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.convert.stanford import convert, convert_tree
from depkit.corpus.io import read, read_trees
from depkit.corpus.tree import Tree
from depkit.score.evaluators import evaluate
from depkit.treebank.check_tree import find_cycles
from tests.bench.stanford import remove_function_tags
from tests.convert.penn_trees import trees

DATA = Path(__file__).parents[3] / "shared" / "data"
DEPENDENCIES = DATA / "wsj-sample-sd" / "wsj_0001-0159.conllx"
RELATIONS = set(
    "acomp advcl advmod amod appos aux auxpass cc ccomp conj cop csubj dep det discourse dobj expl"
    " infmod iobj mark mwe neg nn npadvmod nsubj nsubjpass num number parataxis partmod pcomp pobj"
    " poss possessive preconj predet prep prt punct quantmod rcmod root tmod xcomp".split()
)

# Each example has a name, head and relation of each word, and the tree on the next lines.
TABLE = """\
passive = 2:det 4:nsubjpass 4:auxpass 0:root 4:prep 5:pobj 4:punct
  (S (NP-SBJ (DT The) (NN bridge)) (VP (VBD was) (VP (VBN painted) (PP (IN by) (NP (NNS
    volunteers))))) (. .))
copula = 2:poss 5:nsubj 5:cop 5:advmod 0:root 5:punct
  (S (NP-SBJ (PRP$ Our) (NN garden)) (VP (VBZ is) (ADJP-PRD (RB very) (JJ small))) (. .))
copula noun = 5:nsubj 5:aux 5:cop 5:det 0:root 5:punct
  (S (NP-SBJ (PRP She)) (VP (MD will) (VP (VB become) (NP-PRD (DT a) (NN pilot)))) (. .))
relative clause = 2:det 0:root 5:dobj 5:nsubj 2:rcmod
  (NP (NP (DT the) (NN cat)) (SBAR (WHNP (WDT that)) (S (NP-SBJ (PRP you)) (VP (VBD fed)))))
subject relative = 2:det 0:root 4:nsubj 2:rcmod
  (NP (NP (DT a) (NN man)) (SBAR (WHNP (WP who)) (S (VP (VBZ sings)))))
coordination = 4:nsubj 1:cc 1:conj 0:root 4:cc 4:conj 6:dobj 4:punct
  (S (NP-SBJ (NNP Ann) (CC and) (NNP Ben)) (VP (VP (VBP cook)) (CC but) (VP (VBP hate) (NP (NNS
    dishes)))) (. .))
coordinated modifiers = 4:nn 1:cc 1:conj 0:root
  (NP (NN silk) (CC and) (NN velvet) (NNS gowns))
coordinated nouns = 2:poss 0:root 2:cc 5:amod 2:conj
  (NP (PRP$ my) (NN hat) (CC and) (JJ warm) (NNS gloves))
money = 2:nsubj 0:root 2:dobj 5:number 3:num 2:punct
  (S (NP-SBJ (PRP It)) (VP (VBD cost) (NP (QP ($ $) (CD 4.5) (CD million)))) (. .))
more than = 2:mwe 3:quantmod 4:num 0:root
  (NP (QP (JJR more) (IN than) (CD ninety)) (NNS goats))
about = 2:quantmod 3:num 0:root
  (NP (QP (IN about) (CD ninety)) (NNS goats))
time = 2:nsubj 0:root 4:amod 2:tmod 2:punct
  (S (NP-SBJ (PRP We)) (VP (VBD danced) (NP-TMP (JJ last) (NN night))) (. .))
npadvmod = 2:num 3:npadvmod 0:root
  (ADVP (NP (CD two) (NNS hours)) (RB ago))
ccomp = 2:nsubj 0:root 5:mark 5:nsubj 2:ccomp 2:punct
  (S (NP-SBJ (PRP I)) (VP (VBP think) (SBAR (IN that) (S (NP-SBJ (PRP it)) (VP (VBD snowed))))) (.
    .))
xcomp = 2:nsubj 0:root 4:aux 2:xcomp 2:punct
  (S (NP-SBJ (PRP They)) (VP (VBP want) (S (VP (TO to) (VP (VB sleep))))) (. .))
mwe = 2:mwe 0:root 2:pobj
  (PP (JJ such) (IN as) (NP (NNS owls)))
possessive = 2:det 4:poss 2:possessive 0:root
  (NP (NP (DT the) (NN farmer) (POS 's)) (NN barn))
particle = 2:nsubj 0:root 2:prt 2:dobj 2:punct
  (S (NP-SBJ (PRP He)) (VP (VBD gave) (PRT (RP up)) (NP (NN chess))) (. .))
expletive = 2:expl 0:root 4:det 2:nsubj 2:prep 7:det 5:pobj 2:punct
  (S (NP-SBJ (EX There)) (VP (VBZ is) (NP-PRD (DT a) (NN mouse)) (PP-LOC (IN under) (NP (DT the)
    (NN bed)))) (. .))
two objects = 2:nsubj 0:root 2:iobj 5:det 2:dobj 2:punct
  (S (NP-SBJ (NNP Eva)) (VP (VBD lent) (NP (PRP him)) (NP (DT a) (NN book))) (. .))
negation = 4:nsubj 4:aux 4:neg 0:root 4:punct
  (S (NP-SBJ (NNS Fish)) (VP (VBP do) (RB n't) (VP (VB bark))) (. .))
adverbial clause = 3:advmod 3:nsubj 6:advcl 6:punct 6:nsubj 0:root 6:punct
  (S (SBAR-TMP (WHADVP (WRB When)) (S (NP-SBJ (NN night)) (VP (VBD fell)))) (, ,) (NP-SBJ (PRP
    we)) (VP (VBD left)) (. .))
gerund after preposition = 2:nsubj 0:root 2:prep 3:pcomp 2:punct
  (S (NP-SBJ (PRP She)) (VP (VBD left) (PP (IN without) (S-NOM (VP (VBG paying))))) (. .))
apposition = 0:root 1:punct 4:poss 1:appos 1:punct
  (NP (NP (NNP Rex)) (, ,) (NP (PRP$ my) (NN dog)) (, ,))
predeterminer = 3:predet 3:det 0:root
  (NP (PDT all) (DT the) (NNS frogs))
participle = 0:root 1:partmod 2:prep 3:pobj
  (NP (NP (NNS letters)) (VP (VBN written) (PP (IN in) (NP (NN haste)))))
infinitive = 2:det 0:root 4:aux 2:infmod
  (NP (NP (DT a) (NN song)) (S (VP (TO to) (VP (VB remember)))))
quotation = 6:punct 3:nsubj 6:ccomp 6:punct 6:punct 0:root 6:nsubj 6:punct
  (SINV (`` ``) (S-TPC (NP-SBJ (PRP I)) (VP (VBP agree))) (, ,) ('' '') (VP (VBD said)) (NP-SBJ
    (NNP Tom)) (. .))
"""
EXAMPLES = {
    name: (arcs, tree)
    for name, arcs, tree in re.findall(r"^(\S.*) = (.*)\n((?: .*\n)+)", TABLE, re.MULTILINE)
}


def parse_tree(text: str) -> Tree:
    (tree,) = read_trees([text])
    return tree


@pytest.mark.parametrize("name", EXAMPLES)
def test_relations_of_the_manual(name: str) -> None:
    expected, text = EXAMPLES[name]
    for tree in (parse_tree(text), parse_tree(f"(ROOT {text})")):
        _, _, heads, relations = convert_tree(tree)
        assert " ".join(f"{h}:{r}" for h, r in zip(heads, relations, strict=True)) == expected


def test_sentences_are_conllx_with_unescaped_words() -> None:
    tree = parse_tree(r"(NP (CD 1\/2) (NN cup) (-LRB- -LRB-))")
    (sentence,) = convert([tree])
    assert (sentence.format.name, sentence.constituents) == ("conllx", tree)
    assert sentence.form == ["1/2", "cup", "-LRB-"]
    assert sentence.upos == sentence.xpos == ["CD", "NN", "-LRB-"]
    assert str(sentence).startswith("1\t1/2\t_\tCD\tCD\t_\t2\tnum\t")


def test_heads_do_not_depend_on_function_tags() -> None:
    tree = parse_tree("(S-TPC-1 (NP-SBJ=2 (-LRB- -LRB-)) (VP (VB go)))")
    assert str(remove_function_tags(tree)) == "(S (NP (-LRB- -LRB-)) (VP (VB go)))"
    for _, text in EXAMPLES.values():
        *_, heads, _ = convert_tree(parse_tree(text))
        assert convert_tree(remove_function_tags(parse_tree(text)))[2] == heads


def assert_one_tree(heads: list[int], relations: list[str]) -> None:
    assert heads.count(0) == relations.count("root") == 1
    assert heads[relations.index("root")] == 0
    assert set(relations) <= RELATIONS
    assert max(heads) <= len(heads) and min(heads) == 0 and not find_cycles(heads)


@settings(max_examples=300, deadline=None)
@given(trees)
def test_any_constituency_tree_gives_one_dependency_tree(tree: Tree) -> None:
    forms, _, heads, relations = convert_tree(tree)
    assert len(forms) == len(heads) == len(relations)
    assert_one_tree(heads, relations)
    assert_one_tree(*convert_tree(remove_function_tags(tree))[2:])


flat_labels = st.sampled_from("NN NNS JJ CD $ CC , '' POS DT IN JJR JJS NP".split())


@settings(max_examples=300, deadline=None)
@given(st.lists(flat_labels, min_size=1, max_size=7), st.sampled_from(["NP", "QP", "NAC", "NX"]))
def test_flat_constituents_give_one_dependency_tree(tags: list[str], label: str) -> None:
    children = [Tree(tag, [Tree("NN", (), "x")] if tag == "NP" else (), "x" * (tag != "NP"))
            for tag in tags]  # fmt: skip
    assert_one_tree(*convert_tree(Tree(label, children))[2:])


def test_deep_and_wide_trees_are_converted() -> None:
    deep = parse_tree("(NP " * 5000 + "(NN a)" + ")" * 5000)
    assert convert_tree(deep)[2:] == ([0], ["root"])
    chain = "(S (NN a) " * 300 + "(VP (VB go))" + ")" * 300
    assert_one_tree(*convert_tree(parse_tree(chain))[2:])
    assert_one_tree(*convert_tree(parse_tree("(NP" + " (NN a) (, ,)" * 300 + ")"))[2:])


@cache
def read_sample() -> tuple[list[Tree], list]:  # type: ignore[type-arg]
    paths = sorted((DATA / "wsj-sample").glob("wsj_000*.mrg"))
    trees = [tree for path in paths for tree in read_trees(path)]
    return trees, list(islice(read(DEPENDENCIES), len(trees)))


@pytest.mark.skipif(not DEPENDENCIES.exists(), reason="no ../shared/data beside the repository")
@pytest.mark.parametrize(("remove_tags", "min_score"), [(False, 98.9), (True, 98.8)])
def test_the_sample_is_converted_accurately(remove_tags: bool, min_score: float) -> None:
    """The rules were written with these files in view, so this only checks that nothing broke."""
    trees, gold = read_sample()
    result = evaluate(gold, convert(map(remove_function_tags, trees) if remove_tags else trees))
    assert result.scores["LAS"] > min_score
