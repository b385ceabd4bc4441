"""Patterns that are not valid are refused with the line and the column of the mistake."""

import pytest

from depkit.corpus.sentence import Sentence
from depkit.files.errors import ArgumentError
from depkit.treebank.search.conditions import Regex, RegexError
from depkit.treebank.search.pattern import PatternError
from depkit.treebank.search.pattern_parser import parse_pattern
from depkit.treebank.search.search import Search, search

MISTAKES = [
    ("", "patern { }", 1, "the block 'patern' is unknown"),
    ("pattern { X [] }\n", "rule r { }", 2, "the block 'rule' is unknown"),
    ("pattern ", "X []", 1, "{ is expected here, not 'X'"),
    ("pattern { X []", "", 1, "; or } is expected here, not the end of the text"),
    ("pattern {\n  X [upos=VERB", "}", 2, ", or ] is expected here, not '}'"),
    ("pattern { X [upos=", "] }", 1, "a value is expected here, not ']'"),
    ("pattern { X [lemma=", "être] }", 1, "must be in quotes"),
    ("pattern { X [lemma=a", ".b] }", 1, "must be in quotes; there are no lexicons"),
    ('pattern { X [lemma=', '"a] }', 1, 'has no " at its end'),
    ("pattern { X [lemma=", "/a] }", 1, "has no / at its end"),
    ("pattern { X [lemma=", "/(a/] }", 1, "the regular expression '(a' is invalid"),
    ("/* a comment */ pattern { ", "/* another one }", 1, "has no */"),
    ("pattern { X -[nsubj", "-> Y }", 1, "]-> is expected here"),
    ("pattern { X -[1=nsubj, ", "obj]-> Y }", 1, None),
    ("pattern { ", "* -> * }", 1, "an edge cannot have * at both ends"),
    ("pattern { e: X -> ", "", 1, "the name of a node is expected here"),
    ("pattern { e: X -> Y; ", "e: Y -> Z }", 1, "two edges with the name 'e'"),
    ("pattern { X [] } without { ", "X.lemma = Z.lemma }", 1, "'Z' is not declared"),
    ("pattern { X []; ", "X << Y }", 1, "'Y' is not declared"),
    ("pattern { e: X -> Y; ", "e << X }", 1, "<< cannot be used with an edge and a node"),
    ("pattern { X []; ", "delta(X, Y) = 1 }", 1, "'Y' is not declared"),
    ("pattern { X []; Y []; delta(X, Y) ", "<> 1 }", 1, None),
    ("pattern { X []; X.upos = VERB", "|AUX }", 1, "allowed only in brackets"),
    ("pattern { X []; X.Number < ", "}", 1, None),
    ("pattern { X [] } global { ", "is_flat }", 1, "'is_flat' is unknown here"),
    ("pattern { X ", "} ", 1, "is expected after 'X'"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "wrong", "line", "message"), MISTAKES)
def test_mistakes_are_located(before: str, wrong: str, line: int, message: str | None) -> None:
    with pytest.raises(PatternError) as caught:
        parse_pattern(before + wrong)
    error = caught.value
    assert message is None or message in str(error)
    assert error.line == line
    # A few mistakes are noticed only after the wrong part begins.
    assert error.column > len(before.rpartition("\n")[2])
    assert f"line {line}, column {error.column}: " in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "pattern { e: X -> e }",
        "pattern { X []; X: Y -> Z }",
        "pattern { e: X -> Y } without { Y -> e }",
        "pattern { X -> Y } without { X: Y -> Z }",
    ],
)
def test_a_name_is_that_of_a_node_or_of_an_edge(text: str) -> None:
    with pytest.raises(PatternError, match="is the name of a node and of an edge"):
        parse_pattern(text)


