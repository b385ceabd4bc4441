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
        ("url", "看www.x.cn/a。http://例 www. 和 awww.x", ["www.x.cn/a"]),
        ("email", "<anna.b@example.co.uk>, mailto:a+b@c-d.org; a@b, @c.de, x@y.z",
         ["anna.b@example.co.uk", "mailto:a+b@c-d.org"]),
        ("domain", "example1.com, example3.co.uk and Example.ORG. Not end.It, e.g. or 20.doc.",
         ["example1.com", "example3.co.uk", "Example.ORG"]),
        ("email", "連絡はa@b.co.jpまで", ["a@b.co.jp"]),
        ("domain", "a@b.com b.com@c a.com.x b.comet", []),
        ("file name", "see ./src/main.py, ~/notes.txt: /etc/a-b_c.conf. Or data.tar.gz; (X.PDF)",
         ["./src/main.py", "~/notes.txt", "/etc/a-b_c.conf", "data.tar.gz", "X.PDF"]),
        ("file name", "now.PDF sini.ini ה-a.py cafe\u0301s.pdf main.py:12", ["main.py"]),
        ("file name", "a.Pdf x.pyc a.py.b C:\\x.txt 1.5 e.g.md5 b@x.py ..a.py", []),
        ("file name", "昨日report.pdfを見た。", ["report.pdf"]),
        ("underscores", "foo_bar, _x_ a__b c_ Ünï_cøde 遅れ_a ?p_q=1 a_b@c.d e_f.py g_h/i (2_000)",
         ["foo_bar", "a__b", "Ünï_cøde", "2_000"]),
        ("tag", "#covid19 #2 @a_b, a@b &#39; x#y ##z #東京 昨日#tagを (@Ünï). @W.a.b #_x #N/A"
         " @a@b.org #צה\"ל",
         ["#covid19", "@a_b", "#tag", "@Ünï", "#_x"]),
        ("ampersand", "AT&T, CD&V's H&M R&D AB&CDEF A&MB/C a&b A&B&C", ["AT&T", "CD&V"]),
        ("ampersand between letters", "AT&T H&M (R&D). a&b A&B&C", ["H&M", "R&D"]),
        ("version", "v1.2.3, V2.0. v1 v2.0b v1.2.3b v1.2.x v1.2.3을 rev1.2", ["v1.2.3", "V2.0"]),
        ("programming language", "C++, C#. F# C#m A++ c# C+", ["C++", "C#", "F#"]),
        ("emoticon", "Hi :) ;-)) :D. :'( :-/ ^_^ ^^, =) a:) (:) :Da :/ <3 =p XD :",
         [":)", ";-))", ":D", ":'(", ":-/", "^_^", "^^", "=)"]),
        ("emoticon", "(see below :) for (i = 0 ;) ( :) a", [":)"]),
        ("arrow", "a -> b ==> c <- d -- e --- f ---- g != h <= a->b --x > = -",
         ["->", "==>", "<-", "--", "---", "!=", "<="]),
        ("date", "1/2/99, 12/31/2020. 1/2 1/2/3 a1/2/99 1/2/1999/3 5/1/12-3 昨日3/4/21に",
         ["1/2/99", "12/31/2020", "3/4/21"]),
        ("number", "1,000.5 12:30 3.5kg v1.2 5. 192.168.0.1",
         ["1,000.5", "12:30", "3.5", "192.168.0.1"]),
        ("spaced number", "20 000, 1\u00a0234\u202f567,5 (3 400). 300 000:een; 2010 500 040 123 12"
         " 34 1 000 00 5 0001 7 8 900 1.5 000 a1 000 1 000m 12 345 6",
         ["20 000", "1\u00a0234\u202f567,5", "3 400", "300 000"]),
        ("number", "۱۲٬۵۰۰ ۳٫۵", ["۱۲٬۵۰۰", "۳٫۵"]),
        ("decimal", "۱۲٬۵۰۰ ۳٫۵٪", ["۱۲٬۵۰۰", "۳٫۵"]),
        ("gendered word", "Schüler*innen, Student:in Lehrer/-innen. Leser/innen jede*r salarié·e·s",
         ["Schüler*innen", "Student:in", "Lehrer/-innen", "Leser/innen", "jede*r", "salarié·e·s"]),
        ("gendered word", "a*r op:in Preis:in 2*n in/in f*innen Uhr:ins 한·미 rojo·verde", []),
        ("year", "'98 ’90s 5'10 '45' '5 '123 a'98 ('98) '12.5 '25% 'Tis", ["'98", "’90s"]),
        ("year", "'12 Years a Slave' and '98 was", ["'98"]),
        ("telephone", "555-0100, 1-800-555-0100, 10-12 and 1990-1995",
         ["555-0100", "1-800-555-0100"]),
        ("joined measure", "10km, 5.5kg, 25°C, 50%, 90km/h, 5x and 20th",
         ["10km", "5.5kg", "25°C", "50%", "90km/h"]),
        ("gershayim", 'צה"ל, המנכ"לית בארה״ב. ח"כ', ['ה"ל', 'כ"לית', 'ה״ב', 'ח"כ']),
        ("gershayim", 'ה"דרך" ש"ההצעה מה"ג\'ה "שלום" כה"ב" a"b', []),
        ("split measure", "10km is 5m²", ["10", "km", "5", "m²"]),
        ("price", "€5,50 (£1,000) US$20 R$3 aUS$4 $5m 6€ ¥ 7 $x a$8 _$9",
         ["€", "5,50", "£", "1,000", "US$", "20", "R$", "3", "$", "5"]),
        ("price before sign", "5,50€ (20£) 3€/kg 1¥。 $6 a7€ 8€b 9 € 5€-6 7€'luk 8€'.",
         ["5,50", "€", "20", "£", "3", "€", "1", "¥", "8", "€"]),
        ("percentage", "5,5% (20‰) 7 % %8 15%20 9%は 9%b 5%-ный 5%-",
         ["5,5", "%", "20", "‰", "9", "%", "5", "%"]),
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
        ("final full stops", "a 5 kg. 5 kg.", "a 5 kg. 5 kg<.>"),
        ("final full stops", "30 °C.  ", "30 °C<.>  "),
        ("final full stops", "5 ckm.", "5 ckm."),
        ("emoji", "a😀 😀 !👍 👍b", "a<😀> 😀 !<👍> <👍>b"),
        ("emoji", "!👍👍 a★★ :★★★b", "!👍👍 a★★ :★★★b"),
        ("emoji", "a❤\ufe0fb ♥a ©a", "a<❤><\ufe0f>b <♥>a ©a"),
        ("footnotes", "a.[1][23] b[4] [5] c[1000]", "a.<[>1<]><[>23<]> b<[>4<]> [5] c[1000]"),
        ("final marks", 'a?" a!” a!a', 'a<?>" a<!>” a!a'),
        ("final full stops", "“No.” (no.” to “a.”", "“No<.>” (no.” to “a.”"),
    ],
)
def test_punctuation_marks_are_found(name, text, marked):
    marks = set(find_marks(text, ["url", name]))
    assert "".join(f"<{x}>" if i in marks else x for i, x in enumerate(text)) == marked


