"""Lemmas: the dictionary agrees with plain counts, and guesses are plausible candidates."""

import json
import math
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence
from depkit.parsers.columns.edit_scripts import (
    apply_edit,
    apply_script,
    edit_script,
    find_case,
    parse_script,
)
from depkit.parsers.columns.lemma_dictionary import NO_LEMMA, LemmaDictionary, extract_readings
from depkit.parsers.columns.lemma_evidence import RARE, capitalisation
from depkit.parsers.columns.lemmatizer import LEMMA, NETWORK, OTHER_UPOS, WORD, Lemmatizer

SAME = (0, "", 0, "")  # the edit that changes nothing

WORDS = st.lists(
    st.tuples(
        st.text("aAbs", min_size=1, max_size=3), st.text("aAb", min_size=1, max_size=3),
        st.sampled_from(["N", "V"]), st.sampled_from(["_", "x", "y"]), st.sampled_from(["_", "f"]),
    ),
    max_size=30,
)  # fmt: skip


def build_dictionary(words):
    counts = Counter((form, tuple(tags), edit_script(form, lemma)) for form, lemma, *tags in words)
    return LemmaDictionary.from_counts(counts)


def count_lemmas(words, form, tags, is_same):
    return Counter(
        lemma
        for known, lemma, *known_tags in words
        if is_same(known, form) and tuple(known_tags)[: len(tags)] == tags
    )  # fmt: skip


@given(WORDS)
def test_the_most_frequent_lemma_of_the_best_matching_readings_is_looked_up(words):
    known = build_dictionary(words)
    for form in {form for form, *_ in words} | {"B", "ab"}:
        for upos, xpos, feats in {tuple(known_tags) for _, _, *known_tags in words}:
            levels = [
                count_lemmas(words, form, tags, is_same)
                for is_same in (str.__eq__, lambda a, b: a.lower() == b.lower())
                for tags in ((upos, xpos, feats), (upos, xpos), (upos,))
            ]
            counts = next(filter(None, levels), Counter())
            best = {lemma for lemma, count in counts.items() if count == max(counts.values())}
            assert known.look_up(form, (upos, xpos, feats)) in (best or {None})
        is_known = any(form.lower() == other.lower() for other, *_ in words)
        assert list(known.contains([form])) == [is_known]


@given(WORDS, WORDS)
def test_dictionaries_are_written_read_and_merged(first, second):
    whole = build_dictionary(first + second)
    assert LemmaDictionary.from_json(json.loads(json.dumps(whole.to_json()))) == whole
    assert LemmaDictionary.merge([build_dictionary(first), build_dictionary(second)]) == whole


@pytest.mark.parametrize(
    "damage",
    [
        *({"forms": {"a": readings}} for readings in (
            [0, 0], [0, 9, 1], [-1, 0, 1], "010", [0, None, 1], ["0", "0", "1"], [0, 0.0, 1],
            [10**30, 0, 1], {"0": 0},
        )),
        *({"scripts": [script]} for script in (
            "garbage", None, 3, '["lower"]', '["whole", 1]', '["lower", -1, "", 0, ""]',
            '["odd", 0, "", 0, ""]', '["lower", "0", "", 0, ""]',
        )),
        {"tags": [["N", "x"]]}, {"tags": [["N", "x", None]]}, {"tags": None}, {"forms": [1]},
    ],
)  # fmt: skip
def test_a_damaged_dictionary_is_rejected(damage):
    data = build_dictionary([("a", "b", "N", "x", "_")]).to_json() | damage
    with pytest.raises((ValueError, TypeError)):
        LemmaDictionary.from_json(data)


ENGLISH = [
    ("dogs", "dog", "NOUN", "NNS", "_"), ("boxes", "box", "NOUN", "NNS", "_"),
    ("foxes", "fox", "NOUN", "NNS", "_"), ("cats", "cat", "NOUN", "NNS", "_"),
    ("saw", "saw", "NOUN", "NN", "_"), ("tree", "tree", "NOUN", "NN", "_"),
    ("walked", "walk", "VERB", "VBD", "_"), ("talked", "talk", "VERB", "VBD", "_"),
    ("liked", "like", "VERB", "VBD", "_"), ("went", "go", "VERB", "VBD", "_"),
    ("rang", "ring", "VERB", "VBD", "_"), ("sing", "sing", "VERB", "VB", "_"),
    ("Dogs", "Dogs", "PROPN", "NNPS", "_"), ("PARIS", "Paris", "PROPN", "NNP", "_"),
    ("LILLE", "Lille", "PROPN", "NNP", "_"), ("he", "he", "PRON", "PRP", "_"),
    ("in", "in", "ADP", "IN", "_"), ("NICE", "Nice", "PROPN", "NNP", "_"),
    ("smoked", "smoke", "VERB", "VBD", "_"),
]  # fmt: skip
S, ES = edit_script("dogs", "dog"), edit_script("boxes", "box")
D, ED = edit_script("liked", "like"), edit_script("walked", "walk")


