"""Rules on where sentences end."""

import re

import pytest

from depkit.corpus.sentence_ends import (
    CONTINUATIONS,
    ENCLOSED,
    ENDS,
    JOINED,
    UNFINISHED,
    _find_runs,
    find_continuations,
    find_ends,
    is_enclosed,
    is_unfinished,
    move_end,
)


def mark(text, offsets):
    return "".join(f"<{x}>" if i in offsets else x for i, x in enumerate(text))


def move_mark(text, names):
    """Move the `|` at the end of a sentence to where `move_end` says, or remove it."""
    offset, text = text.index("|") - 1, text.replace("|", "")
    end = move_end(text, offset, names)
    return text[: end + 1] + "|" + text[end + 1 :] if end >= 0 else text


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("question marks", "Why<?> Éa? b ?5 a?B"),
        ("question marks", "من<؟> أ"),
        ("question marks", "何<？> 何"),
        ("question marks", "A<?>\n  ¿?"),
        ("question marks", "A<?>" + " " * 40 + "B"),
        ("exclamation marks", "Go<!> Éa?!<!> ¡b! b !5 a!B Yahoo! News לך<!> הביתה"),
        ("exclamation marks", 'He «Go! Now!» (Go! Now!) "Go<!> Now<!> He'),
        ("final ellipses", "He<…> It..<.> It .. It… it ...It ... It ?… It 5... It é..<.> It"),
        ("final ellipses", "(He… It) “he… It” קם… חלב 네… 가"),
        (
            "emoticons",
            "He :<)> It ;-<)> It :) it :-<(> It a:) It (:) It <3 It XD It ^<^> It",
        ),
        ("emoticons", "(he :) It) “he :) It” קם :) חלב"),
        ("closed sentences", '"It ends.<"> He says “Why?<”> It goes… "Go!" he'),
        ("closed sentences", "« Viens. <»> Il « Où est-il ? <»> Elle « Viens ! » dit"),
        ("closed sentences", "Il est passe\u0301.<”> Elle"),
        # He asked: "What happened?" After a full stop, nobody says who spoke.
        ("closed sentences", '"מה קרה?" שאל דוד "הוא בא.<"> הוא'),
        ("closed sentences", "(It ends.<)> He (Inc.) He [...] He (D.C.) He"),
        (
            "missing spaces",
            "he left<.>It was<!>Éa was (here<?>I'm) «bon<.>C'est, and<.>O",
        ),
        ("missing spaces", "he left.it System.Text john.Smith@a.b index.Html/ a_the.Bc the.BC"),
        ("missing spaces", "www.the.Bc /the.Bc he.It the.Bc.De the.B5 the.Be(a) Ph.D. U.S. 5.It"),
        (
            "missing spaces",
            "console.WriteLine incl.Btw data.N was<.>Éa cafe\u0301<.>It is.It «bon».It",
        ),
        ("missing spaces", "был<.>Он " + "a" * 40 + f".It the.B{'e' * 30}@a.b the<.>B{'e' * 20}"),
        ("lower case", "hej<.> du<?> ja. men (va! ja) usw. och 5"),
        ("lower case", "hej. du? Ja. men"),
        ("lower case", "Hej. du? ja"),
        ("footnoted sentences", "It grew.[1][23<]> It was.[4] it a.[5] It"),
        ("symbols", "3 %<.> He 5 €<.> It 5%. and 5. He"),
        ("symbols", "5 kg<.> He 9cm<.> It 3 °C<.> So 30°C<.> So kg. He 5 ckm. He 5 kg. he 5 h. He"),
    ],
)
def test_ends_of_sentences_are_found(name, marked):
    text = re.sub("<(.)>", r"\1", marked)
    assert mark(text, set(find_ends(text, [name]))) == marked
    assert not list(find_ends(text, CONTINUATIONS))


