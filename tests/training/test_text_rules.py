"""Which rules and tables of a tokenizer the treebanks do not contradict."""

import re
from dataclasses import replace
from itertools import chain

import numpy as np

from depkit.corpus.patterns import HYPHENS, MARKS, PATTERNS
from depkit.corpus.sentence_ends import BEFORE_CAPITALS, ENCLOSED, ENDS, JOINED, UNFINISHED
from depkit.parsers.text.labels import SENTENCE, TOKEN
from depkit.training import text_rules as module
from depkit.training.passages import Passage, make_passages
from tests.corpus.rows import parse, row
from tests.training.small_texts import read_marked


def passages_of(sentences, after="SpaceAfter=No"):
    """Return the passages of a treebank with these sentences, whose tokens have spaces here."""
    text = ""
    for forms in map(str.split, sentences):
        rows = [row(i, form, i - 1, "x") for i, form in enumerate(forms, start=1)]
        text += "".join(line.replace("\t_\n", f"\t{after}\n") for line in rows[:-1])
        text += rows[-1] + "\n"
    return make_passages(parse(text))


def test_patterns_that_the_treebank_contradicts_are_not_used():
    def chosen(*sentences):
        return set(module.choose_patterns(passages_of(sentences)))

    frequent = {"joined measure", "split measure", "spaced number", "gershayim", "year"}
    always = set(PATTERNS) - frequent | set(MARKS) | {"split ranges", "split hyphens"}
    assert chosen("a") == always
    assert chosen("« a » , b") == always
    assert chosen("«a», b") == always - {"quotation marks"}
    assert chosen("a b,") == always - {"final marks"}
    assert chosen("5 km", "a@b.com") == always
    assert chosen(*["5 km"] * 5) == always | {"split measure"}
    assert chosen("5 %") == always
    assert chosen("5%") == always - {"percentage", "price", "price before sign"}
    assert chosen("5%", "€ 6") == always - {"percentage", "price before sign"}
    assert chosen("5 %", "€6") == always - {"price"}
    assert chosen(*["5km"] * 5, "a@b. com") == always - {"email"} | {"joined measure"}


def test_hyphens_are_split_or_joined_as_in_most_tokens_of_the_treebank():
    def chosen(*sentences):
        names = set(module.choose_patterns(passages_of(sentences)))
        return names & {*chain.from_iterable(HYPHENS)}

    assert chosen("a-b", "5 - 6") == {"joined hyphens", "split ranges"}
    assert chosen("a-b", "5-6", "7-8", "7 – 8") == {"joined hyphens", "joined ranges"}
    assert chosen("a-b", "a-5", "a - 5") == {"joined hyphens", "split ranges"}
    assert chosen(*["a-b"] * 48, "a -b") == {"split ranges"}
    assert chosen(*["a-b"] * 49, "a -b") == {"joined hyphens", "split ranges"}


def test_words_with_a_full_stop_are_found():
    tokens = ["etc.", "Dr.", "a.", "e.g.", "5.", ".", "...", "so", "e\u0301tc.", "5km."]
    assert module.find_abbreviated(tokens) == {"etc", "dr", "étc", "km"}


def test_rules_of_sentence_ends_that_treebanks_contradict_are_not_used():
    def chosen(*sentences):
        return set(module.choose_sentence_rules(passages_of(sentences, after="_")))

    always = {*ENDS, JOINED, ENCLOSED, UNFINISHED}
    always |= {"initials", "spaced marks", "capitals", "list marks"}
    always |= {"first initials", "middle initials", "abbreviations", "first words"}
    assert chosen("a") == always
    assert chosen(*["Ann R. Lee ... and"] * 2) == always
    assert chosen(*["Ann R. Lee ... and"] * 3) == always | {"ellipses"}
    assert chosen(*["Ann R. Lee ... and"] * 3, *["Ann R."] * 9, "Lee") == (
        always - {"middle initials"} | {"ellipses"}
    )
    assert chosen("Why? Because", "It") == always - {"question marks"}
    assert chosen("So did corp.", "it was.") == always - {"abbreviations"}
    assert chosen("so did corp.", "it was.") == always
    assert chosen("so did her. it was") == always - {"lower case"}
    assert chosen("On", "5 May") == always - {"first words"}
    assert chosen(*["A.", "/ B"] * 3) == always - {"spaced marks"}
    assert chosen(*["Das Haus ist klein."] * 90) == always - BEFORE_CAPITALS - {"middle initials"}
    assert chosen(*["The house in Rome is red."] * 90) == always
    assert chosen(*["Why? It"] * 1, *["Why?", "It"] * 9) == always


