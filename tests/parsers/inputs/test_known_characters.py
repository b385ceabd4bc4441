"""Words with characters that a model does not know are read with those that it knows."""

from dataclasses import replace

import pytest

import depkit
from depkit.corpus.sentence import new_sentence
from depkit.parsers.inputs.known_characters import KnownCharacters
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.vocabulary import Vocabulary

WORDS = ["'n", "c’è", '"', "și", "é", "–", "a1", "-"]


def make_vocabulary(words=WORDS):
    characters = Table([*SPECIAL, *sorted(set("".join(words)))])
    return Vocabulary({"words": Table([*SPECIAL, *words]), "characters": characters}, {})


@pytest.mark.parametrize(
    ("word", "spelling"),
    [
        ("’n", "'n"), ("`n", "'n"), ("ʼn", "'n"), ("C'è", "C’è"), ("’s", "’s"), ("“", '"'),
        ("şi", "și"), ("Şi", "Și"), ("e\u0301", "é"), ("c’e\u0300", "c’è"), ("q\u0301", "q"),
        ("s\xadi\u200b", "si"), ("\u200b", "\u200b"), ("a١", "a1"), ("ａ", "a"), ("—", "-"),
        ("–", "–"), ("ω", "ω"), ("½", "½"),
    ],
)  # fmt: skip
def test_a_word_is_read_with_known_characters(word, spelling):
    words = [*WORDS, "Ș", "s"]
    sentence = new_sentence(["a1", word])
    read = KnownCharacters(make_vocabulary(words))(sentence)
    assert read.form == ["a1", spelling]
    assert read is sentence or word != spelling


def test_a_model_of_decomposed_text_reads_decomposed_text():
    respell = KnownCharacters(make_vocabulary(["na\u0301o", "a\xad"])).respell
    assert respell("oa\u0301") == "oa\u0301"
    assert respell("on\xada") == "ona"  # a soft hyphen in one word of a treebank


@pytest.mark.parametrize(
    ("forms", "spellings"),
    [
        ("c'è d'a s'è", ["c'è", "c'è", "s'è", "'n", "1’2"]),
        ("c’è d’a s’è", ["c’è", "c’è", "s’è", "’n", "1’2"]),
        ("c'è d'a s’è", ["c'è", "c’è", "s’è", "’n", "1’2"]),
        ("c'è d'a 'n", ["c'è", "c'è", "s'è", "'n", "1’2"]),
        ("c'è d'a", ["c'è", "c’è", "s'è", "’n", "1’2"]),
        ("c'è d`a s`a 'n c'a", ["c'è", "c'è", "s'è", "'n", "1’2"]),
        ("d'a " * 9 + "c’è", ["c'è", "c'è", "s'è", "'n", "1’2"]),
    ],
)
def test_words_are_read_with_the_apostrophe_of_the_words_of_the_treebank(forms, spellings):
    """The other one can be known from text without lemmas that a student has read."""
    vocabulary = make_vocabulary(["c'è", "c’è", "’", "1", "2", "n", "s"])
    words = [*forms.split(), "’", "'"]
    gold = new_sentence(words).with_columns({"lemma": words})
    vocabulary = replace(vocabulary, columns={"lemma": Table([])}).with_lemmas([gold])
    respell = KnownCharacters(vocabulary).respell
    words = ["c'è", "c’è", "s'è", "’n", "1’2"]
    assert list(map(respell, words)) == spellings


def test_a_russian_word_without_dots_is_read_if_the_treebank_has_only_this_one():
    vocabulary = make_vocabulary(["живет", "её", "ее", "дал", "ё"])
    gold = new_sentence(["берет"]).with_columns({"lemma": ["брать"]})
    vocabulary = replace(vocabulary, columns={"lemma": Table([])}).with_lemmas([gold])
    respell = KnownCharacters(vocabulary)
    words = ["живёт", "Живёт", "берёт", "её", "даёт"]
    expected = ["живет", "Живет", "берет", "её", "даёт"]
    assert respell(new_sentence(words)).form == expected


def test_an_unknown_word_is_read_without_a_hyphen_at_the_beginning():
    respell = KnownCharacters(make_vocabulary(["tu", "-il", "il", "-"]))
    assert respell(new_sentence(["-tu", "-il", "-a", "-"])).form == ["tu", "-il", "-a", "-"]


def test_a_sentence_of_known_characters_is_not_changed():
    sentence = new_sentence(["é", "'n"])
    assert KnownCharacters(make_vocabulary())(sentence) is sentence
    assert KnownCharacters(make_vocabulary(["a"]))(sentence) is sentence


@pytest.mark.parametrize(
    ("model", "typed", "plain"),
    [
        ("af", "Dit is ’n mooi huis .", "Dit is 'n mooi huis ."),
        ("ro", "Şi totuşi este .", "Și totuși este ."),
        ("cs", "Ve\u0301st dobry\u0301 pes .", "Vést dobrý pes ."),
        ("fa", "كتاب ي", "کتاب ی"),
    ],
)
def test_the_spelling_of_a_text_does_not_change_its_parse(model, typed, plain):
    """Only the words themselves differ, and the lemmas of the models have known characters."""
    parser = depkit.load(model, device="cpu", threads=1)
    columns = [
        (s.upos, s.feats, s.head, s.deprel, s.lemma)
        for s in parser.parse([new_sentence(text.split()) for text in (typed, plain)])
    ]
    assert columns[0] == columns[1]
    (sentence,) = parser.parse([new_sentence(typed.split())])
    assert sentence.form == typed.split()


def test_a_punctuation_mark_stays_its_own_lemma():
    parser = depkit.load("uk", device="cpu", threads=1)
    (sentence,) = parser.parse([new_sentence("“ П’ять ” .".split())])
    assert sentence.lemma == ["“", "п'ять", "”", "."]
