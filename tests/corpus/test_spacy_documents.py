"""Sentences as spaCy's documents; most tests need spaCy."""

import sys

import pytest

from depkit.corpus.formats import CONLLX
from depkit.corpus.sentence import new_sentence
from depkit.corpus.spacy_documents import to_spacy
from tests.corpus.rows import parse

TEXT = """\
# newdoc
# newpar
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tDo\tdo\tAUX\tVBP\tMood=Ind\t2\taux\t_\t_
2\tn't\tnot\tPART\tRB\t_\t0\troot\t_\t_
3\t!\t!\tPUNCT\t.\t_\t2\tpunct\t_\tSpacesAfter=\\n

1\tOui\t_\tINTJ\t_\tsg|3\t0\t_\t_\t_
2\tma\t_\tN\t_\t_\t1\t_\t_\t_

# newpar
1\tNo\t_\t_\t_\t_\t_\t_\t_\t_

"""


def test_a_missing_spacy_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.delitem(sys.modules, "spacy.tokens", raising=False)
    message = r"needs spaCy: pip install 'depkit-parser\[spacy\]'"
    with pytest.raises(ModuleNotFoundError, match=message):
        to_spacy([], None)


@pytest.fixture
def spacy():
    return pytest.importorskip("spacy", reason="spaCy is not installed: pip install -e '.[spacy]'")


def test_paragraphs_become_documents(spacy):
    first, second = to_spacy(parse(TEXT), spacy.blank("en").vocab)
    assert (first.text, second.text) == ("Don't! Oui ma", "No")
    assert [sentence.text for sentence in first.sents] == ["Don't!", "Oui ma"]
    assert [(token.text, token.head.i, token.dep_) for token in first] == [
        ("Do", 1, "aux"), ("n't", 1, "ROOT"), ("!", 1, "punct"),
        ("Oui", 3, "dep"),
        ("ma", 3, "dep"),
    ]  # fmt: skip
    assert [(token.lemma_, token.pos_, token.tag_, str(token.morph)) for token in first] == [
        ("do", "AUX", "VBP", "Mood=Ind"), ("not", "PART", "RB", ""), ("!", "PUNCT", ".", ""),
        ("", "INTJ", "", ""), ("", "", "", ""),
    ]  # fmt: skip
    assert not second.has_annotation("DEP") and len(list(second.sents)) == 1


@pytest.mark.parametrize("heads", [[2, 0, 2, 2], [3, 4, 0, 3], [0, 1, 2, 3], [4, 1, 2, 0]])
def test_trees_are_the_same_and_displacy_draws_them(spacy, heads):
    sentence = new_sentence(list("abcd"), format=CONLLX).with_tree(heads, ["x", "y", "z", "root"])
    (document,) = to_spacy(sentence, spacy.blank("en").vocab)
    spacy_heads = [0 if token.head == token else token.head.i + 1 for token in document]
    assert spacy_heads == heads and len(list(document.sents)) == 1
    arcs = {
        (arc["start"], arc["end"]) if arc["dir"] == "left" else (arc["end"], arc["start"])
        for arc in spacy.displacy.parse_deps(document)["arcs"]
    }
    assert arcs == {(word, head - 1) for word, head in enumerate(heads) if head}
    assert spacy.displacy.render(document, style="dep", jupyter=False).count("<g class") == 3


def test_documents_have_the_texts_and_heads_of_a_real_treebank(spacy, shared):
    from depkit.corpus.io import read

    sentences = list(read(shared / "data/ud-english-ewt/en_ewt-ud-dev.conllu"))[:500]
    documents = list(to_spacy(sentences, spacy.blank("en").vocab))
    spans = [span for document in documents for span in document.sents]
    assert [span.text for span in spans] == [sentence.text for sentence in sentences]
    for span, sentence in zip(spans, sentences, strict=True):
        heads = [0 if token.head == token else token.head.i - span.start + 1 for token in span]
        assert heads == sentence.head


def test_a_broken_sentence_is_refused(spacy):
    with pytest.raises(ValueError, match="column"):
        list(to_spacy(parse("1\ta\n\n", strict=False), spacy.blank("en").vocab))
