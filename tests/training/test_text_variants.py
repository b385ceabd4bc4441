"""Variants of a treebank's text keep its conventions."""

from dataclasses import replace

import numpy as np
import pytest

from depkit.training import text_variants as module
from depkit.training.passages import read_paragraphs
from depkit.training.text_variants import TextToken, TextVariants
from tests.training.small_texts import read_marked, write_marked


class Always:
    """Random numbers that choose every change, and the first of several possibilities."""

    def __init__(self, value=0.0):
        self.value = value

    def random(self, size=None):
        return self.value if size is None else np.full(size, self.value)

    def integers(self, low, high=None, size=None):
        low = 0 if high is None else low
        return low if size is None else np.full(size, low)


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (module._capitalize, "I do+n't see ß _.", "I DO+N'T SEE ß_."),
        (module._capitalize_some, "do+n't go", "DO+N'T GO"),
        (module._swap_quotes, "I do+n't say _’ so _’", "I do+n’t say_' so_'"),
        (module._remove_spaces, "a ( 1 ) b / c _. ( d )", "a_(_1_)_b_/_c_. (_d_)"),
        (module._add_brackets, "test is do+n't _.", "t_(_est_) is do+n't_."),
        (module._join_sentences, "a _. b c _! d", "a_._b c_!_d"),
        (module._add_slashes, "he she is do+n't _. We", "he_/_she_/_is do+n't_. We"),
    ],
)
def test_changes(change, text, expected):
    assert write_marked(change(read_marked(text), Always())) == expected


def test_some_tokens_get_a_capital_letter_at_the_beginning():
    assert (
        write_marked(module._capitalize_some(read_marked("do+n't go"), Always(0.2))) == "Do+n't Go"
    )


def test_tokens_that_are_not_their_words_keep_their_letters():
    token = TextToken("del", ("de", "el"), has_space=True)
    (changed,) = module._capitalize([token], Always())
    assert (changed.text, changed.words) == ("DEL", ("DE", "EL"))
    assert module._with_words(token, ("De", "el")) == token


def test_names_begin_like_one_name_and_end_like_another_or_like_a_multiword_token():
    names = read_marked(" ".join(f"Ab{chr(97 + i)}ern" for i in range(20)) + " went _.")
    renamed = TextVariants([names], ["na", "-"])._rename(names, Always())
    assert write_marked(renamed).startswith("Abna Abna") and write_marked(renamed).endswith(
        "Abna went_."
    )
    renamed = TextVariants([names], [])._rename(names, np.random.default_rng(1))
    assert all(t.text[:2] == "Ab" and t.text.endswith("ern") for t in renamed if t.is_name)


def test_short_sentences_are_inserted():
    variants = TextVariants([read_marked("No _. We go home now _.")], [])
    text = variants._add_short_sentences(read_marked("He is here now _."), Always())
    assert write_marked(text) == "No_. He is here now_."


@pytest.mark.parametrize(
    ("treebank", "expected"),
    [("ca. 5 we", "Abb. Ann went_. Abb. 5"), ("ca _. 5 we", "Abb_. Ann went_. Abb_. 5")],
)
def test_abbreviations_are_inserted_as_the_treebank_writes_them(treebank, expected, monkeypatch):
    monkeypatch.setattr(module, "_sentences", lambda text: [])
    names = read_marked(" ".join(f"A{chr(97 + i)}ap" for i in range(20)) + " " + treebank)
    for token in (tokens := names):
        assert not token.ends_sentence or treebank.count("_")
    paragraph = [replace(token, ends_sentence=False) for token in tokens]
    variants = TextVariants([paragraph], abbreviations=["abb"])
    text = variants._add_abbreviations(read_marked("Ann went _. 5"), Always())
    assert write_marked(text) == expected


def test_a_text_is_cut_into_parts():
    text = read_marked("a b _. " * 100)
    parts = list(module.cut_text(text, np.random.default_rng(1)))
    assert [token for part in parts for token in part] == text
    assert all(part[-1].ends_sentence for part in parts)
    assert 5 < len(parts) < 30 and max(map(len, parts)) <= 3 * module.PART


def test_sentences_are_joined_only_where_text_has_no_spaces():
    def names(text):
        return {change.__name__ for _, change in TextVariants([read_marked(text)], [])._changes}

    assert "_join_sentences" in names("我 _們 _去 _. 我 _們_")
    assert "_join_sentences" not in names("a b _. c")


def test_changes_that_the_treebank_contradicts_are_not_made():
    def names(text):
        return {change.__name__ for _, change in TextVariants([read_marked(text)], [])._changes}

    split = "a _/_ b a _/_ b a _/_ b"
    assert "_add_slashes" in names(split)
    assert "_add_slashes" not in names(split + " he/she")
    assert "_add_slashes" not in names("a / b")
    assert "_add_brackets" in names("a _( b _) " * 3)
    assert not {"_capitalize", "_rename", "_add_short_sentences"} & names("我 們 去 。")


def test_a_variant_has_the_sentences_and_multiword_tokens_of_its_text(tiny):
    paragraphs = list(read_paragraphs(tiny))
    variants = TextVariants(paragraphs, ["na"])
    random = np.random.default_rng(1)
    changed = 0
    for paragraph in paragraphs * 20:
        variant = variants.vary(paragraph, random)
        assert sum(t.ends_sentence for t in variant) >= sum(t.ends_sentence for t in paragraph)
        for kind in (paragraph, variant):
            assert all("".join(t.words) == t.text for t in kind if len(t.words) > 1)
        fold = [
            [t.text.lower().replace("’", "'") for t in kind if len(t.words) > 1]
            for kind in (paragraph, variant)
        ]
        assert fold[0] == fold[1]
        changed += variant != paragraph
    assert changed
