"""Words of multiword tokens by table: known tokens, endings, case."""

from depkit.parsers.text.multiword import MultiwordTable, build_multiword_table

TOKENS = [
    ("del", ("de", "el")), ("Del", ("de", "el")), ("del", ("de", "él")),
    ("verlo", ("ver", "lo")), ("dárselo", ("dar", "se", "lo")),
]  # fmt: skip


def test_known_tokens_and_endings():
    table = build_multiword_table(TOKENS)
    assert table.words("del") == ("de", "el")  # the most frequent
    assert table.words("amarlo") == ("amar", "lo")
    assert table.words("hablárselo") == ("hablar", "se", "lo")  # the longest ending that is known
    assert table.words("pan") is None
    assert table.words("lo") is None  # there is nothing before the ending


def test_case_is_the_tokens():
    table = build_multiword_table(TOKENS)
    assert table.words("Del") == ("De", "el")
    assert table.words("DEL") == ("DE", "EL")
    assert table.words("Amarlo") == ("Amar", "lo")


def test_an_empty_table_knows_nothing():
    assert MultiwordTable().words("del") is None
    assert build_multiword_table([]) == MultiwordTable()
