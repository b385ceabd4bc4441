"""Texts that wait at the same time are segmented in one call, with the result of single calls."""

import pytest

from depkit.corpus.text import read_text, split_by_rule
from depkit.serving import shared_tokenizer
from depkit.serving.shared_tokenizer import SharedTokenizer

TEXTS = ["A b.\n\nC", "", " \n", "D e\n\n\nf \n\n g\n", "A b.\n\nC", "\n\nh", "x\x00y \u2028 z"]


class Segmenter:
    """Splits by a rule, and fails for the paragraph "bad"."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def __call__(self, texts):
        self.calls.append(texts)
        if "bad" in texts:
            raise MemoryError("bad")
        return split_by_rule(texts)


def read(text, segment) -> list[str]:
    return [str(sentence) for sentence in read_text([text], segment, by_block=True)]


def test_waiting_texts_are_segmented_together():
    segment = Segmenter()
    tokenizer = SharedTokenizer(segment)
    segmenters = [tokenizer.make_segmenter(text) for text in TEXTS]
    results = [read(text, each) for text, each in zip(TEXTS, segmenters, strict=True)]
    assert len(segment.calls) == 1
    assert sorted(segment.calls[0]) == sorted(
        ["A b.", "C", "D e", "f", "g", "A b.", "C", "h", "x y \u2028 z"]
    )
    assert results == [read(text, split_by_rule) for text in TEXTS]


def test_a_text_that_is_given_up_is_not_segmented():
    segment = Segmenter()
    tokenizer = SharedTokenizer(segment)
    given_up = tokenizer.make_segmenter("a")
    kept = tokenizer.make_segmenter("b")
    del given_up
    read("b", kept)
    assert segment.calls == [["b"]]


def test_a_text_that_fails_does_not_fail_the_others():
    segment = Segmenter()
    tokenizer = SharedTokenizer(segment)
    good, bad = tokenizer.make_segmenter("good"), tokenizer.make_segmenter("bad")
    assert read("good", good) == read("good", split_by_rule)
    with pytest.raises(MemoryError):
        read("bad", bad)
    assert segment.calls[-2:] == [["good"], ["bad"]]


def test_a_long_text_is_segmented_alone(monkeypatch):
    monkeypatch.setattr(shared_tokenizer, "MAX_SHARED", 3)
    segment = Segmenter()
    tokenizer = SharedTokenizer(segment)
    long, short = tokenizer.make_segmenter("abcd"), tokenizer.make_segmenter("abc")
    assert read("abcd", long) == read("abcd", split_by_rule)
    assert read("abc", short) == read("abc", split_by_rule)
    assert segment.calls == [["abcd"], ["abc"]]
