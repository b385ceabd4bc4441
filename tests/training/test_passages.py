"""Paragraphs of a treebank as tokens and as labels of characters."""

from depkit.training.passages import make_passages, read_paragraphs
from tests.corpus.rows import RICH, parse, row


def digits(row):
    return "".join(map(str, row.tolist()))


def test_labels_mark_the_ends_of_tokens_and_sentences():
    (passage,) = make_passages(parse(RICH))
    assert passage.text == "Vámonos al molino. pan y 20 000"
    ends = ["0000001", "0", "01", "0", "000001", "2", "0", "00001", "0", "000002"]
    assert digits(passage.ends) == "".join(ends)
    # neither Vámonos nor al is the concatenation of its words
    assert digits(passage.multiword) == "0000002" + "0" + "02" + "0" * 21


def test_labels_mark_splits_of_multiword_tokens(tiny):
    passage = next(passage for passage in make_passages(tiny) if "don't" in passage.text)
    start = passage.text.index("don't")
    assert digits(passage.multiword[start : start + 5]) == "01000"


def test_each_paragraph_is_a_passage():
    text = "# newpar\n" + row(1, "a", 0, "root") + "\n" + row(1, "b", 0, "root") + "\n"
    assert [passage.text for passage in make_passages(parse(text * 2))] == ["a b", "a b"]


def test_paragraphs_become_the_passages(tiny):
    paragraphs = list(read_paragraphs(tiny))
    assert len(paragraphs) == len(make_passages(tiny))
    (text,) = read_paragraphs(parse(RICH))
    assert [token.text for token in text if len(token.words) > 1] == ["Vámonos", "al"]
    assert text[-1].text == "20 000" and text[-1].ends_sentence