@pytest.mark.parametrize(
    ("form", "upos", "xpos", "scripts", "expected"),
    [
        ("taxes", "NOUN", "NNS", [(S, -1.0), (ES, -1.0)], "tax"),  # as most words in -xes
        ("hats", "NOUN", "NNS", [], "hat"),  # the dictionary alone gives candidates
        ("baked", "VERB", "VBD", [(ED, -0.1), (D, -1.0)], "bake"),  # known to be a word
        ("sat", "VERB", "VBD", [(edit_script("went", "go"), -0.1)], "sat"),  # not any verb in -t
        ("sang", "VERB", "VBD", [(edit_script("rang", "ring"), -0.1)], "sang"),  # not "ring"
        ("children", "NOUN", "NNS", [(edit_script("woman", "women"), -0.1)], "children"),
        ("dogs", "VERB", "VBZ", [], "dog"),  # known with another UPOS
        ("ROME", "PROPN", "NNP", [], "Rome"),  # capitals as others of that tag
        ("it", "PRON", "PRP", [(S, -0.1)], "it"),  # no pronoun loses its last letter
        ("Tree", "NOUN", "NN", [], "tree"),
        ("x" * 10_000, "NOUN", "NNS", [(S, -0.1)], "x" * 10_000),
        ("", "NOUN", "NN", [], ""),
        ("saw", "INTJ", "UH", [], "saw"),  # tags that the dictionary does not have
    ],
)  # fmt: skip
def test_guesses_of_unknown_words_are_plausible(form, upos, xpos, scripts, expected):
    lemmatizer = Lemmatizer(build_dictionary(ENGLISH), {"bake", "ring"})
    tags = (upos, xpos, "_")
    [lemma] = lemmatizer.look_up([form], [tags])
    assert (lemma or lemmatizer.guess(form, tags, scripts)) == expected


def test_the_choice_between_equally_plausible_lemmas_is_always_the_same():
    words = [
        (f"{first}{letter}as", f"{first}{letter}a{letter}", "NOUN", "NNS", "_")
        for letter in "zyxwvtrqpnmlkjhgfdcb"
        for first in ("o", "u")
    ]
    # The order of strings in sets differs from process to process.
    assert Lemmatizer(build_dictionary(words)).guess("eeas", ("NOUN", "NNS", "_"), []) == "eeab"


def test_xpos_decides_where_it_contradicts_upos():
    known = build_dictionary(ENGLISH)
    assert known.look_up("dogs", ("NOUN", "NNPS", "_")) == "Dogs"
    assert known.look_up("dogs", ("NOUN", "NNS", "_")) == "dog"
    assert known.look_up("dogs", ("NOUN", "unheard of", "_")) == "dog"


@pytest.mark.parametrize(
    ("words", "form", "lemma", "expected"),
    [  # The network prefers the edit of another word to the edit that changes nothing.
        ("evlerinden:ev evden:ev karda:kar", "kardeşinden", ("evlerinden", "ev"), "kardeşinden"),
        ("bhanna:banna bhanda:banda", "bhosca", ("bhanna", "banna"), "bosca"),
        ("bhanna:banna mhanda:manda", "bhosca", ("bhanna", "banna"), "bhosca"),  # only one word
        ("bhanna:banna bhanda:banda", "tharla", ("bhanna", "banna"), "tharla"),  # no "bh"
    ],
)  # fmt: skip
def test_an_edit_takes_away_what_it_takes_from_known_words(words, form, lemma, expected):
    pairs = [word.split(":") for word in words.split()]
    dictionary = build_dictionary([(known, x, "NOUN", "_", "_") for known, x in pairs])
    scripts = [(edit_script(*lemma), -0.1), (edit_script("a", "a"), -4.0)]
    assert Lemmatizer(dictionary).guess(form, ("NOUN", "_", "_"), scripts) == expected


