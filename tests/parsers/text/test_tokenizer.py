"""Labels of characters become tokens and sentences; no character is lost."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.parsers.text import tokenizer as module
from depkit.parsers.text.labels import Labels
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
    rows = [np.array(list(map(int, row))) for row in (ends, multiword or "0" * len(text))]
    labels = Labels([text], np.arange(len(text)), *rows)
    (sentences,) = make_tokenizer(**options).decode(labels)
    return [["+".join(words or (text[a:b],)) for a, b, words in tokens] for tokens in sentences]


def test_labels_end_tokens_and_sentences():
    assert decode("ab.c ab", "0120101") == [["ab", "."], ["c", "ab"]]


def test_white_space_ends_tokens_and_the_end_of_the_text_a_sentence():
    assert decode("ab c", "0000") == [["ab", "c"]]
    assert decode("ab c", "0010") == [["ab", "c"]]  # white space itself ends nothing
    assert decode("ab c", "0000", spaces=True) == [["ab c"]]
    assert decode("ab c", "0100", spaces=True) == [["ab", "c"]]


def test_multiword_tokens_are_split_by_table_or_labels():
    table = MultiwordTable({"ac": ("a", "b", "c")}, before=frozenset("ab"))
    assert decode("b bac", "00001", "00110", table=table) == [["b", "b+a+c"]]
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


def test_the_network_is_computed_in_the_precision_of_the_tokenizer():
    segmenter, dtypes = make_tokenizer(), []
    segmenter.network.ends.register_forward_hook(lambda *hook: dtypes.append(hook[-1].dtype))
    for precision in (torch.bfloat16, torch.float32):
        engine = replace(segmenter.engine, precision=precision)
        replace(segmenter, engine=engine).segment(["ab c"])
    assert dtypes == [torch.bfloat16, torch.float32]


def test_labels_of_several_texts_are_decoded_together():
    texts, ends = ["ab. c", "a", "b c\u3000a"], "01200000200"
    row = np.array(list(map(int, ends)))
    labels = Labels(texts, np.arange(len(ends)), row, np.zeros_like(row))
    decoded = make_tokenizer().decode(labels)
    strings = [
        [[text[start:end] for start, end, _ in tokens] for tokens in sentences]
        for text, sentences in zip(texts, decoded, strict=True)
    ]
    assert strings == [[["ab", "."], ["c"]], [["a"]], [["b", "c"], ["a"]]]


def test_unusual_characters_and_empty_input_are_segmented():
    assert make_tokenizer().segment([]) == []
    for character in ("\ud800", "\U0010ffff"):
        assert make_tokenizer().segment([character]) == [[[(0, 1, None)]]]


def test_a_very_long_sentence_is_split_by_its_words():
    tokens = [(0, 1, ("a",) * 100)] * 25
    assert list(module._split_sentence(tokens, 0, 25)) == [10, 20, 25]
    assert list(module._split_sentence([(0, 1, None)] * 2500, 0, 2500)) == [1000, 2000, 2500]
    assert list(
        module._split_sentence([(0, 1, ("a",) * (module.LONGEST_SENTENCE + 1))] * 2, 0, 2)
    ) == [1, 2]
