"""Search for addresses, numbers and measures in text."""

import pytest

from depkit.corpus.patterns import MARKS, PATTERNS, find_marks, find_matches, find_tokens


def found(text, *names):
    return [text[start:end] for start, end, _ in find_tokens(text, names)]


@pytest.mark.parametrize(
    ("name", "text", "tokens"),
    [
        ("url", "see http://a.org/b_(c)?d=1,2. Or www.x.de/?q=ü, (https://y.fr).",
         ["http://a.org/b_(c)?d=1,2", "www.x.de/?q=ü", "https://y.fr"]),
        ("url", "看www.x.cn/a。http://例 www. 和 awww.x", []),
        ("email", "<anna.b@example.co.uk>, mailto:a+b@c-d.org; a@b, @c.de, x@y.z",
         ["anna.b@example.co.uk", "mailto:a+b@c-d.org"]),
        ("domain", "example1.com, example3.co.uk and Example.ORG. Not end.It, e.g. or 20.doc.",
         ["example1.com", "example3.co.uk", "Example.ORG"]),
        ("domain", "a@b.com b.com@c a.com.x b.comet", []),
        ("number", "1,000.5 12:30 3.5kg v1.2 5. 192.168.0.1",
         ["1,000.5", "12:30", "3.5", "192.168.0.1"]),
        ("telephone", "555-0100, 1-800-555-0100, 10-12 and 1990-1995",
         ["555-0100", "1-800-555-0100"]),
        ("joined measure", "10km, 5.5kg, 25°C, 50%, 90km/h, 5x and 20th",
         ["10km", "5.5kg", "25°C", "50%", "90km/h"]),
        ("gershayim", 'צה"ל, המנכ"לית בארה״ב. ח"כ', ['ה"ל', 'כ"לית', 'ה״ב', 'ח"כ']),
        ("gershayim", 'ה"דרך" ש"ההצעה מה"ג\'ה "שלום" כה"ב" a"b', []),
        ("split measure", "10km is 5m²", ["10", "km", "5", "m²"]),
    ],
)  # fmt: skip
def test_tokens_are_found(name, text, tokens):
    assert found(text, name) == tokens


@pytest.mark.parametrize(
    ("name", "text", "marked"),
    [
        ("quotation marks", '«a» „b“ c”d "e." f"g 5" x', '<«>a<»> <„>b<“> c”d <">e.<"> f"g 5<"> x'),
        ("quotation marks", "「a」（b）", "<「>a<」><（>b<）>"),
        ("quotation marks", "'a' ’b", "'a' ’b"),
        ("brackets", "(a b). [c] d(e) 1) f :) (", "<(>a b<)>. <[>c<]> d(e) 1) f :) ("),
        ("final marks", "a, b: c? 5! a:b 1,5 ?! ,x", "a<,> b<:> c<?> 5<!> a:b 1,5 ?! ,x"),
        (
            "final marks",
            "a; &#39; &#039;&quot; &hellip; 39;",
            "a<;> &#39; &#039;&quot; &hellip; 39<;>",
        ),
        ("dashes", "a—b ― -", "a<—>b <―> -"),
        ("emoji", "a😀 😀", "a<😀> 😀"),
    ],
)
def test_punctuation_marks_are_found(name, text, marked):
    marks = set(find_marks(text, ["url", name]))
    assert "".join(f"<{x}>" if i in marks else x for i, x in enumerate(text)) == marked


def test_emoji_are_found_with_and_without_patterns():
    assert found("👍🏽 a.com") == ["👍🏽"]
    assert found("👍🏽 a.com", "domain") == ["👍🏽", "a.com"]


def test_the_first_and_the_longest_of_overlapping_tokens_is_found():
    text = "http://a@b.com/c.org 1.5kg"
    assert list(find_tokens(text, PATTERNS)) == [(0, 20, True), (21, 26, True)]
    assert list(find_tokens("1.5kg", ("number", "split measure"))) == [(0, 3, True), (3, 5, True)]


@pytest.mark.parametrize(("text", "ends"), [
    ("a.com", True), ("a.com.", True), ("a.com's", False), ("(a.com)", True), ("5kg-", False),
])  # fmt: skip
def test_a_token_ends_unless_letters_or_an_ending_follow(text, ends):
    ((*_, is_end),) = find_tokens(text, ("domain", "joined measure"))
    assert is_end == ends


UNITS = 'a a. 1. 1- 1 a@ a@b. www. http:// http://( mailto: 1km a.co.uk %+ (a ( " a"'.split()


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("end", ["", "!", "-a", ".com@"])
def test_long_text_that_nearly_matches_is_searched(unit, end):
    """With a search in quadratic time, this test would take an hour."""
    text = unit * (200_000 // len(unit)) + end
    for pattern in PATTERNS.values():
        for spans in find_matches(text, pattern):
            assert all(0 <= start < stop <= len(text) for start, stop, _ in spans)
    assert all(0 <= mark < len(text) for mark in find_marks(text, MARKS))
