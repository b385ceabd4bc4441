"""Penn trees to Universal Dependencies of today."""

import io
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from depkit.convert.detokenize import multiword_ranges, spaces_after
from depkit.convert.ud2 import _crosses, convert
from depkit.corpus.io import read_trees
from depkit.corpus.tree import Tree
from depkit.corpus.universal import RELATIONS, UPOS, base_relation
from depkit.treebank.check import Checker
from tests.convert.penn_trees import trees

WSJ = Path(__file__).parents[3] / "shared" / "data" / "wsj-sample"

SENTENCE = """\
# sent_id = 1
# text = "Ann's cats don't bark (ever)," I told her.
1	"	_	PUNCT	``	_	12	punct	_	SpaceAfter=No
2-3	Ann's	_	_	_	_	_	_	_	_
2	Ann	_	PROPN	NNP	Number=Sing	4	nmod:poss	_	_
3	's	_	PART	POS	_	2	case	_	_
4	cats	_	NOUN	NNS	Number=Plur	7	nsubj	_	_
5-6	don't	_	_	_	_	_	_	_	_
5	do	_	AUX	VBP	Mood=Ind|Tense=Pres|VerbForm=Fin	7	aux	_	_
6	n't	_	PART	RB	Polarity=Neg	7	advmod	_	_
7	bark	_	VERB	VB	VerbForm=Inf	13	ccomp	_	_
"""


def check(text: str) -> list[str]:
    """Return the errors and warnings of `depkit check --ud`."""
    found = Checker(ud=True).check(text.splitlines(keepends=True))
    return [str(problem) for problem in found if problem.severity != "note"]


def test_a_sentence_has_multiword_tokens_features_and_the_marks_of_running_text() -> None:
    tree = """((S (`` ``) (S (NP (NP (NNP Ann) (POS 's)) (NNS cats)) (VP (VBP do) (RB n't) (VP
        (VB bark) (PRN (-LRB- -LRB-) (ADVP (RB ever)) (-RRB- -RRB-))))) (, ,) ('' '') (NP (PRP I))
        (VP (VBD told) (NP (PRP her))) (. .)))"""
    (sentence,) = convert(read_trees(io.StringIO(tree)))
    lines = str(sentence).splitlines()
    expected = SENTENCE.splitlines()
    assert lines[:2] == expected[:2]
    assert [line.split("\t")[:2] for line in lines[2:11]] == [
        line.split("\t")[:2] for line in expected[2:]
    ]
    assert lines[3:9] == expected[3:9]
    assert "13\tI\t_\tPRON\tPRP\tCase=Nom|Number=Sing|Person=1|PronType=Prs\t14\tnsubj" in str(
        sentence
    )
    assert check(str(sentence)) == []


