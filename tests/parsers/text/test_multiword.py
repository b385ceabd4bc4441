"""Splitting of multiword tokens by a table of known tokens and endings."""

import unicodedata

import pytest
import torch

from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.tokenizer_file import read_tokenizer, write_tokenizer
from depkit.training.multiwords import build_multiword_table
from tests.parsers.text.small_tokenizer import make_tokenizer

TOKENS = [
    ("del", ("de", "el")), ("Del", ("de", "el")), ("del", ("de", "él")),
    ("verlo", ("ver", "lo")), ("dárselo", ("dar", "se", "lo")),
]  # fmt: skip


def test_tokens_are_split_by_known_tokens_and_endings():
    table = build_multiword_table(TOKENS)
    assert table.words("del") == ("de", "el")  # the most frequent
    assert table.words("amarlo") == ("amar", "lo")
    assert table.words("hablárselo") == ("hablar", "se", "lo")  # the longest ending that is known
    assert table.words("pan") is None
    assert table.words("lo") is None  # there is nothing before the ending


def test_words_have_the_case_of_their_token():
    table = build_multiword_table(TOKENS)
    assert table.words("Del") == ("De", "el")
    assert table.words("DEL") == ("DE", "EL")
    assert table.words("Amarlo") == ("Amar", "lo")


@pytest.mark.parametrize("apostrophe", "'’`")
def test_words_have_the_apostrophe_of_their_token(apostrophe):
    table = build_multiword_table([("all'", ("a", "l'"))])
    assert table.words(f"All{apostrophe}") == ("A", f"l{apostrophe}")
    assert table.words("ALL’'") is None


def test_an_empty_table_splits_no_token():
    assert MultiwordTable().words("del") is None
    assert build_multiword_table([]) == MultiwordTable()


def english(*others):
    """Return the table of a treebank with these tokens, whose words are joined by +."""
    tokens = ["gon+na"] * 6 + ["wan+na"] * 4 + ["ca+n't"] * 3 + ["do+n't"] * 9 + ["is+n't"]
    tokens += ["can+not"] * 5 + ["i+'d"] * 3 + ["he+'d"] * 2 + ["she+'d"] + ["we+'ve"] * 3
    tokens += ["they+'ve", "i+'ve", "dog+'s", "cat+'s", "Anna's"]
    tokens += ["Anna", "banana", "China", "knot", "an", "is", "can", "Joan+'s", *others]
    return build_multiword_table(
        (token.replace("+", ""), tuple(token.split("+"))) for token in tokens
    )


@pytest.mark.parametrize(
    "split",
    "gon+na GON+NA Ca+n't CA+N'T ca+n’t should+n't SHOULD+N’T can+not CAN+NOT lion+'s Ö+'s i+'d+'ve"
    .split(),
)  # fmt: skip
def test_known_tokens_and_known_endings_are_split_in_any_case(split):
    words = tuple(split.split("+"))
    assert english().check("".join(words), words) == words


@pytest.mark.parametrize("split", "An+na savan+na JOAN+NA k+not Rihan+na ban+a+na x+y".split())
def test_words_that_were_not_seen_together_are_not_split(split):
    words = tuple(split.split("+"))
    assert english().check("".join(words), words) is None
    assert MultiwordTable().check("".join(words), words) is None


def test_tokens_that_are_single_words_in_the_treebank_are_not_split():
    seen = [("verlo", ("ver", "lo")), ("darlo", ("dar", "lo")), ("oírlo", ("oír", "lo"))] * 2
    table = build_multiword_table([*seen, ("Carlo", ("Carlo",)), ("pan", ("pan",))])
    assert table.never == {"carlo"}
    assert table.check("CARLO", ("CAR", "LO")) is None and table.words("Carlo") is None
    assert table.check("serlo", ("ser", "lo")) == ("ser", "lo")
    elided = [("l’" + x, ("l’", x)) for x in ("air", "eau", "or")] * 2
    french = build_multiword_table([*elided, ("l’a", ("l’a",))])
    for apostrophe in "'’":
        assert french.check(f"l{apostrophe}a", (f"l{apostrophe}", "a")) is None
        words = (f"l{apostrophe}", "ami")
        assert french.check("".join(words), words) == words
    others = [("pelo", ("pelo",)), ("Carlo", ("Car", "lo"))]
    assert build_multiword_table([*seen, ("Carlo", ("Carlo",))], others).never == set()


def test_a_known_token_is_split_as_in_the_treebank():
    table = english()
    assert table.check("CAN'T", ("CAN", "'T")) == ("CA", "N'T")
    assert table.check("CA’T", ("CA", "’T")) is None
    assert table.check("Gonna", ("Gonn", "a")) == ("Gon", "na")


def test_endings_of_few_tokens_are_not_used_for_others():
    french = build_multiword_table([("du", ("de", "le"))] * 9 + [("au", ("à", "le"))] * 5)
    assert french.words("du") == ("de", "le") and french.words("tu") is None