def test_final_words_are_short_frequent_and_no_abbreviations():
    """Tokens end at `|`, sentences at `#`; both are deleted from the text."""

    def chosen(marked):
        labels = {"|": TOKEN, "#": SENTENCE}
        ends = np.array([labels.get(mark, 0) for mark in re.findall(r"[^|#]([|#]?)", marked)])
        text = re.sub("[|#]", "", marked)
        return module.choose_final_words([Passage(text, ends, np.zeros_like(ends))])

    assert chosen("We| did| so|.# It| was| etc.# " * 5) == {"so"}
    assert chosen("We| did| so|.# It| was| fig|.| 5| " * 5) == {"so"}
    assert chosen("We| did| so|.# " * 4) == set()  # rare
    assert chosen("so| " * 9 + "We| did| so|.# We| see| Bob|.# I|.# Begin|.# begin|.# ") == {"so"}
    assert chosen("no| " * 9 + "No|.# no|.# no|.| 5| ") == set()
    assert chosen("no| " * 9 + "No|.| 5| no|.# ") == set()
    assert chosen("no| " * 9 + "No.| 5| no|.# ") == set()
    assert chosen("vol| vol|,| " * 9 + "(|vol.| 5|)| vol|.# ") == set()
    assert chosen("so| " * 9 + "so|.|)# (|so|,| so|.# ") == {"so"}
    assert chosen("a.so| be-so| l’so| " * 9 + "so|.# ") == set()


def test_the_rule_of_joined_characters_is_not_used_if_sentences_end_in_words():
    sentences = ["a", "b"] * 60
    assert JOINED in set(module.choose_sentence_rules(passages_of(sentences)))
    joined = [
        replace(passage, text="ab" * 60, ends=np.full(120, 2)) for passage in passages_of("a")
    ]
    assert JOINED not in set(module.choose_sentence_rules(joined))


def test_rules_are_not_used_if_sentences_end_in_brackets_or_before_lower_case_letters():
    def chosen(*sentences):
        return set(module.choose_sentence_rules(passages_of(sentences, after="_")))

    assert {ENCLOSED, UNFINISHED} <= chosen("( a B )", "C d .", "e")
    assert {ENCLOSED, UNFINISHED} - chosen(*["( A", "B )"] * 3) == {ENCLOSED}
    assert {ENCLOSED, UNFINISHED} - chosen("A", "b") == {UNFINISHED}


def test_words_and_strange_letters_are_no_abbreviations():
    assert module.choose_abbreviations(read_marked("d r")) == ["dr"]
    assert module.choose_abbreviations(read_marked("dr")) == []
    assert module.choose_abbreviations(read_marked("dr _. d")) == []  # it ends a sentence
    split = [replace(token, ends_sentence=False) for token in read_marked("dr _. d dr")]
    assert module.choose_abbreviations(split[:3]) == ["dr"]
    assert module.choose_abbreviations(split) == []
    assert module.choose_abbreviations(read_marked("dr. d dr. d dr")) == ["dr"]
    assert "проф" in module.choose_abbreviations(read_marked("профессор"))


def test_clitics_of_a_language_are_used_if_the_treebank_has_some():
    assert {"-tu", "t-il", "rendez-vous"} <= module.choose_clitics(["-ce", "-IL", "-je", "a"])
    assert (
        module.choose_clitics(["rendez-vous", "sur-moi", "add-on", "-il", "t-il", "d-il"]) == set()
    )
    assert module.choose_clitics(["-ce", "-il", "a"]) == set()
