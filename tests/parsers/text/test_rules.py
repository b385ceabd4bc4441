"""Rules correct the labels that the network of a tokenizer predicts."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch

from depkit.corpus.patterns import PATTERNS
from depkit.parsers.text.labels import Labels
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer import build_character_table, encode_text
from tests.parsers.text.small_tokenizer import make_tokenizer


def predict_everywhere(label, monkeypatch):
    """Make the network predict one label for all symbols, what ends and how words are split."""
    logits = torch.nn.functional.one_hot(torch.tensor(label), 3).float()
    monkeypatch.setattr(
        TokenizerNetwork,
        "forward",
        lambda self, characters, sizes: (
            logits.expand(*characters.shape, 3), logits.expand(*characters.shape, 3)
        ),
    )  # fmt: skip


@pytest.mark.parametrize("end", [0, 1, 2])
def test_no_token_ends_inside_a_token_of_a_pattern(end, monkeypatch):
    """The network ends tokens and sentences wherever it can, or nowhere."""
    predict_everywhere(end, monkeypatch)
    segmenter = make_tokenizer(patterns=("email", "number", "split measure"))
    # An email never begins in one text and ends in another.
    texts = ["a@b.com, 1.5kg", "1", ".5", "は a@b.comを", "はa@b.com"]
    segmented = [
        [text[start:stop] for sentence in sentences for start, stop, _ in sentence]
        for text, sentences in zip(texts, segmenter.segment(texts), strict=True)
    ]
    assert segmented[0] == ["a@b.com", ",", "1.5", "kg"]
    assert segmented[1:3] == ([["1"], [".5"]] if end == 0 else [["1"], [".", "5"]])
    assert segmented[3:] == [["は", "a@b.com", "を"], ["は", "a@b.com"]]


@pytest.mark.parametrize("end", [0, 1, 2])
def test_punctuation_marks_are_tokens_and_accents_are_not(end, monkeypatch):
    """The network ends tokens and sentences wherever it can, or nowhere."""
    predict_everywhere(end, monkeypatch)
    table = build_character_table(["ab\u05b8"], min_count=1)
    segmenter = replace(
        make_tokenizer(patterns=("quotation marks", "final marks", "url")), characters=table
    )
    texts = ["«b\u05b8a», a", "»", "www.a.b/«c"]
    segmented = [
        [text[start:stop] for sentence in sentences for start, stop, _ in sentence]
        for text, sentences in zip(texts, segmenter.segment(texts), strict=True)
    ]
    inside = ["b\u05b8a"] if end == 0 else ["b\u05b8", "a"]
    assert segmented[:2] == [["«", *inside, "»", ",", "a"], ["»"]]
    assert segmented[2][-2:] == ["«", "c"]
    if end == 0:
        with_spaces = replace(segmenter, spaces=True)
        ((tokens,),) = with_spaces.segment(["a «b a»"])
        assert [(start, stop) for start, stop, _ in tokens] == [(0, 1), (2, 3), (3, 6), (6, 7)]


def test_no_sentence_ends_after_an_abbreviation(monkeypatch):
    """The network ends sentences wherever it can."""
    predict_everywhere(2, monkeypatch)
    segmenter = make_tokenizer(abbreviations=frozenset({"a", "b.c"}))
    texts = ["c (A. c", "b.c. a", "b. c a.", "ba. c"]
    ends = [
        [text[sentence[-1][1] - 1] for sentence in sentences]
        for text, sentences in zip(texts, segmenter.segment(texts), strict=True)
    ]
    assert ends == [[*"c(Ac"], [*"b.ca"], [*"b.ca."], [*"ba.c"]]


def test_abbreviations_and_final_words_are_found_in_decomposed_text(monkeypatch):
    predict_everywhere(2, monkeypatch)
    text = "(Be\u0301. c"
    (sentences,) = make_tokenizer(abbreviations=frozenset({"bé"})).segment([text])
    assert [text[sentence[-1][1] - 1] for sentence in sentences] == [*"(B\u0301c"]
    predict_everywhere(0, monkeypatch)
    text = "c (be\u0301. C a. be\u0301. C"
    (sentences,) = make_tokenizer(final_words=frozenset({"bé"})).segment([text])
    assert [text[tokens[0][0] : tokens[-1][1]] for tokens in sentences] == [
        "c (be\u0301.", "C a. be\u0301. C"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "ends"),
    [
        ("B. B. C a", "initials", "BBCa"),
        ("b. (b.)b C.b", "joined characters", ".)bb"),
        ("b.... c", "ellipsis", "b.c"),
        ("B. B. C a", "spaced marks", "B.B.Ca"),
        ("a /  b\u05b8 / b", "spaced marks", "//b"),
        ("a / b\u05b8 / b", "initials", "a/\u05b8/b"),
    ],
)
def test_no_sentence_ends_at_a_continuation(text, name, ends, monkeypatch):
    """The network ends sentences wherever it can."""
    predict_everywhere(2, monkeypatch)
    (sentences,) = make_tokenizer(patterns=(name,)).segment([text])
    assert "".join(text[sentence[-1][1] - 1] for sentence in sentences) == ends


@pytest.mark.parametrize("end", [0, 2])
def test_a_sentence_ends_before_an_item_of_a_list(end, monkeypatch):
    """The network ends nothing, or sentences wherever it can."""
    predict_everywhere(end, monkeypatch)
    texts = ["b a:\n- a\n- b\n• c.", "a * b", "a)\na) b\nb) c"]
    sentences = make_tokenizer(patterns=("list marks", "unfinished sentences")).segment(texts)
    starts = [[sentence[0][0] for sentence in text] for text in sentences]
    assert starts[0] == ([0, 5, 9, 13] if end == 0 else [0, 3, 5, 9, 13, 16])
    assert starts[1] == ([0] if end == 0 else [0, 2])
    assert {3, 8} <= set(starts[2])


def test_a_sentence_ends_at_a_question_mark(monkeypatch):
    """The network ends nothing, and the pattern is used only if the tokenizer has it."""
    predict_everywhere(0, monkeypatch)
    for patterns, count in (("question marks",), 2), ((), 1):
        (sentences,) = make_tokenizer(patterns=patterns).segment(["a? B a ? b"])
        assert len(sentences) == count


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("split hyphens", ["a", "-", "b", "a", "-", "b", "ab-ba", "1-", "1"]),
        ("joined hyphens", ["a-b", "a-b", "ab-ba", "1-", "1"]),
        ("joined ranges", ["a", "-b", "a-", "b", "ab-ba", "1-1"]),
        ("url", ["a", "-b", "a-", "b", "ab-ba", "1-", "1"]),
    ],
)
def test_no_token_begins_or_ends_with_a_hyphen(name, tokens):
    tokenizer, text = make_tokenizer(patterns=(name,)), "a-b a-b ab-ba 1-1"
    indices, offsets = encode_text(text, tokenizer.characters)
    ends = np.zeros(len(indices), dtype=np.int8)
    ends[[0, 2, 5, 6, 12, 15, 16]] = 1
    multiword = np.zeros_like(ends)
    multiword[5] = 1 if name == "joined hyphens" else 0  # two words, which become one
    labels = Labels([text], offsets, ends, multiword)
    tokenizer.rules.apply(labels)
    (sentences,) = tokenizer.decode(labels)
    assert all(words is None for _, _, words in chain.from_iterable(sentences))
    assert [text[x:y] for x, y, _ in chain.from_iterable(sentences)] == tokens


@pytest.mark.parametrize("end", [0, 1])
def test_clitics_are_cut_off(end, monkeypatch):
    predict_everywhere(end, monkeypatch)
    clitics = frozenset({"-a", "-ab", "-b-a", "aa-ab", "b-e", "c-e"})
    text = "C-A cc-a cb-ab-a aa-ab CC-AB cc-a-c cc-b-a 1-a -a cc-A CC-a cb-e ca-e"
    (sentences,) = make_tokenizer(clitics=clitics).segment([text])
    tokens = [text[x:y] for x, y, _ in chain.from_iterable(sentences)]
    if end == 0:
        assert tokens == [
            "C-A", "cc", "-a", "cb", "-ab", "-a", "aa-ab", "CC", "-AB", "cc-a-c", "cc", "-b-a",
            "1-a", "-a", "cc-A", "CC-a", "cb", "-e", "ca-e",
        ]  # fmt: skip
    else:
        assert [token for token in tokens if len(token) > 1] == [
            "-a", "-ab", "-a", "aa-ab", "-AB", "-b-a", "-e"
        ]  # fmt: skip


def test_clitics_are_cut_off_after_all_kinds_of_hyphens_but_not_in_decomposed_text(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    tokenizer = make_tokenizer(clitics=frozenset({"-a"}))
    for text, number in (("ac-a", 2), ("ac‐a ac‑a", 4), ("ac-a b", 3), ("ac-a e\u0301", 2)):
        assert len(tokenizer.segment([text])[0][0]) == number


def test_a_clitic_that_is_cut_off_is_one_word(monkeypatch):
    """The network ends tokens and words after all characters."""
    predict_everywhere(1, monkeypatch)
    tokenizer = make_tokenizer(clitics=frozenset({"-ab"}))
    (tokens,) = tokenizer.segment(["ac-ab"])[0]
    assert tokens[-1] == (2, 5, None)


@pytest.mark.parametrize("end", [0, 1])
def test_no_token_begins_or_ends_with_a_dash_beside_a_token_of_a_pattern(end, monkeypatch):
    predict_everywhere(end, monkeypatch)
    tokenizer = make_tokenizer(patterns=("ampersand", "file name", "split hyphens"))
    for text in ("B–AT&T", "AT&T–b", "a–b.pdf", "a-b–AT&T c"):
        tokens = [text[x:y] for x, y, _ in chain.from_iterable(tokenizer.segment([text])[0])]
        assert "–" in tokens and tokens[-1] != "b–"


def test_a_clitic_is_cut_off_also_if_hyphens_join_words(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    tokenizer = make_tokenizer(clitics=frozenset({"-a"}), patterns=("joined hyphens",))
    assert [token[:2] for token in tokenizer.segment(["c-b ac-a"])[0][0]] == [
        (0, 3),
        (4, 6),
        (6, 8),
    ]


def test_clitics_are_not_cut_off_inside_a_token_of_a_pattern(monkeypatch):
    predict_everywhere(0, monkeypatch)
    tokenizer = make_tokenizer(clitics=frozenset({"-a"}), patterns=tuple(PATTERNS))
    tokens = ["http://abc.fr/ab-a", "ab-a@ab.fr", "ab-a.pdf", "ab", "-a"]
    text = "http://abc.fr/ab-a ab-a@ab.fr ab-a.pdf ab-a"
    (sentences,) = tokenizer.segment([text])
    assert [text[x:y] for x, y, _ in chain.from_iterable(sentences)] == tokens


def test_a_full_stop_at_the_end_of_a_sentence_is_a_token_after_words(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    tokenizer = make_tokenizer(
        abbreviated=frozenset({"abc", "aé"}), abbreviations=frozenset({"bc"})
    )
    texts = ["ab.", "Ab.", "Abc.", "Bc.", "a.", "a.bc.", "1.", "ab .", ".", "“ab.", "1°c."]
    texts += ["abe\u0301.", "ab\u200b.", "ab\u200c\u0301a.", "ae\u0301."]
    lengths = [len(tokens) for (tokens,) in tokenizer.segment(texts)]
    assert {i for i, size in enumerate(lengths) if size == 2} == {0, 1, 7, 9, 10, 11, 12, 13}


def test_a_long_word_that_includes_a_full_stop_is_not_divided(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    tokenizer = make_tokenizer(abbreviated=frozenset({"abcabcabcabc"}))
    sizes = [len(tokens) for (tokens,) in tokenizer.segment(["Abcabcabcabc.", "abcabcabcab."])]
    assert sizes == [1, 2]


def test_a_sentence_ends_between_a_final_word_and_a_capital_letter(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    segmenter = make_tokenizer(final_words=frozenset({"ab", "b"}), abbreviations=frozenset({"b"}))
    text = "c (ab. C ab. c Ab. C cab. C ab.C b. C b. ab. C ab.  C"
    (sentences,) = segmenter.segment([text])
    assert [text[tokens[0][0] : tokens[-1][1]] for tokens in sentences] == [
        "c (ab.", "C ab. c Ab. C cab. C ab.C b. C b. ab. C ab.", "C"
    ]  # fmt: skip
    start, stop, _ = sentences[0][-1]
    assert text[start:stop] == "."


@pytest.mark.parametrize("end", [0, 1, 2])
def test_a_sentence_ends_where_a_space_is_missing_except_after_an_abbreviation(end, monkeypatch):
    predict_everywhere(end, monkeypatch)
    segmenter = make_tokenizer(patterns=("missing spaces", "url"), abbreviations=frozenset({"cab"}))
    text = "abc.Ab cab.Ab www.abc.abc.Ab"
    (sentences,) = segmenter.segment([text])
    ends = {tokens[-1][1] for tokens in sentences}
    tokens = {text[start:stop] for tokens in sentences for start, stop, _ in tokens}
    assert 4 in ends and 3 not in ends and "." in tokens
    if end != 2:
        assert ends == {4, len(text)}
    if end == 0:
        assert tokens == {"abc", ".", "Ab", "cab.Ab", "www.abc.abc.Ab"}


def test_rules_do_not_read_the_neighbouring_texts(monkeypatch):
    """The network ends sentences wherever it can."""
    predict_everywhere(2, monkeypatch)
    names = ("enclosed words", "unfinished sentences", "joined characters", "missing spaces")
    segmenter = make_tokenizer(patterns=names)
    texts = ["a (b", "A B) a", "5", ".5", "abc.", "Ab", "a", "b a"]
    assert segmenter.segment(texts) == [segmenter.segment([text])[0] for text in texts]
    assert segmenter.segment(["a (b A B) a"]) != segmenter.segment(["a (b A B a"])