def test_prefixes_are_split_from_unknown_words():
    words = "b+a b+c b+d b+e w+b+f w+b+g w+a w+h w+i b+y+x w+z+x u+x".split()
    table = build_multiword_table((w.replace("+", ""), tuple(w.split("+"))) for w in words)
    assert table.before == {"b", "w"} and table.after == {"x"}
    for split in (("b", "q"), ("w", "q"), ("w", "b", "q"), ("b", "q", "x"), ("q", "x")):
        assert table.check("".join(split), split) == split
    assert table.check("aq", ("a", "q")) is None


def test_letters_that_change_their_number_in_lower_case_are_kept():
    table = build_multiword_table([("iyiydi", ("iyi", "ydi"))])
    assert table.check("İYİYDİ", ("İYİ", "YDİ")) == ("İYİ", "YDİ")
    assert table.words("İstanbulydi") == ("İstanbul", "ydi")


def test_frequent_tokens_that_are_always_split_are_split_in_any_case():
    table = english("its", "it+s", "it+s", "it+s")
    assert table.always == {"gonna", "wanna", "can't", "don't", "cannot", "i'd", "we've"}
    assert split_always(table, "CANNOT Don’t Gonna its Anna") == (
        "CAN+NOT Do+n’t Gon+na its Anna".split()
    )
    assert table.check("DON’T'S", ("DON’T", "'S")) == ("DO", "N’T", "'S")


@pytest.mark.parametrize("token", ["cha\u00admase", "CHA\u200bMA‑SE", "cha\u0301-ma-se"])
def test_tokens_with_variant_or_invisible_characters_are_split(token):
    """Hyphens that do not break, soft hyphens, and decomposed letters."""
    known = ["chamase", "chama-se", "chá-ma-se"]
    table = build_multiword_table([(form, ("chama", "se")) for form in known for _ in range(3)])
    split = ("CHAMA", "SE") if token.isupper() else ("chama", "se")
    assert table.words(token) == split
    assert split_always(table, token) == ["+".join(split)]


def test_an_ending_is_found_with_any_hyphen():
    table = build_multiword_table([("disse-me", ("disse", "me")), ("levou-me", ("levou", "me"))])
    assert table.words("Chama‑me") == ("Chama", "me")
    hebrew = build_multiword_table([("ב-2010", ("ב", "-", "2010")), ("ב", ("ב",))])
    for hyphen in "-‑\u05be":
        assert hebrew.words(f"מ{hyphen}2010") == ("מ", hyphen, "2010")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_ending_is_found_in_a_decomposed_token(form):
    examples = [("dándome", ("dando", "me")), ("faça-o", ("faça", "o"))]
    table = build_multiword_table(examples)
    assert table.words(unicodedata.normalize(form, "Sándome")) == ("Sando", "me")
    assert table.words(unicodedata.normalize(form, "lança-­o")) == ("lança", "o")
    turkish = build_multiword_table([("ırmaktaki", ("ırmakta", "ki")), ("ı", ("ı",))])
    assert turkish.words(unicodedata.normalize(form, "DİPTEKİ")) == ("DİPTE", "Kİ")


def split_always(table, text):
    """Split a sentence, whose tokens a network has taken for single words."""
    ends = [i for i, character in enumerate(text + " ") if character == " "]
    starts = [0, *(end + 1 for end in ends)]
    tokens = [(start, end, None) for start, end in zip(starts, ends, strict=False)]
    table.split_always(text, [tokens])
    return ["+".join(words or (text[start:end],)) for start, end, words in tokens]


def test_a_contraction_with_a_capital_letter_inside_a_sentence_can_be_a_name():
    table = build_multiword_table([("al", ("a", "el"))] * 3)
    assert split_always(table, "Al fin vino al mar Al Pacino .") == (
        "A+el fin vino a+el mar Al Pacino .".split()
    )
    assert split_always(table, "IR AL MAR") == "IR A+EL MAR".split()
    assert split_always(table, '" Al fin') == '" A+el fin'.split()


def test_a_letter_that_is_longer_in_lower_case_does_not_keep_a_text_from_being_split():
    table = build_multiword_table([("ans", ("an", "das"))] * 3)
    assert split_always(table, "İzmir ans Meer") == "İzmir an+das Meer".split()


def test_turkish_letters_have_turkish_upper_and_lower_case():
    tokens = [("kapıydı", ("kapı", "ydı")), ("evdeki", ("evde", "ki")), ("MİŞTİ", ("MİŞ", "Tİ"))]
    tokens = [*tokens * 3, ("dendi", ("den", "idi")), ("idi", ("idi",))]
    table = build_multiword_table(tokens)
    assert table.tokens["mişti"] == ("miş", "ti")
    assert split_always(table, "KAPIYDI EVDEKİ Evdeki") == "KAPI+YDI EVDE+Kİ Evde+ki".split()
    assert table.words("DENDİ") == ("DEN", "İDİ")


def test_the_table_is_written_into_the_file_of_the_tokenizer_and_read(tmp_path):
    table = build_multiword_table([("kapıydı", ("kapı", "ydı"))] * 3)
    write_tokenizer(tmp_path, make_tokenizer(table=table), {})
    assert read_tokenizer(tmp_path, torch.device("cpu")).multiwords == table
    assert table.dotless
