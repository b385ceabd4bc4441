"""The component of spaCy pipelines; it is skipped without spaCy."""

import pytest

import depkit

spacy = pytest.importorskip("spacy", reason="the extra spacy is not installed")
TEXT = "The cat  sat on the mat. It wasn't asleep.\n\n Birds sing."


@pytest.fixture(scope="module")
def nlp():
    nlp = spacy.blank("en")
    nlp.add_pipe("depkit", config={"device": "cpu"})
    return nlp


def test_documents_have_sentences_trees_and_tags(nlp):
    doc = nlp(TEXT)
    assert doc.text == TEXT
    assert [sentence.text.strip() for sentence in doc.sents] == [
        "The cat  sat on the mat.", "It wasn't asleep.", "Birds sing.",
    ]  # fmt: skip
    assert doc.has_annotation("DEP") and doc.has_annotation("HEAD")
    sat = doc[3]
    assert (sat.text, sat.dep_, sat.pos_, sat.lemma_, sat.head.i) == (
        "sat",
        "ROOT",
        "VERB",
        "sit",
        3,
    )
    assert [token.text for token in sat.children if not token.is_space] == ["cat", "mat", "."]
    assert doc[1].dep_ == "nsubj" and doc[1].morph.to_dict() == {"Number": "Sing"}
    assert all(token.head.sent == token.sent for token in doc)


def test_paragraphs_are_not_joined(nlp):
    doc = nlp("Title of the page\n\nThe cat sat on the mat. It slept")
    assert [sentence.text.strip() for sentence in doc.sents] == [
        "Title of the page", "The cat sat on the mat.", "It slept",
    ]  # fmt: skip


def test_the_tree_is_that_of_the_parser(nlp):
    doc = nlp("Birds sing.")
    (sentence,) = depkit.load(device="cpu")([[token.text for token in doc]])
    heads = [0 if token.head == token else token.head.i + 1 for token in doc]
    assert tuple(heads) == tuple(sentence.head)
    assert [token.tag_ for token in doc] == list(sentence.xpos)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "Stop", " a  b "])
def test_white_space_and_short_texts(nlp, text):
    doc = nlp(text)
    assert doc.text == text
    assert all(token.head.i < len(doc) for token in doc)


def test_given_sentence_boundaries_stay():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("depkit", config={"device": "cpu"})
    doc = nlp("Go . home")
    assert [sentence.text for sentence in doc.sents] == ["Go .", "home"]
