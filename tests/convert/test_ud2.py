"""Penn trees to Universal Dependencies of today."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings

from depkit.convert.detokenize import multiword_ranges, spaces_after
from depkit.convert.ud2 import convert
from depkit.corpus.io import read_trees
from depkit.corpus.tree import Tree
from depkit.corpus.universal import RELATIONS, UPOS, base_relation
from depkit.treebank.check import Checker
from tests.convert.test_stanford import trees

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