def is_attested(form, edit, words):
    """Whether the edit takes away and adds the same in a word, in two if it adds to its start."""
    if len(edit) == 1:
        return False
    cut_front, add_front, cut_behind, _ = edit
    forms = {
        known.lower()
        for known, lemma, *_ in words
        if tuple(json.loads(edit_script(known, lemma))[1:]) == edit
        and known.lower()[:cut_front] == form.lower()[:cut_front]
        and known.lower()[len(known) - cut_behind :] == form.lower()[len(form) - cut_behind :]
    }
    return len(forms) >= (2 if add_front else 1)


@given(WORDS, st.text("aAbs", min_size=1, max_size=4), st.sampled_from(["N", "V"]))
def test_an_ending_counts_all_words_with_the_same_ending(words, form, upos):
    evidence = Lemmatizer(build_dictionary(words)).evidence
    regular = []
    for known, lemma, *tags in set(words):
        edit = tuple(json.loads(edit_script(known, lemma))[1:])
        if tags[:2] == [upos, "x"] and is_attested(known, edit, words):
            regular.append((known.lower(), edit))
    expected, share, attested = [], RARE, set()
    for size in range(len(form) + 1):
        ending = form.lower()[len(form) - size :]
        counts = Counter(edit for known, edit in regular if known.endswith(ending))
        if size == 0 or counts:
            expected.append(counts)
            share = (counts[SAME] + share) / (counts.total() + 1)
        if size == 1:
            attested = {edit for edit, count in counts.items() if count > 1}
    ending = evidence.find_ending((upos, "x"), form.lower())
    assert set(ending.attested) == attested
    assert ending.share(SAME) == pytest.approx(share)
    for counts in reversed(expected):
        assert ending.edits == counts and ending.total == counts.total()
        ending = ending.shorter
    assert ending is None


@given(
    WORDS, st.text("aAbs", min_size=1, max_size=4), st.sampled_from(["N", "V", "X"]),
    st.lists(st.tuples(st.text("aAbs", min_size=1, max_size=3), st.floats(-3, 0)), max_size=3),
)  # fmt: skip
def test_the_best_of_all_candidates_is_guessed(words, form, upos, lemmas):
    lemmatizer = Lemmatizer(build_dictionary(words), {"ab", "b", "aab"})
    evidence, tags = lemmatizer.evidence, (upos, "x", "_")
    upos, _, _ = lemmatizer.dictionary.with_usual_upos(tags)
    scripts = [(edit_script(form, lemma), score) for lemma, score in lemmas]
    ending = evidence.find_ending((upos, "x"), form.lower())
    cases = evidence.case_shares((upos, "x"), capitalisation(form))
    readings = [reading for reading, _ in lemmatizer.dictionary.readings_ignoring_case(form)]
    of_form = {apply_script(known, script) for known, _, script in readings}
    lowest = min((score for _, score in scripts), default=0)
    candidates = [(*parse_script(script), score) for script, score in scripts]
    candidates += [(cases.usual, edit, lowest) for edit in ending.attested]
    candidates += [(*parse_script(script), lowest) for *_, script in readings]
    scores = {form: -math.inf}
    for case, edit, score in candidates:
        lemma = apply_edit(form, case, edit)
        is_lemma = lemma in evidence.lemmas[upos]
        is_regular = edit in ending.attested
        if is_regular:
            end = len(form) - edit[2]
            kept, cut = form.lower()[edit[0] : end], form.lower()[end:]
            is_regular = not {*"a"} < set(cut) or "a" in kept or not kept
        suits = lemma in of_form or (
            lemma and is_attested(form, edit, words) and (is_lemma or is_regular)
        )
        if suits:
            share = ending.share(edit) * cases[find_case(form, edit, lemma)]
            score = NETWORK * score + math.log(share) + LEMMA * is_lemma
            score += OTHER_UPOS * (lemma in of_form) + WORD * (lemma.lower() in {"ab", "b", "aab"})
            scores[lemma] = max(score, scores.get(lemma, -math.inf))
    guess = lemmatizer.guess(form, tags, scripts)
    assert scores[guess] == pytest.approx(max(scores.values()))


def test_readings_omit_words_without_a_lemma():
    columns = {"form": ["Dogs", "ran", "off"], "lemma": ["dog", "run", "_"],
               "upos": ["NOUN", "VERB", "ADV"], "xpos": ["NNS", "VBD", "RB"],
               "feats": ["_"] * 3, "deprel": ["_"] * 3}  # fmt: skip
    sentence = Sentence(CONLLU, [], [0, 1, 2], columns, head=[-1] * 3)
    readings = list(extract_readings(sentence))
    assert [(form, tags) for form, tags, _ in readings] == [
        ("Dogs", ("NOUN", "NNS", "_")), ("ran", ("VERB", "VBD", "_")),
    ]  # fmt: skip
    assert [apply_script(form, script) for form, _, script in readings] == ["dog", "run"]


