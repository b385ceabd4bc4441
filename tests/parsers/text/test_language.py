"""The language of a text is identified, and a text in another language is noticed."""

import json
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import BUNDLED, ModelError, bundled_models
from depkit.parsers.text.language import (
    Profile,
    choose_model,
    find_clear_language,
    find_language,
    find_other_language,
    make_profile,
    normalize,
    read_profiles,
)

TEXTS = {
    "en": "The old house near the river was sold last week because nobody wanted to live there.",
    "de": "Das alte Haus am Fluss wurde letzte Woche verkauft, weil niemand dort wohnen wollte.",
    "cs": "Starý dům u řeky byl minulý týden prodán, protože v něm nikdo nechtěl bydlet.",
    "fr": "La vieille maison près de la rivière a été vendue, car personne ne voulait y vivre.",
    "ja": "川の近くの古い家は、誰も住みたがらなかったので、先週売られました。" * 3,
}
ENGLISH, GERMAN = TEXTS["en"], TEXTS["de"]
DATA = Path(__file__).parents[4] / "shared" / "data" / "languages"


def test_letters_without_case_are_counted():
    assert normalize("  It's 5 O'CLOCK,\n no?") == " it s o clock no "
    profile = make_profile("x", ["abc"] * 10)
    assert profile.trigrams.keys() == {" ab", "abc", "bc "}
    assert profile.score("ABC!") == pytest.approx(-1.0986, abs=1e-3)
    assert profile.score("xyz") == pytest.approx(profile.other) and profile.other < profile.low


def test_a_profile_is_read_as_it_was_written():
    profile = make_profile("a mixture", [ENGLISH, GERMAN] * 20)
    copy = Profile(**json.loads(profile.to_json()))
    assert copy.name == "a mixture" and copy.trigrams.keys() == profile.trigrams.keys()
    assert copy.score(ENGLISH) == pytest.approx(profile.score(ENGLISH), abs=0.01)


def test_every_bundled_model_has_a_profile_of_its_language():
    profiles = read_profiles()
    for model in bundled_models():
        facts = read_card_facts(BUNDLED / model)
        assert profiles[facts["language"]].name == facts["language_name"]
    assert all(profile.other < profile.low < 0 for profile in profiles.values())


@pytest.mark.parametrize("text", ["Guten Tag", "", "12345 67890 " * 50, "?!" * 100])
def test_a_short_text_gives_no_warning(text):
    assert find_other_language(text, "en") is None


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Le garçon a acheté un livre à la librairie.", "fr"),
        ("Der Junge hat ein Buch gekauft.", "de"),
        ("El niño compró un libro.", "es"),
        ("The boy bought a book.", "en-ewt"),
        ("O menino comprou um livro na livraria.", "pt"),
        ("少年は本屋で新しい本を買って、それから家に帰りました。", "ja"),
        ("Il ragazzo ha comprato un libro.", "it"),
        ("Poika osti kirjan.", "fi"),
    ],
)
def test_one_sentence_is_enough_to_choose_a_model(text, model):
    assert choose_model(text) == model


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_text_is_found(language):
    text = TEXTS[language]
    assert find_language(text, read_profiles()) == language
    for expected in ("en", "de", "fi", "ja"):
        assert find_other_language(text, expected) == (language if expected != language else None)
    assert find_other_language(text, "xx") is None  # there is no profile to compare with


def test_noise_of_web_text_is_no_other_language():
    text = TEXTS["en"].upper() + " lol :-) omg http://www.example.com/a?b=c thx!!! soooo gooood"
    assert find_other_language(text, "en") is None


@pytest.mark.parametrize("language", TEXTS)
def test_a_clear_language(language):
    assert find_clear_language(TEXTS[language]) == language
    assert find_clear_language(TEXTS[language].upper()) == language


@pytest.mark.parametrize(
    "text",
    [
        "Tegnap egész nap a kertben dolgoztunk, és este mindenki fáradt volt.",
        "昨天我们整天都在花园里工作，晚上大家都很累，但是没有人想在晚饭前去睡觉。" * 3,
        "qwxz jkvq zzxw pqkj vbnx qqwz kjxv zxqj wqzx vkjq pxzq jqxk zvwq xkqj qzxv jwqk xzqv",
        f"{ENGLISH} {GERMAN}", "Hi.", "", "1, 2, 3, 4 " * 100,
    ],
)  # fmt: skip
def test_a_language_that_is_not_clear(text):
    assert find_clear_language(text) is None
    with pytest.raises(ModelError, match=r"not clear in which language .*English \(en-ewt\)"):
        choose_model(text)


def test_a_model_is_chosen():
    assert choose_model(ENGLISH) == "en-ewt" and choose_model(GERMAN) == "de"


@pytest.mark.skipif(not DATA.is_dir(), reason="needs the treebanks in ../shared")
@pytest.mark.parametrize("language", ["af", "de", "en", "fr", "is", "ko", "pt"])
def test_passages_of_treebanks_are_found(language):
    (path, *_) = sorted((DATA / language).glob("*.dev.conllu.gz"))
    texts = [sentence.text for sentence in read(path)]
    starts = range(0, min(200, len(texts)) - 4, 5)
    passages = [" ".join(texts[start : start + 5]) for start in starts]
    own = [find_other_language(text, language) for text in passages]
    assert own.count(None) >= 0.97 * len(passages)
    if language != "en":
        found = [find_other_language(text, "en") for text in passages]
        assert found.count(language) >= 0.95 * len(passages)