def test_a_pattern_cannot_be_endless() -> None:
    nodes = "; ".join(f"X{i} []" for i in range(300))
    with pytest.raises(PatternError, match="more than 200 nodes and edges"):
        parse_pattern(f"pattern {{ {nodes} }}")
    # The largest pattern is within Python's limit of recursion.
    chain = "; ".join(f"X{i} < X{i + 1}" for i in range(198))
    parse_pattern(f"pattern {{ {chain} }}")
    sentence = Sentence.from_words(["a"] * 250, head=[*range(250)])
    assert len(list(search(f"pattern {{ {chain} }}", sentence))) == 250 - 198 + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pattern{X[]}",
        "pattern { }",
        "% a comment\npattern { X [upos=VERB,]; } % another one",
        "pattern{X-[nsubj]->Y;Y<X}",
        'pattern { X [] }\nglobal { text = re"a.*" | "b" }'.replace(' | "b"', ""),
        "without { X [upos=VERB] }",
        'pattern { X -[2="зад"]-> Y; X [form="a\\"b"] }',
        "pattern { X [Number = *, Case <> *] }",
        "pattern { X []; Y []; 2 < X.n; X.n >= Y.n }",
    ],
)
def test_valid_patterns_are_parsed(text: str) -> None:
    parse_pattern(text)


def test_an_enhanced_relation_needs_the_argument() -> None:
    for pattern in ("pattern { X -[E:nsubj]-> Y }", "pattern { X -[enhanced=yes]-> Y }"):
        with pytest.raises(ArgumentError, match="enhanced"):
            Search(pattern)
        Search(pattern, enhanced=True)


@pytest.mark.parametrize(
    ("text", "syntax", "matching", "others"),
    [
        (r"a\|b+", "str", ["a", "bb"], ["ab", "c", r"a\|b"]),
        (r"\(ab\)*", "str", ["", "abab"], ["aba", "(ab)"]),
        ("(a|b)", "str", ["(a|b)"], ["a", "b"]),
        ("a{2}", "str", ["a{2}"], ["aa"]),
        (r"a\.b", "str", ["a.b"], ["axb"]),
        (r"[]a-c\]", "str", ["]", "b", "\\"], ["d", "[", "-"]),
        ("[^a]*", "str", ["", "bc"], ["ab"]),
        (r"\(.\)\1", "str", ["aa", "bb"], ["ab"]),
        (r".*\bb", "str", ["a b"], ["ab"]),
        ("(a|b){2}", "pcre", ["ab", "ba"], ["a", "abc"]),
        ("über", "pcre-i", ["Über", "ÜBER"], ["uber"]),
        ("über", "pcre", ["über"], ["Über"]),
    ],
)
def test_regular_expressions_match_whole_values(text, syntax, matching, others) -> None:
    regex = Regex(text, syntax)
    assert [regex.matches(value) for value in matching] == [True] * len(matching)
    assert [regex.matches(value) for value in others] == [False] * len(others)


def test_a_regular_expression_that_takes_too_long_is_an_error() -> None:
    with pytest.raises(RegexError, match="takes more than 1 s"):
        Regex(r"(a|a|aa)+(a|a)+b", "pcre").matches("a" * 5000)


def test_operators_that_are_characters_in_a_regular_expression_are_noted() -> None:
    assert parse_pattern('pattern { X [form=re"a|b"] }').notes
    for text in (r're"a\|b"', 're"[|(]"', "/a|b/", '"a|b"'):
        assert parse_pattern(f"pattern {{ X [form={text}] }}").notes == []


def test_a_regular_expression_with_too_many_groups_is_an_error() -> None:
    with pytest.raises(PatternError, match=r"column 19: .*too many nested groups"):
        parse_pattern(f"pattern {{ X [form=/{'(' * 5000}{')' * 5000}/] }}")


@pytest.mark.parametrize("clause", ["X [deprel=nsubj]", "X [!head]", "X []; X.deprel = X.form"])
def test_columns_that_are_no_features_are_noted(clause: str) -> None:
    (note,) = parse_pattern(f"pattern {{ {clause} }}").notes
    assert "is a column, not a feature of a node; use an edge" in note
    assert parse_pattern("pattern { X [__MISC__head=2, Head=a] }").notes == []