def test_words_without_a_lemma_are_known_by_their_tags_alone(tiny):
    words = [("walked", "walk", "V", "x", "_"), ("talked", "talk", "V", "x", "_")]
    known = build_dictionary(words)
    counts = known.counts() + Counter({("wicked", ("V", "x", "_"), NO_LEMMA): 3})
    dictionary = LemmaDictionary.from_counts(counts)
    assert LemmaDictionary.from_json(json.loads(json.dumps(dictionary.to_json()))) == dictionary
    assert dictionary.look_up("wicked", ("V", "x", "_")) is None
    assert not any(dictionary.contains(["wicked"]))
    scripts = [(edit_script("walked", "walk"), 0.4), (edit_script("a", "a"), 0.6)]
    assert Lemmatizer(dictionary).guess("balked", ("V", "x", "_"), scripts) == "balk"


def test_a_known_lemma_outweighs_slightly_likelier_tags():
    words = [
        ("walks", "walk", "NOUN", "NNS", "_"), ("walked", "walk", "VERB", "VBD", "_"),
        ("talking", "talk", "VERB", "VBG", "_"), ("doing", "do", "VERB", "VBG", "_"),
        ("thing", "thing", "NOUN", "NN", "_"), ("ring", "ring", "NOUN", "NN", "_"),
    ]  # fmt: skip
    lemmatizer = Lemmatizer(build_dictionary(words))
    best = ("NOUN", "NN", "_")
    scripts = [(edit_script("thing", "thing"), -1.0), (edit_script("talking", "talk"), -1.0)]

    def guess(difference):
        candidates = {
            "upos": [("NOUN", -0.5), ("VERB", -0.5 - difference)],
            "xpos": [("NN", -0.5), ("VBG", -0.5 - difference)],
        }
        return lemmatizer.guess("walking", best, scripts, candidates)

    assert lemmatizer.guess("walking", best, scripts) == "walking"
    assert guess(0.2) == "walk"
    assert guess(10.0) == "walking"  # The other tags are too unlikely.
    # Tags that no word of the dictionary has together are not considered.
    without_verbs = {"xpos": [("NN", -0.5), ("VBG", -0.7)]}
    assert lemmatizer.guess("walking", best, scripts, without_verbs) == "walking"
    assert lemmatizer.guess("walking", best, scripts, {"upos": [], "xpos": []}) == "walking"


def test_turkish_words_are_found_in_capital_letters():
    words = [("kapıyı", "kapı"), ("kış", "kış"), ("iyi", "iyi"), ("ışığı", "ışık")]
    words += [("masayı", "masa"), ("sırayı", "sıra"), ("yıldızı", "yıldız")]
    dictionary = build_dictionary([(*word, "N", "_", "_") for word in words])
    lemmatizer, tags = Lemmatizer(dictionary), ("N", "_", "_")
    capitals = ["KAPIYI", "KIŞ", "İYİ", "Işığı"]
    assert all(dictionary.contains(capitals))
    assert lemmatizer.look_up(capitals, [tags] * 4) == ["kapı", "kış", "iyi", "ışık"]
    script = edit_script("Masayı", "masa")
    assert lemmatizer.guess("ARIYI", tags, [(script, 0.0)]) == "arı"


def test_an_unknown_name_with_signs_is_its_own_lemma():
    words = [("psy", "pies"), ("py", "p"), ("domy", "dom"), ("koty", "kot"), ("sowy", "sow")]
    lemmatizer, tags = Lemmatizer(build_dictionary([(*w, "N", "_", "_") for w in words])), "N"
    scripts = [(edit_script("domy", "dom"), 0.0)]

    def guess(form):
        return lemmatizer.guess(form, (tags, "_", "_"), scripts)

    assert guess("mapy") == "map"
    for name in ("main.py", "my_copy", "http://a.pl/koty", "ania@poczty.py", "www.psy.py"):
        assert guess(name) == name, name
    lower = [(edit_script("Domy", "domy"), 0.0)]
    assert lemmatizer.guess("Main.py", (tags, "_", "_"), lower) in ("Main.py", "main.py")