@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("initials", "J<.> S<.> Bach"),
        ("initials", "von J<.> S<.> Bach and George W. Bush, J<.> R<.> R<.> Tolkien"),
        ("initials", "А<.> С<.> Пушкин"),
        ("middle initials", "George W<.> Bush met Dr. É<.> Roux"),
        ("middle initials", "Ann R<.>  Lee, Ann R."),
        # Labels, Roman numerals, eras and abbreviations can be followed by a new sentence.
        ("middle initials", "plan B. It"),
        ("middle initials", "Karel V. In"),
        ("initials", "Washington, D<.> C. La S<.> A. La U<.> S. The"),
        (
            "middle initials",
            "Ligue A. Le Hépatite B. Le Vitamin C. It Vitamin E. Det GRUPO F. El Team R. It",
        ),
        ("middle initials", "700 a. C. La"),
        ("middle initials", "the F.C. De U.S. It"),
        ("middle initials", "Ann R. and 5. Bush. R"),
        ("first initials", "K<.> Berg came. A<.> Lee (left!) J. S. Bach? É<.> Roux"),
        ("first initials", "Kå. Berg Dr. A. Lee type B. It no. C. Then B. c. E. A. x"),
        ("spaced marks", "7 hab<.> / km²"),
        ("spaced marks", "a<.>  ) b <?>\n; c ! d"),
        ("spaced marks", "/ a. /b c. :) d. ("),
        ("capitals", "EE. UU<.> desde A<.> b Chr<.> c a. b Also. d A.B. c"),
        ("spaced marks", "Viens<.> » Il Viens<!> », dit a ,b »c"),
        ("list marks", "1<.> Milk 2. Tea"),
        ("list marks", "Buy:\n 12<)> milk\n<–> Tea\na<.> Rice\n<*> 3.\n-x 1.5\n1984. It"),
        ("abbreviations", "Kl<.> 5 usw<.> und (etc<.> sowie) usw. 5 usw. Und Smith et al<.> said"),
        ("abbreviations", "Smith et al<.> (2010) and Lee et al. They p<.> ex<.> a"),
        ("abbreviations", "До н<.> е<.> був х. Був A. 5"),
        ("abbreviations", "das usw. und so"),
        ("first words", "O<n> 5 May. I<n> 2010 at 6 pm. O<n> 5. On\n5"),
        ("ellipses", "Well..<.> yes<…>  so... No… No.. no"),
    ],
)
def test_places_where_no_sentence_ends_are_found(name, marked):
    text = re.sub("<(.)>", r"\1", marked)
    assert mark(text, set(find_continuations(text, [name]))) == marked
    assert not list(find_continuations(text, ENDS))


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("a.|", "a.|"),
        ("a.| B", "a.| B"),
        ("end.|Next", "end.|Next"),
        ("終。|次", "終。|次"),
        ("（メモ。）|明日", "（メモ。）|明日"),
        ("楽しい♪|また", "楽しい♪|また"),
        ("AT&|T", "AT&T"),
        ("a.|pdf", "a.pdf"),
        ("gewesen.|1 Danach", "gewesen.|1 Danach"),
        ("v2.|0", "v2.0"),
        ("a|)", "a)"),
        ("Напр.|, у", "Напр., у"),
        ("(a.|) B", "(a.)| B"),
        ("(a.|)", "(a.)|"),
        ("Ja?|! Nein", "Ja?!| Nein"),
        ("Ja!|!!” Nein", "Ja!!!”| Nein"),
        ("ja.|.. nein", "ja... nein"),
        ("»Komm.|« Er", "»Komm.«| Er"),
        ("»Komm!|« er", "»Komm!« er"),
        ("he.|«A»", "he.|«A»"),
        ("すごい！|！また", "すごい！！|また"),
        ("«[a!|]» B", "«[a!]»| B"),
        ("“a!|” he", "“a!” he"),
        ("「行くよ。|」と言った", "「行くよ。」と言った"),
        ("（メモ。|）明日", "（メモ。）|明日"),
    ],
)
def test_an_end_inside_joined_characters_is_moved_to_closing_marks_or_left_out(text, moved):
    assert move_mark(text, {JOINED}) == moved


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("a *| b", "a| * b"),
        ("a\n  •| b", "a|\n  • b"),
        ("a*| b", "a*| b"),
        ("a -| b", "a -| b"),
        (" *| b", " * b"),
        ("*| b", "* b"),
        ("a" + " " * 40 + "*| b", "a|" + " " * 40 + "* b"),
        ("a *|\nb", "a *|\nb"),
        ("a *| * b", "a *| * b"),
        ("a * *| b", "a * *| b"),
        ("a *|", "a *|"),
    ],
)
def test_a_sentence_ends_before_a_bullet_and_not_after_it(text, moved):
    assert move_mark(text, ()) == moved


@pytest.mark.parametrize("text", ["a", "(a", "(a,", "(a.)", "5."])
def test_the_end_of_a_text_ends_a_sentence(text):
    assert move_end(text, len(text) - 1, {JOINED, ENCLOSED, UNFINISHED}) == len(text) - 1


@pytest.mark.parametrize(
    "text",
    [
        "« De Blauwe| Lotus » is",
        "He read “The Blue| Lotus”.",
        "Er liest „Der blaue| Lotus“.",
        "Er liest »Der blaue| Lotus«.",
        "Han läser ”Den blå| boken”.",
        "彼は「青い| 本」を",
        'He read "The Blue| Lotus".',
        "Ed (born 1 May| 1913)",
        "see (| a or b)",
        "see [a| B]",
        '(read "The| Lotus", too)',
        f"(|{' ' + 79 * 'a'})",
        f"({79 * 'a'}|{' '})",
    ],
)
def test_no_sentence_ends_inside_brackets_or_quotation_marks_without_a_final_mark(text):
    offset, text = text.index("|") - 1, text.replace("|", "")
    assert is_enclosed(text, offset)
    assert move_end(text, offset, {JOINED, ENCLOSED}) == -1
    assert move_end(text, offset, {JOINED}) == offset


