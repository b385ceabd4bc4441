"""Splitting of multiword tokens by a table of known tokens and endings."""

import pytest

from depkit.parsers.text.multiword import MultiwordTable, build_multiword_table

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
    assert MultiwordTable().check("".join(words), words) == words  # written by older versions


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
    assert table.words("İstanbulydi") is None


def test_frequent_tokens_that_are_always_split_are_split_in_any_case():
    table = english("its", "it+s", "it+s", "it+s")
    assert table.always == {"gonna", "wanna", "can't", "don't", "cannot", "i'd", "we've"}
    text = "CANNOT Don’t Gonna its Anna"
    tokens = [(0, 6, None), (7, 12, None), (13, 18, None), (19, 22, None), (23, 27, None)]
    table.split_always(text, [tokens])
    assert [words for *_, words in tokens] == [
        ("CAN", "NOT"), ("Do", "n’t"), ("Gon", "na"), None, None
    ]  # fmt: skip
    assert table.check("DON’T'S", ("DON’T", "'S")) == ("DO", "N’T", "'S")