def test_what_a_lemma_adds_to_a_form_in_capitals_is_in_capitals():
    words = [("szkoły", "szkoła"), ("sowy", "sowa"), ("głowy", "głowa")]
    lemmatizer = Lemmatizer(build_dictionary([(*word, "N", "_", "_") for word in words]))
    scripts = [('["keep", 0, "", 1, "a"]', 0.0)]
    assert lemmatizer.guess("KROWY", ("N", "_", "_"), scripts) == "KROWA"
    assert lemmatizer.guess("Krowy", ("N", "_", "_"), scripts) == "Krowa"


def test_an_unknown_word_without_vowels_keeps_its_letters():
    words = [("гривн", "гривна"), ("кн", "кна"), ("сосн", "сосна"), ("бн", "бна")]
    lemmatizer = Lemmatizer(build_dictionary([(*word, "N", "_", "_") for word in words]))
    scripts = [(edit_script("кн", "кна"), 0.0)]
    assert lemmatizer.guess("весн", ("N", "_", "_"), scripts) == "весна"
    assert lemmatizer.guess("грн", ("N", "_", "_"), scripts) == "грн"
    assert lemmatizer.guess("н", ("N", "_", "_"), scripts) == "на"


def test_a_word_without_vowels_can_have_a_syllabic_consonant_or_be_a_plural():
    words = [("vln", "vlna"), ("srn", "srna"), ("cars", "car"), ("balls", "ball"), ("kg", "kg")]
    scripts = [(edit_script("vln", "vlna"), 0.0)], [(edit_script("cars", "car"), 0.0)]
    for others in [], [("trh", "trh")]:
        readings = [(*word, "NOUN", "_", "_") for word in words + others]
        lemmatizer = Lemmatizer(build_dictionary(readings))
        add_a, cut_s = (
            partial(lemmatizer.guess, tags=("NOUN", "_", "_"), scripts=x) for x in scripts
        )
        assert add_a("skvrn") == ("skvrna" if others else "skvrn")
        assert [add_a("zmn"), add_a("SKVRN")] == ["zmn", "SKVRN"]
        assert [cut_s("kgs"), cut_s("KGS"), cut_s("sms")] == ["kg", "KGS", "sms"]
        assert lemmatizer.guess("kgs", ("X", "_", "_"), scripts[1]) == "kgs"


def test_an_edit_of_an_unknown_word_keeps_a_vowel():
    """The stem of `sing` is not `s`, as its ending seems to show."""
    words = [("walking", "walk"), ("talking", "talk"), ("baking", "bake"), ("making", "make")]
    words += [("does", "do"), ("goes", "go"), ("we", "we")]
    tags = "VERB", "VBG", "_"
    lemmatizer = Lemmatizer(build_dictionary([(*word, *tags) for word in words]))
    cut_ing, add_e = [(edit_script("ring", "r"), 0.0)], [(edit_script("ring", "re"), 0.0)]
    assert lemmatizer.guess("seeking", tags, cut_ing) == "seek"
    assert lemmatizer.guess("using", tags, add_e) == "use"
    for scripts in cut_ing, add_e:
        assert lemmatizer.guess("sing", tags, scripts) == "sing"
    assert lemmatizer.guess("wing", tags, add_e) == "we"  # a known lemma


def test_a_vowel_can_be_replaced_and_abbreviations_need_none():
    words = [(x + "y", x + "a") for x in ("vod", "hor", "ryb")]
    words += [(x + ":ssa", x) for x in ("EU", "YLE", "UPM")]
    tags = "NOUN", "_", "_"
    lemmatizer = Lemmatizer(build_dictionary([(*word, *tags) for word in words]))
    to_a, cut_ssa = [(edit_script("hry", "hra"), 0.0)], [(edit_script("EU:ssa", "EU"), 0.0)]
    assert lemmatizer.guess("hry", tags, to_a) == "hra"
    assert lemmatizer.guess("NBK:ssa", tags, cut_ssa) == "NBK"
    assert lemmatizer.guess("NBK:SSA", tags, cut_ssa) == "NBK"


def test_one_word_does_not_attest_letters_in_front_of_a_lemma():
    words = [("es", "ser"), ("mes", "mesr"), ("des", "desr"), ("tres", "tresr")]
    lemmatizer = Lemmatizer(build_dictionary([(*word, "V", "_", "_") for word in words]))
    scripts = [(edit_script("es", "ser"), 0.0)]
    assert lemmatizer.guess("dices", ("V", "_", "_"), scripts) == "dicesr"
