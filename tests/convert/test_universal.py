"""Penn trees to Universal Dependencies, on invented sentences and on the sample."""

import io
import re
from pathlib import Path

import pytest

import depkit
from depkit.convert.universal import convert
from depkit.corpus.io import read, read_trees
from depkit.corpus.universal import RELATIONS, UPOS, base_relation
from depkit.score.evaluators import evaluate
from depkit.treebank.check import Checker

WSJ = Path(__file__).parents[3] / "shared" / "data"

# A tree, then UPOS, head and relation of each of its words.
TABLE = """\
(S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (PP (IN on) (NP (DT the) (NN sofa)))) (. .))
  DET/2:det NOUN/3:nsubj VERB/0:root ADP/6:case DET/6:det NOUN/3:obl PUNCT/3:punct
(S (NP (PRP She)) (VP (MD will) (VP (VB be) (ADJP (JJ glad)))) (. .))
  PRON/4:nsubj AUX/4:aux AUX/4:cop ADJ/0:root PUNCT/4:punct
(S (NP (NNS Owls) (CC and) (NNS mice)) (VP (VBP eat)) (. .))
  NOUN/4:nsubj CCONJ/3:cc NOUN/1:conj VERB/0:root PUNCT/4:punct
(S (NP (NN Bread)) (VP (VBD was) (VP (VBN baked) (PP (IN by) (NP (NNP Ann))))) (. .))
  NOUN/3:nsubj:pass AUX/3:aux:pass VERB/0:root ADP/5:case PROPN/3:obl PUNCT/3:punct
(NP (DT the) (NML (NN corn) (NN seed)) (NNS bags))
  DET/4:det NOUN/3:compound NOUN/4:compound NOUN/0:root
(NP (NML (NNP Ann) (NNP Bell)) (POS 's) (NN hat))
  PROPN/2:compound PROPN/4:nmod:poss PART/2:case NOUN/0:root
(NP (DT a) (JJ hot) (HYPH -) (CC and) (HYPH -) (JJ dry) (NN day))
  DET/7:det ADJ/7:amod PUNCT/7:punct CCONJ/6:cc PUNCT/7:punct ADJ/2:conj NOUN/0:root
(S (NP (PRP He)) (VP (VBZ eats) (ADVP (DT any) (RBR longer))))
  PRON/2:nsubj VERB/0:root DET/4:dep ADV/2:advmod
"""
EXAMPLES = dict(re.findall(r"(.*)\n  (.*)\n", TABLE))


@pytest.mark.parametrize("tree", EXAMPLES)
def test_constructions_have_the_expected_tags_and_relations(tree: str) -> None:
    (sentence,) = convert(read_trees([f"({tree})"]))
    words = zip(sentence.upos, sentence.head, sentence.deprel, strict=True)
    assert " ".join(f"{upos}/{head}:{deprel}" for upos, head, deprel in words) == EXAMPLES[tree]
    assert str(sentence.constituents) == tree


TEXTS = {
    "(-LRB- -LRB-) (NN hat) (-RRB- -RRB-)": "(hat)",
    "(-LRB- -LCB-) (NN hat) (-RRB- -RCB-) (-LRB- -LSB-) (CD 1) (-RRB- -RSB-)": "{hat} [1]",
    "(`` ``) (UH No) (, ,) ('' '') (VBD said) (NNP Kim) (. .)": "``No,'' said Kim.",
    "(`` `) (NN hat) ('' ') (IN in) (NNS cats) (POS ') (NNS tails)": "`hat' in cats' tails",
    "(PRP I) (MD ca) (RB n't) (: --) (PRP we) (VBP 're) (: ...)": "I can't -- we're...",
    "(MD Can) (RB not) (VB pay) ($ US$) (CD 5) (CC &) (CD 3) (NN %) (. ?)": "Cannot pay US$5 & 3%?",
    "(VB Wait) (. !!!) (UH no) (: ....) (: --) (WP who) (. ?!)": "Wait!!! no.... -- who?!",
    "(JJ long) (HYPH -) (NN term) (NNP Co.) (POS 's)": "long-term Co.'s",
}


@pytest.mark.parametrize("leaves", TEXTS)
def test_sentences_have_the_text_of_their_words(leaves: str) -> None:
    (sentence,) = convert(read_trees([f"((NP {leaves}))\n"]))
    assert (sentence.sent_id, sentence.text) == ("1", TEXTS[leaves])
    assert list(Checker(ud=True).check(str(sentence).splitlines(keepends=True))) == []


@pytest.mark.parametrize("labels", ["CC", "NP CC", "X Y Z", "CD CD CD", "IN IN S", ", CC ,"])
def test_any_labels_give_one_tree_with_relations_of_ud(labels: str) -> None:
    tree = f"((S {' '.join(f'({label} w)' for label in labels.split())}))\n"
    (sentence,) = convert(read_trees(io.StringIO(tree)))
    assert sentence.head.count(0) == 1
    assert set(map(base_relation, sentence.deprel)) <= RELATIONS
    assert set(sentence.upos) <= set(UPOS)


def test_the_sample_is_converted_accurately() -> None:
    """The weights were trained on these files, so the scores only show that nothing broke."""
    if not WSJ.is_dir():
        pytest.skip("no ../shared here: real treebanks are not part of the repository")
    paths = sorted((WSJ / "wsj-sample").glob("wsj_000*.mrg"))
    converted = list(convert(tree for path in paths for tree in read_trees(path)))
    reference = read(WSJ / "wsj-sample-ud" / "wsj_0001-0159.conllu")
    gold = [sentence for sentence, _ in zip(reference, converted, strict=False)]
    result = evaluate(gold, converted)
    assert result.UAS > 98 and result.LAS > 97.5


@pytest.mark.parametrize(("verb", "form"), [("gon", "na"), ("got", "ta"), ("going", "to")])
def test_to_before_an_infinitive_is_a_particle(verb: str, form: str) -> None:
    tree = f"(S (NP (PRP I)) (VP (VBD {verb}) (S (VP (TO {form}) (VP (VB go))))))"
    (sentence,) = convert(read_trees([f"({tree})"]))
    assert (sentence.upos[2], sentence.deprel[2]) == ("PART", "mark")


@pytest.mark.parametrize("kind", ["sd", "ud"])
def test_sentences_with_trees_are_converted_like_their_file(tmp_path: Path, kind) -> None:
    path = tmp_path / "a.mrg"
    path.write_text("".join(f"({tree})\n" for tree in EXAMPLES))
    expected = list(map(str, depkit.convert(path, dependencies=kind)))
    assert list(map(str, depkit.convert(depkit.read(path), dependencies=kind))) == expected
    (tree, *_) = depkit.convert(path, dependencies="ud")
    assert tree.constituents and next(depkit.convert(tree)) is tree
