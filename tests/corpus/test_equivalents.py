"""Characters that mean the same are found, and decomposed characters are composed."""

import pytest

from depkit.corpus.equivalents import compose, equivalents, find_equivalent, is_ignorable


@pytest.mark.parametrize(
    ("character", "known", "expected"),
    [
        ("’", "'", "'"), ("'", "’ʼ", "’"), ("“", "'”", "”"), ("«", "\"“", '"'), ("—", "–-", "-"),
        ("ş", "ș", "ș"), ("ș", "ş", "ş"), ("ي", "ی", "ی"), ("Ａ", "A", "A"), ("٣", "3", "3"),
        ("ﬁ", "fi", "fi"), ("ﬁ", "f", None), ("º", "o", None), ("²", "2", None),
        ("a", "b", None), ("｡", "。", "。"), ("!", "?.", "."),
        ("?", ".؟", "؟"), ("?", ".!", "."), (";", ",", ","), (";", ",؛", "؛"),
        ("؟", "?.", "?"), ("،", ",", ","), ("！", ".", "."),
        ("…", ".", "..."), ("!", "…", None),
        ("\u05be", "-–", "-"), ("٪", "%", "%"), ("۔", ".", "."), ("٫", ".,", "."), ("٬", ",", ","),
        ("ۀ", "ه", "ه"), ("·", "ㆍ", "ㆍ"), ("·", "・", "・"), ("⁊", "&", "&"),
        ("ċ", "ch", "ch"), ("Ṫ", "Th", "Th"), ("ż", "zh", None),
        ("\ufb2a", "ש\u05c1", "ש\u05c1"), ("\ufb2a", "ש", "ש"),  # a letter with a point
        ("\u212b", "Å", "Å"), ("\uf90a", "金", "金"),  # the ångström, a compatible ideograph
    ],
)  # fmt: skip
def test_the_best_known_equivalent_is_found(character, known, expected):
    assert find_equivalent(character, known.__contains__) == expected


def test_no_character_is_its_own_equivalent_or_white_space():
    for character in '’"–ş\u3000\xa0a':
        assert character not in equivalents(character)
        assert not any(x.isspace() for x in equivalents(character))


def test_decomposed_characters_are_composed():
    assert list(compose("né")) == []
    assert list(compose("ne\u0301.\u1112\u1161\u11ab")) == [(1, 3, "é"), (4, 7, "한")]
    assert list(compose("q\u0301 カ\u3099")) == [(3, 5, "ガ")]
    assert list(compose("e\u0301\u0316")) == [(0, 3, "é")]
    assert list(compose("\u0627\u0653\u0628\u062f")) == [(0, 2, "\u0622")]  # Arabic letters follow
    assert list(compose("e\u0301\u0628 e\u0301\u05be")) == [(0, 2, "é"), (4, 6, "é")]


def test_a_long_sequence_of_accents_is_composed():
    """In quadratic time, this test would take an hour."""
    first, *_ = compose("e" + "\u0301\u0316" * 500_000)
    assert first == (0, 9, "é")


def test_ignorable_characters():
    assert all(map(is_ignorable, "\u0301\xad\u200b\u2060\u05b8\u0640"))
    assert not any(map(is_ignorable, "a.’ -"))