@pytest.mark.parametrize(
    "before", ["❤\ufe0f", "1\ufe0f\u20e3", "👍", "\u200b", "\u200f", "\ufeff", "は"]
)
def test_names_are_found_after_emoji_and_invisible_characters(before):
    for name in ("http://a.b", "a@b.de", "#tag", "a_b"):
        assert name in found(before + name, "url", "email", "tag", "underscores")
    assert found(f"{before} 12.50", "number")[-1] == "12.50"


@pytest.mark.parametrize("text", ["cafe\u0301http://a.b", "می\u200c#tag", "हि#tag"])
def test_no_name_begins_inside_a_word(text):
    assert found(text, "url", "tag") == []


def test_emoji_are_found_with_and_without_patterns():
    assert found("👍🏽 a.com") == ["👍🏽"]
    assert found("👍🏽 a.com", "domain") == ["👍🏽", "a.com"]


def test_the_first_and_the_longest_of_overlapping_tokens_is_found():
    text = "http://a@b.com/c.org 1.5kg"
    assert list(find_tokens(text, PATTERNS)) == [(0, 20, True), (21, 26, True)]
    assert list(find_tokens("1.5kg", ("number", "split measure"))) == [(0, 3, True), (3, 5, True)]


@pytest.mark.parametrize(("text", "ends"), [
    ("a.com", True), ("a.com.", True), ("a.com's", False), ("(a.com)", True), ("5kg-", False),
    ("a.com:n", False), ("a.com:", True), ("a.com: x", True), ("a.com?b", False),
    ("a.com\u0301", False), ("a.com\u200c", False),
])  # fmt: skip
def test_a_token_ends_unless_letters_or_an_ending_follow(text, ends):
    ((*_, is_end),) = find_tokens(text, ("domain", "joined measure"))
    assert bool(is_end) == ends


UNITS = (
    'a a. 1. 1- 1 a@ a@b. www. http:// http://( mailto: 1km a.co.uk %+ (a ( " a"'
    " a/ a_ a.py ~/ ./ # #a A& v1. : :( ^_ => 1/2/ C++ v1"
).split() + [" :(", " ^_", " -=", " ;-)"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("end", ["", "!", "-a", ".com@", ".pyc C++ C#"])
def test_long_text_that_nearly_matches_is_searched(unit, end):
    """With a search in quadratic time, this test would take minutes."""
    text = unit * (50_000 // len(unit)) + end
    for pattern in PATTERNS.values():
        for spans in find_matches(text, pattern):
            assert all(0 <= start < stop <= len(text) for start, stop, _ in spans)
    assert all(0 <= mark < len(text) for mark in find_marks(text, MARKS))