# The relations of UD_English-EWT, where they are not those of `universal`.
CONSTRUCTIONS = """\
(SBARQ (WHADVP (WRB How)) (SQ (VBP are) (NP (PRP you)) (NP (NN today))))
  How/0:root are/1:cop you/1:nsubj today/1:obl:unmarked
(SBARQ (WHADVP (WRB Why)) (SQ (VBZ is) (NP (PRP he)) (PP (IN in) (NP (NN town)))))
  Why/5:advmod is/5:cop he/5:nsubj in/5:case town/0:root
(SBARQ (WHADVP (WRB Why)) (SQ (VBZ is) (NP (DT that))))
  Why/0:root is/1:cop that/1:nsubj
(SBARQ (WHADVP (WRB Where)) (SQ (VBP are) (NP (PRP you)) (PP (IN from))))
  Where/0:root are/1:cop you/1:nsubj from/1:case
(SBARQ (WHNP (WP What)) (SQ (MD will) (NP (DT the) (NN cost)) (VP (VB be))))
  What/0:root will/1:aux the/4:det cost/1:nsubj be/1:cop
(SQ (VBZ Is) (NP (DT that)) (PP (IN for) (NP (NN lunch))))
  Is/4:cop that/4:nsubj for/4:case lunch/0:root
(SQ (VBZ Is) (NP (PRP he)) (ADVP (RB here)))
  Is/3:cop he/3:nsubj here/0:root
(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJ ready) (S (VP (TO to) (VP (VB eat)))))))
  It/3:nsubj is/3:cop ready/0:root to/5:mark eat/3:xcomp
(S (NP (PRP It)) (VP (VBZ is) (NP (NN fun)) (SBAR (IN that) (S (NP (PRP I)) (VP (VBD lied))))))
  It/3:expl is/3:cop fun/0:root that/6:mark I/6:nsubj lied/3:csubj
(NP (NP (CD one)) (SBAR (WHNP (WP who)) (S (NP (PRP I)) (VP (VBP say) (SBAR (S (VP (VBP fit))))))))
  one/0:root who/5:nsubj I/4:nsubj say/1:acl:relcl fit/4:ccomp
(S (NP (SBAR (WHNP (WP Whoever)) (S (VP (VBZ wins))))) (VP (VBZ gets) (NP (DT a) (NN hat))))
  Whoever/3:nsubj wins/1:acl:relcl gets/0:root a/5:det hat/3:obj
(NP (CD one) (SBAR (WHNP (WDT that)) (S (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))))))
  one/0:root that/3:nsubj wants/1:acl:relcl to/5:mark go/3:xcomp
(S (NP (PRP I)) (VP (VBP know) (SBAR (WHNP (WP what)) (S (NP (PRP I)) (VP (VBD said))))))
  I/2:nsubj know/0:root what/5:obj I/5:nsubj said/2:ccomp
(S (NP (EX There)) (VP (MD will) (VP (VB have) (VP (VBN been) (NP (NN rain))))))
  There/4:expl will/4:aux have/4:aux been/0:root rain/4:nsubj
(S (NP (EX There)) (VP (VBZ seems) (S (VP (TO to) (VP (VB be) (NP (NN rain)))))))
  There/2:expl seems/0:root to/4:mark be/2:xcomp rain/4:nsubj
(SQ (VBZ Is) (NP (PRP it)) (NP (NN time)) (S (VP (TO to) (VP (VB go)))))
  Is/3:cop it/3:expl time/0:root to/5:mark go/3:csubj
(S (NP (PRP He)) (VP (VBD left) (, ,) (SBAR (WHNP (WDT which)) (S (VP (VBD helped))))))
  He/2:nsubj left/0:root ,/2:punct which/5:nsubj helped/2:advcl:relcl
(NP (NNP Vice) (NNP President) (NNP Ann) (NNP Bell))
  Vice/2:compound President/3:nmod:desc Ann/0:root Bell/3:flat
(NP (DT the) (NNP Bell) (NNP Street))
  the/3:det Bell/3:compound Street/0:root
(NP (NP (NNP Ann) (NNP Bell) (POS 's)) (NN hat))
  Ann/4:nmod:poss Bell/1:flat 's/1:case hat/0:root
(S (NP (PRP She)) (VP (VBD made) (S (NP (PRP him)) (ADJP (JJ glad)))))
  She/2:nsubj made/0:root him/2:obj glad/2:xcomp
(S (VP (VB Let) (S (NP (PRP us)) (VP (VB see) (NP (PRP it))))))
  Let/0:root us/1:obj see/1:xcomp it/3:obj
(S (NP (PRP I)) (VP (VBP want) (S (NP (DT the) (NN door)) (VP (VBN shut)))))
  I/2:nsubj want/0:root the/4:det door/2:obj shut/2:xcomp
(S (NP (PRP They)) (VP (VBP call) (S (NP (NNP Rex)) (NP (DT a) (NN dog)))))
  They/2:nsubj call/0:root Rex/2:obj a/5:det dog/2:xcomp
(S (NP (PRP We)) (VP (VBP keep) (S (NP (NN milk)) (PP (IN in) (NP (NN stock))))))
  We/2:nsubj keep/0:root milk/2:obj in/5:case stock/2:xcomp
(S (NP (PRP I)) (VP (VBP ask) (S (NP (NNP Rex)) (VP (VB go)))))
  I/2:nsubj ask/0:root Rex/4:nsubj go/2:ccomp
(NP (NML (NN corn) (NNS fields)) (CC and) (NNS mills))
  corn/2:compound fields/0:root and/4:cc mills/2:conj
(S (NP (PRP I)) (VP (VBP think) (S (NP (PRP he)) (ADJP (JJ glad)))))
  I/2:nsubj think/0:root he/4:nsubj glad/2:xcomp
(S (NP (PRP I)) (VP (VBP make) (S (NP (PRP it)) (ADJP (JJ hard) (S (VP (TO to) (VP (VB win))))))))
  I/2:nsubj make/0:root it/2:expl hard/2:xcomp to/6:mark win/2:ccomp
(NP (DT The) (NML (NN corn) (NN seed)) (NNS bags))
  The/4:det corn/3:compound seed/4:compound bags/0:root
(NP (NML (NNP Ann) (NNP Bell)) (POS 's) (NN hat))
  Ann/4:nmod:poss Bell/1:flat 's/1:case hat/0:root
(NP (NML (NNP Ann) (NNP Bell) (POS 's)) (NN hat))
  Ann/4:nmod:poss Bell/1:flat 's/1:case hat/0:root
(NP (NML (NN corn) (CC and) (NN rice)) (NNS fields))
  corn/4:compound and/3:cc rice/1:conj fields/0:root
(NP (DT a) (JJ hot) (HYPH -) (CC and) (HYPH -) (JJ dry) (NN day))
  a/7:det hot/7:amod -/6:punct and/6:cc -/6:punct dry/2:conj day/0:root
(S (NP (PRP She)) (VP (VBD came) (PP (NP (CD two) (NNS days)) (IN before) (NP (NNP May)))))
  She/2:nsubj came/0:root two/4:nummod days/6:nmod:unmarked before/6:case May/2:obl
(S (NP (PRP I)) (VP (VBD left) (ADVP (NP (DT an) (NN hour)) (IN ago))))
  I/2:nsubj left/0:root an/4:det hour/5:obl:unmarked ago/2:advmod
(S (NP (PRP We)) (VP (VBP wait) (ADVP (IN outside))))
  We/2:nsubj wait/0:root outside/2:advmod
(S (NP (PRP He)) (VP (VBZ eats) (ADVP (DT any) (RBR longer))))
  He/2:nsubj eats/0:root any/4:advmod longer/2:advmod
(NP (QP (IN about) (CD sixty)) (NNS goats))
  about/2:advmod sixty/3:nummod goats/0:root
(S (PP (JJ Due) (PP (TO to) (NP (NN fog)))) (NP (PRP we)) (VP (VBD left)))
  Due/3:case to/1:fixed fog/5:obl we/5:nsubj left/0:root
(S (PP (IN Due) (IN to) (NP (NN fog))) (NP (PRP we)) (VP (VBD left)))
  Due/3:case to/1:fixed fog/5:obl we/5:nsubj left/0:root
(NP (NP (NNS cats)) (PP (RB instead) (PP (IN of) (NP (NNS dogs)))))
  cats/0:root instead/4:case of/2:fixed dogs/1:nmod
(S (NP (PRP We)) (VP (VBD left) (PP (IN instead) (PP (IN of) (S (VP (VBG waiting)))))))
  We/2:nsubj left/0:root instead/5:mark of/3:fixed waiting/2:advcl
(S (NP (PRP I)) (VP (VBD ate) (PP (RB out) (IN of) (NP (NN habit)))))
  I/2:nsubj ate/0:root out/5:case of/5:case habit/2:obl
(S (NP (PRP I)) (ADVP (RB kind) (RB of)) (VP (VBP agree)))
  I/4:nsubj kind/4:advmod of/2:fixed agree/0:root
(NP (QP (CD 3) (TO to) (CD 4)) (NNS hats))
  3/4:nummod to/3:case 4/1:nmod hats/0:root
(NP (QP (CD 3) (CD million) (TO to) (CD 4) (CD million)) (NNS hats))
  3/2:compound million/6:nummod to/5:case 4/5:compound million/2:nmod hats/0:root
(NP (QP (DT a) (JJ few) (CD hundred)) (NNS hats))
  a/3:det few/3:amod hundred/4:nummod hats/0:root
(PP (IN on) (NP (NNP May) (CD 9) (, ,) (CD 1999)))
  on/2:case May/0:root 9/2:nmod:unmarked ,/2:punct 1999/2:nmod:unmarked
(S (NP (NNP Albany) (, ,) (NNP N.Y.)) (VP (VBZ grows)))
  Albany/4:nsubj ,/1:punct N.Y./1:appos grows/0:root
(S (EDITED (NP (PRP We)) (, ,)) (NP (PRP I)) (VP (VBD ate)))
  We/3:reparandum ,/1:punct I/4:nsubj ate/0:root
(S (NP (PRP I)) (VP (VBD ate) (EDITED (NP (DT a)))))
  I/2:nsubj ate/0:root a/2:reparandum
(S (NP (PRP I)) (VP (VBP win)) (NFP :-RRB-))
  I/2:nsubj win/0:root :)/2:discourse
(S (NP (PRP It)) (VP (VBZ is) (ADJP (RB too) (JJ hot) (S (VP (TO to) (VP (VB drink)))))))
  It/4:nsubj is/4:cop too/4:advmod hot/0:root to/6:mark drink/4:advcl
(VP (VBZ is) (ADJP (RB so) (JJ hot)) (SBAR (IN that) (S (NP (PRP I)) (VP (VBP go)))))
  is/3:cop so/3:advmod hot/0:root that/6:mark I/6:nsubj go/3:advcl
(S (NP (PRP It)) (VP (VBZ is) (ADJP (JJR icier) (SBAR (IN than) (S (NP (PRP I)) (VP (VBD said)))))))
  It/3:nsubj is/3:cop icier/0:root than/6:mark I/6:nsubj said/3:advcl
(S (NP (PRP It)) (VP (VBZ is) (ADJP (RB so) (JJ odd) (S (VP (TO to) (VP (VB see)))))))
  It/4:expl is/4:cop so/4:advmod odd/0:root to/6:mark see/4:csubj
(SQ (VBZ Is) (NP (PRP it)) (ADJP (RB too) (JJ bad) (SBAR (IN that) (S (NP (PRP I)) (VP (VBP go))))))
  Is/4:cop it/4:expl too/4:advmod bad/0:root that/7:mark I/7:nsubj go/4:csubj
(S (NP (PRP I)) (VP (VBP am) (ADJP (RB so) (JJ sorry) (SBAR (S (NP (PRP it)) (VP (VBZ rains)))))))
  I/4:nsubj am/4:cop so/4:advmod sorry/0:root it/6:nsubj rains/4:ccomp
(S (NP (PRP I)) (VP (VBP want) (ADVP (RB too)) (S (VP (TO to) (VP (VB eat))))))
  I/2:nsubj want/0:root too/2:advmod to/5:mark eat/2:xcomp
(S (NP (PRP I)) (VP (VBP say) (ADVP (RB so)) (SBAR (S (NP (PRP you)) (VP (VBP go))))))
  I/2:nsubj say/0:root so/2:advmod you/5:nsubj go/2:ccomp
(S (NP (PRP I)) (VP (VBP am) (ADJP (RB so) (JJ ready) (S (VP (TO to) (VP (VB eat)))))))
  I/4:nsubj am/4:cop so/4:advmod ready/0:root to/6:mark eat/4:xcomp
(S (VP (VB Find) (S (NP (PRP it)) (ADJP (RB so) (JJ odd) (S (VP (TO to) (VP (VB go))))))))
  Find/0:root it/1:expl so/4:advmod odd/1:xcomp to/6:mark go/1:ccomp
(S (S (NP (PRP I)) (VP (VBP eat) (NP (NNS figs)))) (CC and) (S (NP (PRP you)) (NP (NNS nuts))))
  I/2:nsubj eat/0:root figs/2:obj and/5:cc you/2:conj nuts/5:orphan
(S (S (NP (PRP I)) (VP (VBP eat) (NP (NNS figs)))) (CC and) (S (NP (NN today)) (NP (NNS nuts))))
  I/2:nsubj eat/0:root figs/2:obj and/6:cc today/6:orphan nuts/2:conj
(FRAG (RB Not) (PP (IN in) (NP (NNP May))))
  Not/3:advmod in/3:case May/0:root
(NP (NP (NNS figs)) (, ,) (CC but) (RB not) (NP (NNS nuts)))
  figs/0:root ,/1:punct but/5:cc not/5:advmod nuts/1:conj
(S (VP (VB Eat) (NP (PRP it))) (, ,) (NP (NNP Rex)) (. !))
  Eat/0:root it/1:obj ,/1:punct Rex/1:vocative !/1:punct
(S (VP (VB Come)) (, ,) (NP (NNP Monday)))
  Come/0:root ,/1:punct Monday/1:obl:unmarked
(FRAG (INTJ (UH Hello)) (, ,) (NP (NNP Rex)))
  Hello/0:root ,/1:punct Rex/1:vocative
(S (NP (PRP I)) (VP (VBP allow) (NP (PRP him)) (S (VP (TO to) (VP (VB eat))))))
  I/2:nsubj allow/0:root him/2:obj to/5:mark eat/2:xcomp
(S (PP (IN With) (S (NP (NN Rex)) (PP (IN in) (NP (NN bed))))) (NP (PRP I)) (VP (VBP eat)))
  With/4:mark Rex/4:nsubj in/4:case bed/6:advcl I/6:nsubj eat/0:root
(S (VP (VB Let) (S (NP (PRP me)) (VP (VP (VB eat)) (CC and) (VP (VB go))))))
  Let/0:root me/1:obj eat/1:xcomp and/5:cc go/3:conj
(S (VP (VB Let) (S (NP (PRP me)) (VP (ADVP (RB just)) (VB go)))))
  Let/0:root me/1:obj just/4:advmod go/1:xcomp
(S (VP (VB Let) (S (NP (PRP me)) (ADVP (RB just)) (VP (VB go)))))
  Let/0:root me/1:obj just/4:advmod go/1:xcomp
(VP (VBD had) (S (NP (NNS cars)) (VP (VP (VBN washed)) (CC and) (VP (VBN sold)))))
  had/0:root cars/1:obj washed/1:xcomp and/5:cc sold/3:conj
(S (NP (PRP I)) (VP (VBP watch) (S (NP (PRP him)) (VP (VB go)))))
  I/2:nsubj watch/0:root him/2:obj go/2:xcomp
(S (PP (IN With) (S (NP (NN Rex)) (ADVP (RB out)))) (NP (PRP I)) (VP (VBP eat)))
  With/3:mark Rex/3:nsubj out/5:advcl I/5:nsubj eat/0:root
(NP (QP (CD 5) (TO to) (CD 10) (NNS %)))
  5/4:compound to/4:dep 10/4:compound %/0:root
(NP (QP (CD 5) (TO to) (CD 6) (CC or) (CD 7)) (NNS bees))
  5/3:compound to/3:dep 6/6:nummod or/5:cc 7/3:conj bees/0:root
(VP (VBD ate) (PP (RB instead) (PP (IN in) (NP (NNP Rome)))))
  ate/0:root instead/4:advmod in/4:case Rome/1:obl
(VP (VBD grew) (ADVP (DT a) (RB little)))
  grew/0:root a/3:det little/1:advmod
"""
LINES = CONSTRUCTIONS.splitlines()


