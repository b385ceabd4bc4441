"""A tokenizer.json is checked before the library tokenizers reads it."""

import json

import pytest

from depkit.parsers.inputs.tokenizer_json import check_tokenizer

MODEL = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": [REPLACE] * 20}}, "far too long"),
        ({"normalizer": REPLACE | {"content": "b" * 1000}}, "far too long"),
        ({"normalizer": REPLACE | {"pattern": {"Regex": "x*"}, "content": "b" * 300}}, "too long"),
        ({"normalizer": {"type": "Prepend", "prepend": "b" * 10_000}}, "far too long"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}, "damaged"),
        ({"normalizer": {"type": "Other"}}, "knows no normalizer"),
        ({"pre_tokenizer": split("(a+)+b")}, "nested repetitions"),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "is 0"),
        ({"model": MODEL | {"unk_token": "[X]"}}, "unknown piece"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": None}}, "unknown piece"),
        ({"model": None}, "no model"),
    ],
)
def test_what_would_fill_the_memory_or_panic_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        check_tokenizer(json.dumps({"model": MODEL} | settings))


def test_truncation_and_padding_are_removed():
    padding = {"strategy": {"Fixed": 10**15}, "pad_to_multiple_of": 10**12}
    text = json.dumps({"model": MODEL, "padding": padding, "truncation": {"max_length": 1}})
    content = json.loads(check_tokenizer(text))
    assert content == {"model": MODEL, "padding": None, "truncation": None}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "x"}},
        {"normalizer": {"type": "Prepend", "prepend": "x"}},
        {"pre_tokenizer": split(r"'s|[^\r\n\p{L}\p{N}]?\p{L}+(?i:'s|'t)?|\s+(?!\S)|\s+")},
    ],
)
def test_ordinary_tokenizers_are_unchanged(settings):
    text = json.dumps({"model": MODEL} | settings)
    assert check_tokenizer(text) is text
