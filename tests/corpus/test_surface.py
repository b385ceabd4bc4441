"""Tokens as in the text, with ranges, empty nodes and white space in MISC."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.reader import read_lines
from depkit.corpus.surface import SurfaceToken, encode_spaces, escape, surface_tokens, unescape
from tests.corpus.rows import PREDICATES

ROWS = """\
# text = Don't  go
0.1\t_\t_\t_\t_\t_\t_\t_\t0:root\t_
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpacesBefore=\\t|SpacesAfter=\\s\\s
1\tDo\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No
2\tn't\t_\t_\t_\t_\t1\tadvmod\t_\t_
2.1\t_\t_\t_\t_\t_\t_\t_\t0:root\t_
3\tgo\t_\t_\t_\t_\t1\txcomp\t_\tSpaceAfter=No|Gloss=x

"""


def test_surface_tokens_are_ranges_and_words_with_white_space():
    (sentence,) = read_lines(ROWS.splitlines(keepends=True))
    assert surface_tokens(sentence) == [
        SurfaceToken("Don't", 0, 1, "\t", "  "),
        SurfaceToken("go", 2, 2, "", ""),
    ]


def test_formats_without_misc_have_single_spaces():
    (sentence,) = read_lines(PREDICATES.splitlines(keepends=True))
    assert "".join(token.text + token.after for token in surface_tokens(sentence)) == (
        "Cats see dogs bark "
    )


@given(st.text())
def test_unescape_inverts_escape(text):
    assert unescape(escape(text)) == text
    assert not set(" |\u2028\u2029") & set(escape(text))
    assert not any(unicodedata.category(character) == "Cc" for character in escape(text))


def test_other_escapes_stay_unchanged():
    assert unescape(r"a\q\x41\u00e9\x0\s\\x00") == r"a\q\x41\u00e9\x0 \x00"


@pytest.mark.parametrize(
    ("before", "after", "text", "expected"),
    [
        ("", " ", "a", "_"),
        ("", "", "a", "SpaceAfter=No"),
        ("", "\n", "a", "SpacesAfter=\\n"),
        (" ", "  ", "a\n b", "SpacesBefore=\\s|SpacesAfter=\\s\\s|SpacesInToken=a\\n\\sb"),
    ],
)
def test_spaces_are_encoded_in_misc(before, after, text, expected):
    assert encode_spaces(before, after, text, " ".join(text.split())) == expected