@pytest.mark.parametrize(("text", "expected"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_constructions(text: str, expected: str) -> None:
    (sentence,) = convert(read_trees(io.StringIO(f"({text})")))
    rows = zip(sentence.form, sentence.head, sentence.deprel, strict=True)
    assert (
        " ".join(f"{form}/{head}:{relation}" for form, head, relation in rows) == expected.strip()
    )


def test_words_have_the_upos_of_their_relation() -> None:
    tree = """(S (NP (PRP We)) (VP (VBP run) (ADVP (IN inside)) (PP (RB out) (IN of) (NP (NN fog)))
        (PP (IN past) (NP (ADD x.com)))) (NFP :-LRB-) (NFP ***))"""
    (sentence,) = convert(read_trees([f"({tree})"]))
    assert " ".join(sentence.upos) == "PRON VERB ADV ADP ADP NOUN ADP PROPN SYM PUNCT"
    assert check(str(sentence)) == []


@pytest.mark.parametrize(
    ("words", "tags", "expected"),
    [
        ("I 'm", "PRP VBP", [(0, 1)]),
        ("should n't 've", "MD RB VB", [(0, 2)]),
        ("can not", "MD RB", [(0, 1)]),
        ("gon na go", "VBG TO VB", [(0, 1)]),
        ("cats ' tails", "NNS POS NNS", [(0, 1)]),
        ("Ann ’s hat", "NNP POS NN", [(0, 1)]),
        ("the 90 's", "DT CD POS", [(1, 2)]),
        ("well , 's", "RB , VBZ", []),
        ("cats sleep .", "NNS VBP .", []),
    ],
)
def test_clitics_are_parts_of_multiword_tokens(
    words: str, tags: str, expected: list[tuple[int, int]]
) -> None:
    forms, tag_list = words.split(), tags.split()
    spaces = spaces_after(forms, tag_list)
    assert multiword_ranges(forms, tag_list, spaces) == expected


@settings(max_examples=200, deadline=None)
@given(trees)
def test_any_tree_gives_valid_ud(tree: Tree) -> None:
    (sentence,) = convert([tree])
    assert sentence.head.count(0) == 1
    assert set(map(base_relation, sentence.deprel)) <= RELATIONS
    assert set(sentence.upos) <= set(UPOS)
    assert check(str(sentence)) == []


def test_the_sample_has_no_problems() -> None:
    if not WSJ.is_dir():
        pytest.skip("no ../shared here: real treebanks are not part of the repository")
    sample = (tree for path in sorted(WSJ.glob("wsj_001*.mrg")) for tree in read_trees(path))
    assert check("".join(map(str, convert(sample)))) == []


def test_crossing_is_found_in_every_small_tree() -> None:
    results = set()
    for size in range(1, 5):
        for heads in product(range(size + 1), repeat=size):
            for index, head in product(range(size), range(size + 1)):
                low, high = sorted((index + 1, head))
                inside = [low < word < high for word in range(size + 1)]
                outside = [not low <= word <= high for word in range(size + 1)]
                expected = any(
                    (inside[word] and outside[other]) or (inside[other] and outside[word])
                    for word, other in enumerate(heads, start=1)
                )
                assert _crosses(index, head, np.array(heads)) == expected, (heads, index, head)
                results.add(expected)
    assert results == {True, False}