@pytest.mark.parametrize(
    "text",
    [
        "« De Lotus »| Verhaal",
        "« Hij komt.| Ga » is",
        "He left (he was ill).| Then",
        "He (a) left| and (b)",
        'the "A"| and the "B"',
        '5"| or 6"',
        "“a”| b “c”",
        "Bad :(| He said it :) So",
        "Шкода(| Але нічого) Завтра",
        "“I came. (At last.)| Then I left”",
        "“He said ‘go.’| Then I left”",
        "(a| b",
        "a| b)",
        f"(|{' ' + 80 * 'a'})",
        f"({80 * 'a'}|{' '})",
        f"({'a ' * 50}| (b))",
        f'"a| {78 * "a"}"b',
        "»Faust«| Goethe »Egmont«",
        "Er las »Faust«, kam| Dann »Egmont« und",
        "« a » texte| « b »",
        "»Ja.«| Goethe »Nein«",
        "”Ja”| säger ”Nej”",
        f"“{70 * 'a'}” b| “{70 * 'a'}”",
        f'"{70 * "a"}" b| "{70 * "a"}"',
        f"«{70 * 'a'}» b| «{70 * 'a'}»",
    ],
)
def test_a_sentence_can_end_outside_brackets_and_after_final_marks_or_long_ones(text):
    offset, text = text.index("|") - 1, text.replace("|", "")
    assert move_end(text, offset, {ENCLOSED}) == offset


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("they saw:| growth", True),
        ("they saw|  growth", True),
        ("a,| b", True),
        ("they saw:| Growth", False),
        ("they saw.| growth", False),
        ("“Go!”| he said", False),
        ("(it was)| growth", False),
        ("vi såg| över", True),
        ("5| years", True),
        ("합니다| iphone", False),
        ("good 👍| and", False),
        ("a;| b", False),
        ("1| 2", False),
        ("a|b", False),
        ("a| ", False),
    ],
)
def test_no_sentence_ends_before_a_lower_case_letter_except_after_final_and_closing_marks(
    text, expected
):
    offset, text = text.index("|") - 1, text.replace("|", "")
    assert is_unfinished(text, offset) == expected
    assert move_end(text, offset, {UNFINISHED}) == (-1 if expected else offset)
    assert move_end(text, offset, set()) == offset


@pytest.mark.parametrize(
    "unit",
    ["a. ", ". ", "... ", ".) ", "? ", ".", "  ", "A. B ", "%. ", "(", '" ', "„a", "abc.Ab", "! ",
     "a… ", " :)", " ^_"],
)  # fmt: skip
def test_long_texts_are_searched_in_linear_time(unit):
    """With a search in quadratic time, this test would not end."""
    text = unit * (200_000 // len(unit))
    for find, names in (find_ends, ENDS), (find_continuations, CONTINUATIONS):
        assert all(0 <= offset < len(text) for offset in find(text, names))
    assert move_end("." + ")" * 200_000, 0, {JOINED}) == 200_000
    for names in {ENCLOSED}, {UNFINISHED}:
        for offset in range(0, len(text), 100):
            assert move_end(text, offset, names) in (-1, offset)


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("grew.|[1][23] It", "grew.[1][23]| It"),
        ("grew.|[1]", "grew.[1]|"),
        ("grew.|[1]It", "grew.[1]|It"),
        ("grew.|[a] It", "grew.|[a] It"),
    ],
)
def test_footnote_marks_after_a_final_mark_belong_to_its_sentence(text, moved):
    assert move_mark(text, {JOINED}) == moved


class CountingText(str):
    """A text that counts how often characters of it are asked for."""

    __slots__ = ("count",)

    def __getitem__(self, index):
        self.count += 1
        return str.__getitem__(self, index)


def test_the_end_of_a_long_run_of_marks_is_found_once():
    counts = []
    for length in (100, 400):
        text = CountingText("Komm" + "!»" * length + " Er")
        text.count = 0
        _find_runs.cache_clear()
        ends = {move_end(text, offset, [JOINED]) for offset in range(4, len(text) - 4, 2)}
        assert ends == {2 * length + 3} and _find_runs.cache_info().misses == 1
        counts.append(text.count / length)
    assert counts[0] == pytest.approx(counts[1], rel=0.1)
