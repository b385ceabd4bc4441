"""Marks between the parts of compounds in lemmas: the most probable parts, by brute force."""

import math
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.parsers.columns import compounds
from depkit.parsers.columns.compounds import Compounds
from depkit.parsers.columns.edit_scripts import edit_script
from depkit.parsers.columns.lemma_dictionary import LemmaDictionary
from depkit.parsers.columns.lemmatizer import Lemmatizer

LEMMAS = ["työ#päivä", "työ#aika", "loma#päivä", "päivä", "aika", "loma", "laki", "talo"]
FORMS = {lemma: lemma.replace("#", "") for lemma in LEMMAS}


@pytest.mark.parametrize(
    ("form", "lemma", "expected"),
    [
        ("loma-aikana", "loma-aika", "loma-aika"),  # no mark beside a hyphen
        ("työlain", "työlaki", "työ#laki"),
        ("lomatyöaika", "lomatyöaika", "loma#työ#aika"),
        ("päivä", "päivä", "päivä"),
        ("työpäivinä", "työpäivä", "työ#päivä"),  # a compound of the dictionary
        ("C#-laki", "C#-laki", "C#-laki"),  # the form has the mark
        ("talon", "#talo", "#talo"),  # an edit has added the mark
        ("aika", "#", "#"),
        ("aika", "aika##talo", "aika##talo"),
        ("xyz", "xyz", "xyz"),
        ("1995", "1995", "1995"),
        ("", "", ""),
    ],
)
def test_marks_stand_between_known_parts(form, lemma, expected):
    assert Compounds(FORMS).add_marks(form, lemma) == expected


@pytest.mark.parametrize(
    "lemmas",
    [
        {},
        {"a": "a"},
        {"p.m.": "p.m.", "a-b": "a-b"},  # the forms have them, too
        {"a#b": "ab"} | {str(number): str(number) for number in range(1000)},  # too rare
        {"#": "a", "#a": "b", "a#": "c"},  # not between parts
        {"كَتَب": "كتب", "قَلَم": "قلم"},  # vowel signs
    ],
)
def test_a_treebank_without_marked_compounds_gets_none(lemmas):
    without = Compounds(lemmas)
    assert without.mark == ""
    assert without.add_marks("aab", "aab") == "aab"


def test_lemmas_that_begin_with_the_mark_are_no_compounds():
    lemmas = {"#metsä": "#metsä", "#talo": "talo", "#": "#", "kesä#aika": "kesäaika"}
    known = Compounds(FORMS | lemmas)
    assert known.add_marks("metsän", "metsä") == "metsä"
    assert known.add_marks("talossa", "talo") == "talo"
    assert known.add_marks("kesäajan", "kesäaika") == "kesä#aika"


def test_a_lemma_of_the_dictionary_gets_no_mark():
    known = Compounds(FORMS | {"vuosi#kymmen": "vuosikymmen", "vuosikymmen": "vuosikymmen"})
    assert known.add_marks("vuosikymmenen", "vuosikymmen") == "vuosikymmen"


@given(
    st.sets(st.text("ab1+", min_size=1, max_size=6), min_size=1, max_size=12),
    st.text("ab1-", min_size=1, max_size=7),
)
def test_the_parts_are_the_most_probable_ones(others, lemma):
    lemmas = dict.fromkeys(["a+b", *sorted(others - {"a+b"})], "x")
    known = Compounds(lemmas)
    assert known.mark == "+"
    split = [x.split("+") if all(x.split("+")) else [x] for x in lemmas]
    inner, last = [part for x in split for part in x[:-1]], [x[-1] for x in split]
    if lemma in last or lemma in known.unmarked:
        return
    total = len(inner) + len(last)
    characters = "".join(lemmas)
    entropy = -sum(math.log(characters.count(x) / len(characters)) for x in characters)
    cost = compounds.PER_CHARACTER * entropy / len(characters)

    def score(parts):
        result = 0
        for place, part in enumerate(parts, start=1):
            here, elsewhere = (last, inner) if place == len(parts) else (inner, last)
            count = here.count(part) + compounds.ELSEWHERE * elsewhere.count(part)
            numbers = sum(a.isdigit() and b.isdigit() for a, b in pairwise(part))
            unknown = math.log(compounds.UNKNOWN) - cost * (len(part) - numbers)
            result += max(math.log(count) if count else -math.inf, unknown) - math.log(total)
        return result

    scores = {}
    for is_end in product([False, True], repeat=len(lemma) - 1):
        parts, allowed = [lemma[0]], True
        for before, after, ends in zip(lemma, lemma[1:], is_end, strict=False):
            if ends:
                allowed &= "-" not in (before, after) and not (before == after == "1")
                parts.append(after)
            else:
                parts[-1] += after
        if allowed:
            scores[tuple(parts)] = score(parts)
    best = tuple(known.add_marks("x", lemma).split("+"))
    assert scores[best] == pytest.approx(max(scores.values()))


def test_the_lemmas_of_unknown_words_get_marks():
    words = [("päivässä", "päivä"), ("talossa", "talo"), ("laissa", "laki"), ("ajassa", "aika"),
             ("lomassa", "loma"), ("metsässä", "metsä"), ("työpäivän", "työ#päivä"),
             ("työaika", "työ#aika"), ("lomapäivä", "loma#päivä")]  # fmt: skip
    tags = ("NOUN", "_", "Case=Ine")
    dictionary = LemmaDictionary.from_counts(
        {(form, tags, edit_script(form, lemma)): 1 for form, lemma in words}
    )
    lemmatizer = Lemmatizer(dictionary)
    assert lemmatizer.guess("lomatalossa", tags, []) == "loma#talo"
    assert lemmatizer.guess("työpäivässä", tags, []) == "työ#päivä"


def test_a_lemma_has_the_digits_of_its_form():
    words = [("1990s", "1990"), ("1980s", "1980"), ("2010s", "2010")]
    tags = ("NOUN", "_", "_")
    dictionary = LemmaDictionary.from_counts(
        {(form, tags, edit_script(form, lemma)): 1 for form, lemma in words}
    )
    scripts = [(edit_script("1960s", "1990"), -0.1), (edit_script("1960s", "1960"), -2.0)]
    assert Lemmatizer(dictionary).guess("1960s", tags, scripts) == "1960"
