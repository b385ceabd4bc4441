"""A tokenizer.json is checked before the library tokenizers reads it."""

import base64
import json

import pytest

from depkit.parsers.inputs.tokenizer_json import check_tokenizer

MODEL = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}


STRIP = {"type": "Strip"}
CLS, TEXT = {"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}


def charsmap(replacement):
    """Return a charsmap of SentencePiece with one replacement, which no character has."""
    trie = bytes(4)
    data = len(trie).to_bytes(4, "little") + trie + replacement.encode() + b"\0"
    return base64.b64encode(data).decode()


def template(single, ids=1, name="[CLS]"):
    special = {name: {"id": name, "ids": [1] * ids, "tokens": [name] * ids}}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": [REPLACE] * 20}}, "far too long"),
        ({"normalizer": REPLACE | {"content": "b" * 1000}}, "far too long"),
        ({"normalizer": REPLACE | {"pattern": {"Regex": "x*"}, "content": "b" * 300}}, "too long"),
        ({"normalizer": {"type": "Prepend", "prepend": "b" * 10_000}}, "far too long"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}, "damaged"),
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap("x" * 999)}},
            "far too long",
        ),
        ({"normalizer": {"type": "Other"}}, "knows no normalizer"),
        ({"pre_tokenizer": split("(a+)+b")}, "nested repetitions"),
        ({"pre_tokenizer": split(r"\w*\w*\w*\w*(?<=!)")}, "repetitions in a row"),
        ({"normalizer": REPLACE | {"pattern": {"Regex": "a|" * 5000}}}, "5,000 characters"),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "is 0"),
        ({"normalizer": {"type": "Sequence", "normalizers": [STRIP] * 101}}, "100 steps"),
        ({"decoder": {"type": "Sequence", "decoders": [STRIP] * 101}}, "100 steps"),
        ({"post_processor": {"type": "Sequence", "processors": [STRIP] * 101}}, "100 steps"),
        # A pre-tokenizer's steps are its pretokenizers; the library ignores other entries.
        (
            {
                "pre_tokenizer": {
                    "type": "Sequence",
                    "normalizers": [STRIP],
                    "pretokenizers": [split("(a+)+")],
                }
            },
            "nested repetitions",
        ),
        ({"post_processor": template([CLS] * 20 + [TEXT], ids=10)}, "100 special pieces"),
        ({"post_processor": template([CLS] * 10**5 + [TEXT])}, "100 special pieces"),
        ({"post_processor": template([TEXT, TEXT])}, "the text once"),
        ({"post_processor": template([CLS])}, "the text once"),
        ({"post_processor": template([{"Sequence": {"id": "B"}}])}, "the text once"),
        ({"post_processor": template([CLS, TEXT], name="[SEP]")}, "undefined token"),
        ({"added_tokens": [{"content": "x" * 2**21}]}, "added tokens"),
        ({"added_tokens": [{"content": "x"}] * 100_000}, "added tokens"),
        ({"model": MODEL | {"max_input_chars_per_word": 10**9}}, "max_input_chars_per_word"),
        ({"model": MODEL | {"continuing_subword_prefix": "#" * 10**6}}, "prefix or suffix"),
        ({"model": {"type": "BPE", "vocab": {}, "end_of_word_suffix": "#" * 99}}, "prefix or suff"),
        ({"model": MODEL | {"unk_token": "[X]"}}, "unknown piece"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": None}}, "unknown piece"),
        ({"model": None}, "no model"),
    ],
)
def test_what_would_fill_the_memory_or_panic_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        check_tokenizer(json.dumps({"model": MODEL} | settings))


def test_truncation_padding_and_dropout_are_removed():
    padding = {"strategy": {"Fixed": 10**15}, "pad_to_multiple_of": 10**12}
    model = {"type": "BPE", "vocab": {}, "dropout": 0.5}
    text = json.dumps({"model": model, "padding": padding, "truncation": {"max_length": 1}})
    assert json.loads(check_tokenizer(text)) == {
        "model": model | {"dropout": None}, "padding": None, "truncation": None,
    }  # fmt: skip


def test_of_two_entries_with_the_same_key_only_the_one_that_is_checked_remains():
    model = json.dumps(MODEL)
    text = f'{{"normalizer": {json.dumps(REPLACE)}, "normalizer": null, "model": {model}}}'
    assert json.loads(check_tokenizer(text))["normalizer"] is None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "x"}},
        {"normalizer": {"type": "Prepend", "prepend": "x"}},
        {"post_processor": template([CLS, TEXT, CLS])},
        # As of ALBERT, whose charsmap has 18 characters for one, as NFKD has.
        {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
                    {"type": "NFKD"},
                    {"type": "StripAccents"},
                    {"type": "Lowercase"},
                    {"type": "Precompiled", "precompiled_charsmap": charsmap("x" * 18)},
                ],
            },
            "pre_tokenizer": {"type": "Metaspace"},
        },
        # As of GPT-4.
        {
            "pre_tokenizer": split(
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
                r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
            )
        },
        # As of GPT-4o.
        {
            "pre_tokenizer": split(
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+"
            )
        },
        {"pre_tokenizer": split(r"'s|[^\r\n\p{L}\p{N}]?\p{L}+(?i:'s|'t)?|\s+(?!\S)|\s+")},
    ],
)
def test_ordinary_tokenizers_are_unchanged(settings):
    text = json.dumps({"model": MODEL} | settings)
    assert check_tokenizer(text) is text
