"""Words as views of a sentence's columns, and conversion of sentences to CoNLL-U."""

import pytest

from depkit.convert.formats import convert
from depkit.corpus.formats import CONLL09, CONLLX
from depkit.corpus.sentence import BOM, new_sentence
from tests.corpus.rows import RICH, parse

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")


def test_words_are_the_rows_of_the_columns():
    for sentence in parse(RICH):
        words = list(sentence)
        for name in COLUMNS:
            assert [getattr(word, name) for word in words] == getattr(sentence, name)
        assert [word.head_id for word in words] == sentence.head
        assert [word.id for word in words] == list(range(1, len(sentence) + 1))
        assert words == [sentence[i] for i in range(len(sentence))] == sentence[:]
        assert words[-1] == sentence[-1] and words[1:] == sentence[1:]
        with pytest.raises(IndexError):
            sentence[len(sentence)]


def test_words_have_heads_and_children():
    sentence = new_sentence(list("abcd")).with_tree([2, 0, -1, 2], ["x", "root", "_", "y"])
    assert repr(sentence) == "<Sentence new: a b c d>"
    a, b, c, d = sentence
    assert (a.head, b.head, c.head, d.head) == (b, None, None, b)
    assert (a.children, b.children) == ([], [a, d])
    assert a in sentence and len({a, sentence[0]}) == 1
    assert a != new_sentence(list("abcd"))[0]
    assert (
        str(a) == "a" and repr(a) == "<Word 1 a: _, x of 2 b>" and repr(b) == "<Word 2 b: _, root>"
    )


def test_sentences_of_any_format_are_converted_to_conllu():
    first, second = parse(RICH)
    assert first.to_conllu() + second.to_conllu() == RICH
    (unfinished,) = parse(BOM + RICH.partition("\n\n")[0])  # no blank line at the end
    assert unfinished.to_conllu() == str(first)
    for format in (CONLLX, CONLL09):
        (again,) = parse(convert(first, format).to_conllu(), "conllu")
        assert again.head == first.head and again.lemma == first.lemma
    (broken,) = parse("1\ta\n\n", strict=False)
    with pytest.raises(ValueError, match="column"):
        broken.to_conllu()
