"""Labels of characters become tokens and sentences; no character is lost."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.corpus.patterns import PATTERNS
from depkit.parsers.text import tokenizer as module
from depkit.parsers.text.multiword import MultiwordTable
from depkit.parsers.text.network import TokenizerNetwork
from depkit.parsers.text.tokenizer import (
    MARGIN,
    SLICE,
    SPACE,
    build_character_table,
    cut_slices,
    encode_text,
)  # fmt: skip
from tests.parsers.text.small_tokenizer import CHARACTERS, make_tokenizer


def decode(text, ends, multiword=None, **options):
    """Return tokens as strings, with words joined by +; labels: one digit per character."""
    labels = [np.array(list(map(int, row))) for row in (ends, multiword or "0" * len(text))]
    (sentences,) = make_tokenizer(**options).decode([text], *labels, np.arange(len(text)))
    return [["+".join(words or (text[a:b],)) for a, b, words in tokens] for tokens in sentences]


def test_labels_end_tokens_and_sentences():
    assert decode("ab.c ab", "0120101") == [["ab", "."], ["c", "ab"]]


def test_white_space_ends_tokens_and_the_end_of_the_text_a_sentence():
    assert decode("ab c", "0000") == [["ab", "c"]]
    assert decode("ab c", "0010") == [["ab", "c"]]  # white space itself ends nothing
    assert decode("ab c", "0000", spaces=True) == [["ab c"]]
    assert decode("ab c", "0100", spaces=True) == [["ab", "c"]]


def test_multiword_tokens_are_split_by_table_or_labels():
    table = MultiwordTable({"ac": ("a", "b", "c")})
    assert decode("b bac", "00001", "00110") == [["b", "b+a+c"]]
    assert decode("b bac", "00001", "00001") == [["b", "bac"]]  # the table does not have it
    assert decode("b ac", "0001", "0002", table=table) == [["b", "a+b+c"]]
    assert decode("ac", "11", "11") == [["a", "c"]]  # a split at a token's end splits nothing


def test_a_very_long_sentence_is_cut(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_SENTENCE", 2)
    assert decode("abc.a", "11121") == [["a", "b"], ["c", "."], ["a"]]


@given(st.integers(1, 5 * SLICE))
def test_slices_cover_a_text_once(size):
    slices = list(cut_slices(size))
    assert [low for _, _, low, _ in slices] == [0, *(high for _, _, _, high in slices[:-1])]
    assert slices[-1][3] == size
    for begin, end, low, high in slices:
        assert begin == max(0, low - MARGIN) or len(slices) == 1
        assert begin <= low < high <= end <= size and end - begin <= SLICE


def test_white_space_is_one_character_and_rare_characters_are_their_category():
    indices, offsets = encode_text("a \n\tB\u3000ω", CHARACTERS)
    symbols = [CHARACTERS.symbols[index] for index in indices]
    assert symbols == ["a", SPACE, "<unknown>", SPACE, "<Ll>"]
    assert offsets.tolist() == [0, 1, 4, 5, 6]


@pytest.mark.parametrize(
    ("text", "symbols", "offsets"),
    [
        ("e\u0301a", ["é", "a"], [0, 2]),  # a decomposed character
        ("e\u0323b", ["<Ll>", "b"], [0, 2]),  # it is not in the table
        ("q\u0301b", ["<Ll>", "b"], [0, 2]),  # there is no composed character
        ("a\xadb\u200bc", ["a", "b", "c"], [0, 2, 4]),  # a soft hyphen, a space without width
        ("a \u200b\u200bb", ["a", SPACE, "<Cf>", "b"], [0, 1, 2, 4]),
        ("’ｂ", ["'", "b"], [0, 1]),  # equivalents
        ("\u0915\u0301", ["<unknown>"], [0]),
    ],
)
def test_a_symbol_is_a_character_with_its_accents(text, symbols, offsets):
    table = build_character_table(["abcé.' ", "\u200e"], min_count=1)
    indices, found = encode_text(text, table)
    assert [table.symbols[index] for index in indices] == symbols
    assert found.tolist() == offsets


def test_the_symbols_of_a_treebank_of_decomposed_text_are_not_composed():
    table = build_character_table(["e\u0301a"], min_count=1)
    indices, _ = encode_text("e\u0301a", table)
    assert [table.symbols[index] for index in indices] == ["e", "\u0301", "a"]


@pytest.mark.parametrize("texts", [["e", "\u0301b"], ["b", "\u0301", "\xada"]])
def test_a_text_that_begins_with_an_accent_does_not_change_the_text_before(texts):
    tokenizer = make_tokenizer()
    assert tokenizer.segment(texts) == [tokenizer.segment([text])[0] for text in texts]


def test_an_accent_at_the_beginning_of_a_text_is_not_composed_with_the_text_before():
    table = build_character_table(["abcé"], min_count=1)
    indices, _ = encode_text("e\u0301\u0302b", table, [0, 2])
    assert table.symbols[indices[0]] == "é"


def test_a_text_begins_with_a_symbol_of_its_own():
    assert encode_text("ab\xadc", CHARACTERS, [0, 2])[1].tolist() == [0, 1, 2, 3]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.text("ab.' \n\té漢🙂\x00\u0301\xad\u05b8", max_size=700).map(str.strip), max_size=4
    ),
    st.booleans(),
)
def test_all_characters_except_white_space_are_in_one_token(texts, spaces):
    texts = [text for text in texts if text]
    segmenter = make_tokenizer(spaces)
    for text, sentences in zip(texts, segmenter.segment(texts), strict=True):
        tokens = [token for tokens in sentences for token in tokens]
        gaps = [*(start for start, _, _ in tokens), len(text)]
        assert gaps[0] == 0 and all(sentences)
        for (start, end, words), following in zip(tokens, gaps[1:], strict=True):
            assert start < end <= following and not text[end:following].strip()
            assert text[start:end] == text[start:end].strip()
            assert spaces or len(text[start:end].split()) == 1
            assert words is None or "".join(words) == text[start:end]
        assert segmenter.segment([text]) == [sentences]  # batching makes no difference
        assert segmenter.segment_lines([text]) == [[tokens]]


@pytest.mark.parametrize("emoji", ["👍🏽", "👨‍👩‍👧", "🇫🇷", "1️⃣"])
@pytest.mark.parametrize("labels", ["0", "1", "2", "21", "12"])
def test_no_token_ends_inside_an_emoji(emoji, labels, monkeypatch):
    """The network ends tokens and sentences, and splits words, wherever it can."""
    text = f"ab{emoji}c {emoji}. {emoji}"
    segmenter = make_tokenizer()
    best = torch.tensor([int(labels[i % len(labels)]) for i in range(1000)])

    def forward(self, characters, sizes):
        ends = torch.nn.functional.one_hot(best[: characters.shape[1]], 3).float()
        split = torch.tensor([0.0, 1.0, 0.0]).expand_as(ends)
        return ends.expand(len(characters), -1, -1), split.expand(len(characters), -1, -1)

    monkeypatch.setattr(TokenizerNetwork, "forward", forward)
    (sentences,) = segmenter.segment([text])
    tokens = [token for sentence in sentences for token in sentence]
    parts = [words or (text[start:end],) for start, end, words in tokens]
    assert sum(part.count(emoji) for words in parts for part in words) == 3
    if labels != "0":
        assert [emoji] in [list(words) for words in parts]


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
    segmenter = replace(make_tokenizer(), patterns=("email", "number", "split measure"))
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
        make_tokenizer(), characters=table, patterns=("quotation marks", "final marks", "url")
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
    segmenter = replace(make_tokenizer(), abbreviations=frozenset({"a", "b.c"}))
    texts = ["c (A. c", "b.c. a", "b. c a.", "ba. c"]
    ends = [
        [text[sentence[-1][1] - 1] for sentence in sentences]
        for text, sentences in zip(texts, segmenter.segment(texts), strict=True)
    ]
    assert ends == [[*"c(Ac"], [*"b.ca"], [*"b.ca."], [*"ba.c"]]


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
    (sentences,) = replace(make_tokenizer(), patterns=(name,)).segment([text])
    assert "".join(text[sentence[-1][1] - 1] for sentence in sentences) == ends


def test_a_sentence_ends_at_a_question_mark(monkeypatch):
    """The network ends nothing, and the pattern is used only if the tokenizer has it."""
    predict_everywhere(0, monkeypatch)
    for patterns, count in (("question marks",), 2), ((), 1):
        (sentences,) = replace(make_tokenizer(), patterns=patterns).segment(["a? B a ? b"])
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
    tokenizer, text = replace(make_tokenizer(), patterns=(name,)), "a-b a-b ab-ba 1-1"
    indices, offsets = encode_text(text, tokenizer.characters)
    ends = np.zeros(len(indices), dtype=np.int8)
    ends[[0, 2, 5, 6, 12, 15, 16]] = 1
    multiword = np.zeros_like(ends)
    multiword[5] = 1 if name == "joined hyphens" else 0  # two words, which become one
    tokenizer._repair_hyphens([(0, text)], (ends, multiword), offsets)
    (sentences,) = tokenizer.decode([text], ends, multiword, offsets)
    assert all(words is None for _, _, words in chain.from_iterable(sentences))
    assert [text[x:y] for x, y, _ in chain.from_iterable(sentences)] == tokens


@pytest.mark.parametrize("end", [0, 1])
def test_clitics_are_cut_off(end, monkeypatch):
    predict_everywhere(end, monkeypatch)
    clitics = frozenset({"-a", "-ab", "-b-a", "aa-ab", "b-e", "c-e"})
    text = "C-A cc-a cb-ab-a aa-ab CC-AB cc-a-c cc-b-a 1-a -a cc-A CC-a cb-e ca-e"
    (sentences,) = replace(make_tokenizer(), clitics=clitics).segment([text])
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
    tokenizer = replace(make_tokenizer(), clitics=frozenset({"-a"}))
    for text, number in (("ac-a", 2), ("ac‐a ac‑a", 4), ("ac-a b", 3), ("ac-a e\u0301", 2)):
        assert len(tokenizer.segment([text])[0][0]) == number


def test_a_clitic_that_is_cut_off_is_one_word(monkeypatch):
    """The network ends tokens and words after all characters."""
    predict_everywhere(1, monkeypatch)
    tokenizer = replace(make_tokenizer(), clitics=frozenset({"-ab"}))
    (tokens,) = tokenizer.segment(["ac-ab"])[0]
    assert tokens[-1] == (2, 5, None)


def test_clitics_are_not_cut_off_inside_a_token_of_a_pattern(monkeypatch):
    predict_everywhere(0, monkeypatch)
    tokenizer = replace(make_tokenizer(), clitics=frozenset({"-a"}), patterns=tuple(PATTERNS))
    tokens = ["http://abc.fr/ab-a", "ab-a@ab.fr", "ab-a.pdf", "ab", "-a"]
    text = "http://abc.fr/ab-a ab-a@ab.fr ab-a.pdf ab-a"
    (sentences,) = tokenizer.segment([text])
    assert [text[x:y] for x, y, _ in chain.from_iterable(sentences)] == tokens


def test_a_full_stop_at_the_end_of_a_sentence_is_a_token_after_words(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    tokenizer = replace(
        make_tokenizer(), abbreviated=frozenset({"abc", "aé"}), abbreviations=frozenset({"bc"})
    )
    texts = ["ab.", "Ab.", "Abc.", "Bc.", "a.", "a.bc.", "1.", "ab .", ".", "“ab.", "1°c."]
    texts += ["abe\u0301.", "ab\u200b.", "ab\u200c\u0301a.", "ae\u0301."]
    for unknown, cut in (
        (tokenizer, {0, 1, 9, 10, 11, 12, 13}),
        (replace(tokenizer, abbreviated=None), set()),
    ):
        segmented = unknown.segment(texts)
        lengths = [len(tokens) for (tokens,) in segmented]
        assert {i for i, size in enumerate(lengths) if size == 2} - {7} == cut


def test_a_sentence_ends_between_a_final_word_and_a_capital_letter(monkeypatch):
    """The network ends nothing."""
    predict_everywhere(0, monkeypatch)
    segmenter = replace(
        make_tokenizer(), final_words=frozenset({"ab", "b"}), abbreviations=frozenset({"b"})
    )
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
    segmenter = replace(
        make_tokenizer(), patterns=("missing spaces", "url"), abbreviations=frozenset({"cab"})
    )
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
    segmenter = replace(make_tokenizer(), patterns=names)
    texts = ["a (b", "A B) a", "5", ".5", "abc.", "Ab", "a", "b a"]
    assert segmenter.segment(texts) == [segmenter.segment([text])[0] for text in texts]
    assert segmenter.segment(["a (b A B) a"]) != segmenter.segment(["a (b A B a"])


def test_the_network_is_computed_in_the_precision_of_the_tokenizer():
    segmenter, dtypes = make_tokenizer(), []
    segmenter.network.ends.register_forward_hook(lambda *hook: dtypes.append(hook[-1].dtype))
    for precision in (torch.bfloat16, torch.float32):
        engine = replace(segmenter.engine, precision=precision)
        replace(segmenter, engine=engine).segment(["ab c"])
    assert dtypes == [torch.bfloat16, torch.float32]


def test_labels_of_several_texts_are_decoded_together():
    texts, ends = ["ab. c", "a", "b c\u3000a"], "01200000200"
    labels = np.array(list(map(int, ends)))
    decoded = make_tokenizer().decode(texts, labels, np.zeros_like(labels), np.arange(len(ends)))
    strings = [
        [[text[start:end] for start, end, _ in tokens] for tokens in sentences]
        for text, sentences in zip(texts, decoded, strict=True)
    ]
    assert strings == [[["ab", "."], ["c"]], [["a"]], [["b", "c"], ["a"]]]


def test_unusual_characters_and_empty_input_are_segmented():
    assert make_tokenizer().segment([]) == []
    for character in ("\ud800", "\U0010ffff"):
        assert make_tokenizer().segment([character]) == [[[(0, 1, None)]]]
