"""Penn trees to Universal Dependencies; sentences of our own."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from depkit.convert.universal import convert
from depkit.corpus.brackets import read_trees
from depkit.corpus.files import read
from depkit.corpus.universal import RELATIONS, UPOS, base
from depkit.score.attachment import evaluate

WSJ = Path(__file__).parents[3] / "shared" / "data"

EXAMPLES = {  # a tree: its UPOS, heads and relations
    "(S (NP (DT The) (NN cat)) (VP (VBZ sleeps) (PP (IN on) (NP (DT the) (NN sofa)))) (. .))": (
        "DET NOUN VERB ADP DET NOUN PUNCT",
        "2:det 3:nsubj 0:root 6:case 6:det 3:obl 3:punct",
    ),
    "(S (NP (PRP She)) (VP (MD will) (VP (VB be) (ADJP (JJ glad)))) (. .))": (
        "PRON AUX AUX ADJ PUNCT",
        "4:nsubj 4:aux 4:cop 0:root 4:punct",
    ),
    "(S (NP (NNS Owls) (CC and) (NNS mice)) (VP (VBP eat)) (. .))": (
        "NOUN CCONJ NOUN VERB PUNCT",
        "4:nsubj 3:cc 1:conj 0:root 4:punct",
    ),
    "(S (NP (NN Bread)) (VP (VBD was) (VP (VBN baked) (PP (IN by) (NP (NNP Ann))))) (. .))": (
        "NOUN AUX VERB ADP PROPN PUNCT",
        "3:nsubj:pass 3:aux:pass 0:root 5:case 3:obl 3:punct",
    ),
}


def converted(text: str) -> Iterator[tuple[str, str]]:
    for sentence in convert(read_trees(io.StringIO(text))):
        arcs = zip(sentence.head, sentence.deprel, strict=True)
        yield " ".join(sentence.upos), " ".join(f"{head}:{deprel}" for head, deprel in arcs)


@pytest.mark.parametrize("tree", EXAMPLES)
def test_constructions(tree: str) -> None:
    assert list(converted(f"({tree})\n")) == [EXAMPLES[tree]]


def test_round_brackets_become_themselves() -> None:
    (sentence,) = convert(read_trees(io.StringIO("((NP (-LRB- -LRB-) (NN hat) (-RRB- -RRB-)))\n")))
    assert sentence.form == ["(", "hat", ")"]
    assert sentence.format.name == "conllu"


@pytest.mark.parametrize("labels", ["CC", "NP CC", "X Y Z", "CD CD CD", "IN IN S", ", CC ,"])
def test_whatever_the_labels_there_is_one_tree_of_known_labels(labels: str) -> None:
    tree = f"((S {' '.join(f'({label} w)' for label in labels.split())}))\n"
    (sentence,) = convert(read_trees(io.StringIO(tree)))
    assert sentence.head.count(0) == 1
    assert set(map(base, sentence.deprel)) <= RELATIONS
    assert set(sentence.upos) <= set(UPOS)


def test_the_sample() -> None:
    """Some of the files that the weights were trained on: far above chance, short of certain."""
    if not WSJ.is_dir():
        pytest.skip("no ../shared here: real treebanks are not part of the repository")
    paths = sorted((WSJ / "wsj-sample").glob("wsj_000*.mrg"))
    found = list(convert(tree for path in paths for tree in read_trees(path)))
    reference = read(WSJ / "wsj-sample-ud" / "wsj_0001-0159.conllu")
    gold = [sentence for sentence, _ in zip(reference, found, strict=False)]
    result = evaluate(gold, found)
    assert result.UAS > 98 and result.LAS > 97.5
