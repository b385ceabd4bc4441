"""Tokens as in the text, with ranges, empty nodes and white space in MISC."""

import json
import unicodedata
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus.io import read
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import Sentence
from depkit.corpus.surface import SurfaceToken, encode_spaces, escape, surface_tokens, unescape
from depkit.files.errors import FormatError
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


def test_words_have_offsets_in_the_text():
    (sentence,) = read_lines(ROWS.splitlines(keepends=True))
    text, offsets = sentence.text_with_offsets()
    # "Do" and "n't" are the token, so each has its own offsets.
    assert (text, offsets) == ("Don't  go", [(0, 2), (2, 5), (7, 9)])
    assert [text[word.start : word.end] for word in sentence] == ["Do", "n't", "go"]
    changed = ROWS.replace("\tn't\t", "\tnot\t")
    (sentence,) = read_lines(changed.splitlines(keepends=True))
    assert sentence.text_with_offsets()[1] == [(0, 5), (0, 5), (7, 9)]
    # Without the comment, the text is that of the tokens, with the spaces between them.
    (sentence,) = read_lines(ROWS.splitlines(keepends=True)[1:])
    assert sentence.text_with_offsets() == (text, offsets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Don't stop", ":7: the comment # text does not continue with 'go'"),
        ("Don't", ":7: the comment # text does not continue with 'go'"),
        ("Don't go now", ":7: the comment # text continues with 'now' after the last word"),
    ],
)
def test_offsets_in_another_text_are_an_error(text, message):
    rows = ROWS.replace("Don't  go", text, 1).splitlines(keepends=True)
    (sentence,) = read_lines(rows, file="f")
    with pytest.raises(FormatError, match=message):
        sentence.text_with_offsets()


@given(st.lists(st.tuples(st.text("ab ", min_size=1), st.sampled_from(["", " ", "\n \t"]))))
def test_offsets_are_where_the_tokens_are(parts):
    """For any tokens and white space, also within tokens, each word is found in the text."""
    tokens = [(form, space) for form, space in parts if form.strip() == form]
    if not tokens:
        return
    misc = [encode_spaces("", space, form, form) for form, space in tokens]
    sentence = Sentence.from_words([form for form, _ in tokens], misc=misc)
    text, offsets = sentence.text_with_offsets()
    assert text + tokens[-1][1] == "".join(form + space for form, space in tokens)
    assert [text[start:end] for start, end in offsets] == [form for form, _ in tokens]
    assert all(start <= end for start, end in offsets) and offsets == sorted(offsets)
    # The comment may have other white space, as where a line of the text ends.
    comment = " ".join(text.split())
    again = sentence.with_comment("text", comment)
    found = [comment[start:end] for start, end in again.text_with_offsets()[1]]
    assert [form.split() for form in found] == [form.split() for form, _ in tokens]


def test_offsets_fit_in_all_treebanks(shared):
    """Text that is a word's own is its form; and where JSON has the same text, the same offsets."""
    for path in sorted((shared / "data").rglob("*.conllu"))[:12]:
        for sentence in islice(read(path), 0, None, 20):
            text, offsets = sentence.text_with_offsets()
            for token in surface_tokens(sentence):
                start, end = offsets[token.first][0], offsets[token.last][1]
                assert text[start:end].split() == token.text.split()
            (record,) = map(json.loads, to_json_lines([sentence]))
            if record["text"] == text:
                assert offsets == [(word["start"], word["end"]) for word in record["words"]]
