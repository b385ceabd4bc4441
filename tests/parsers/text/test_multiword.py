"""Splitting of multiword tokens by a table of known tokens and endings."""

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
