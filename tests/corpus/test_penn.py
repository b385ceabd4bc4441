"""Brackets of the Penn Treebank in words."""

import pytest

from depkit.corpus.penn import BRACKETS, unescape_brackets


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("t-LRB-est-RRB-", "t(est)"),
        ("-LRB-713-RRB-555-0100", "(713)555-0100"),
        (":-RRB-", ":)"),
        ("=LRB=", "("),
        ("x=RSB=", "x]"),
        ("-LCB-a-RCB-", "{a}"),
        ("-LRB--RRB-", "()"),
        ("-LRB=", "-LRB="),
        ("LRB", "LRB"),
        ("well-known", "well-known"),
        ("-lrb-", "-lrb-"),
        ("(", "("),
        ("", ""),
    ],
)
def test_brackets_are_unescaped_also_inside_words(word: str, expected: str) -> None:
    assert unescape_brackets(word) == expected


def test_all_escapes_are_undone() -> None:
    assert [unescape_brackets(escape) for escape in BRACKETS.values()] == list(BRACKETS)
