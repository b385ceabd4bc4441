"""Checks of a tokenizer.json before the library tokenizers reads it.

The library is written in Rust: what it does not expect ends in a panic or ends the process, and a
file of a few lines can make it fill the memory. So what can lengthen a text, or take more than
linear time, is bounded here. The bounds are far above what models need.
"""

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

_MAX_GROWTH = 100  # how many times as long a text may become; NFKC and bytes as letters reach 90
_MAX_STEPS = 100  # normalizers, pre-tokenizers, post-processors and decoders together
_MAX_ADDED = 16  # characters that all prepended texts, or the affixes of pieces, have together
_MAX_ADDED_TOKENS, _MAX_TOKEN_CHARACTERS = 1 << 16, 1 << 20
_MAX_WORD = 1000  # characters of a word that WordPiece splits, in cubic time
_MAX_SPECIAL = 100  # special pieces of a template
_MAX_PATTERN = 5000  # characters
_MAX_REPETITIONS = 3  # in one alternative of a pattern
# How many times as long a text becomes at most. NFKD writes one character as 18, UTF-8 has 4 bytes.
_GROWTH = {
    "NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 3, "BertNormalizer": 6, "Nmt": 1,
    "Strip": 1, "StripAccents": 1, "ByteLevel": 5, "Metaspace": 2, "Whitespace": 1,
    "WhitespaceSplit": 1, "BertPreTokenizer": 1, "Punctuation": 1, "Digits": 1,
    "UnicodeScripts": 1, "CharDelimiterSplit": 1, "Split": 1, "FixedLength": 1,
}  # fmt: skip
# What one of these has lengthened, the others do not lengthen again.
_UNICODE = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "BertNormalizer", "Precompiled"}
# A group with a repetition in it that is repeated itself, which can take exponential time.
_NESTED = re.compile(r"[+*}][^()]{0,99}\)[+*{]")
_ESCAPE_OR_CLASS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]?", re.DOTALL)
_REPETITION = re.compile(r"[+*]\+?|\{\d*,\d*\}")


def check_tokenizer(text: str) -> str:
    """Return the text of a tokenizer.json without truncation, padding and dropout.

    Raises ValueError if the text is not a tokenizer that can be read safely, and RecursionError.
    """
    is_unchanged = True

    def make_table(pairs: Sequence[tuple[str, Any]]) -> dict:
        nonlocal is_unchanged
        table = dict(pairs)
        # Of two entries with the same key, the library could read another one than is checked here.
        is_unchanged = is_unchanged and len(table) == len(pairs)
        return table

    content = json.loads(text, object_pairs_hook=make_table)
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ValueError("it has no model")
    steps = [*_steps(content.get("normalizer")), *_steps(content.get("pre_tokenizer"))]
    processors = _steps(content.get("post_processor"))
    if len(steps) + len(processors) + len(_steps(content.get("decoder"))) > _MAX_STEPS:
        raise ValueError(f"it has more than {_MAX_STEPS} steps")
    _check_growth(steps)
    _check_model(content["model"])
    for processor in processors:
        if processor.get("type") == "TemplateProcessing":
            _check_template(processor)
    _check_added_tokens(content.get("added_tokens") or [])
    for table, name in (content, "truncation"), (content, "padding"), (content["model"], "dropout"):
        is_unchanged = is_unchanged and table.get(name) is None
        table[name] = None
    return text if is_unchanged else json.dumps(content, ensure_ascii=False)


def _steps(node: Any) -> list[dict]:
    """Return the steps of a normalizer, pre-tokenizer, post-processor or decoder, in order."""
    if node is None:
        return []
    if not isinstance(node, dict):
        raise ValueError("one of its steps is not a table")
    if node.get("type") != "Sequence":
        return [node]
    names = ("normalizers", "pretokenizers", "processors", "decoders")
    return [step for name in names for child in node.get(name) or [] for step in _steps(child)]


def _check_growth(steps: Sequence[dict]) -> None:
    """Raise ValueError if normalizers and pre-tokenizers could make a text far too long."""
    unicode_growth, growth, added = 1.0, 1.0, 0
    for index, step in enumerate(steps):
        kind = step.get("type")
        is_second = any(other.get("type") == kind for other in steps[:index])
        if kind in _UNICODE and not (kind == "Precompiled" and is_second):
            unicode_growth = max(unicode_growth, _growth(step))
        else:
            growth *= _growth(step)
        if kind == "Prepend":
            added += len(str(step.get("prepend")))
    if unicode_growth * growth > _MAX_GROWTH or added > _MAX_ADDED:
        raise ValueError("its normalizer or pre_tokenizer makes texts far too long")


def _check_pattern(pattern: str) -> None:
    """Raise ValueError for a regular expression that can take exponential time, or nearly so."""
    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"a pattern has more than {_MAX_PATTERN:,} characters")
    if _NESTED.search(pattern):
        raise ValueError("a pattern has nested repetitions, which can take exponential time")
    alternatives = _ESCAPE_OR_CLASS.sub("x", pattern).split("|")
    if any(len(_REPETITION.findall(text)) > _MAX_REPETITIONS for text in alternatives):
        raise ValueError(f"a pattern has more than {_MAX_REPETITIONS} repetitions in a row")


def _growth(step: dict) -> float:
    kind = step.get("type")
    pattern = step.get("pattern")
    if isinstance(pattern, dict):
        _check_pattern(str(pattern.get("Regex", "")))
    if kind == "Replace":
        return _replacement_growth(pattern, str(step.get("content")))
    if kind == "Precompiled":
        return _precompiled_growth(step.get("precompiled_charsmap"))
    if kind == "FixedLength" and not step.get("length"):
        raise ValueError("the length of FixedLength is 0")
    if kind == "Prepend":
        return 1
    if kind not in _GROWTH:
        raise ValueError(f"depkit knows no normalizer or pre_tokenizer {str(kind)[:40]!r}")
    return _GROWTH[kind]


def _replacement_growth(pattern: Any, content: str) -> float:
    """Return how many times as long a text becomes if each match is replaced by the content."""
    shortest = 0
    if isinstance(pattern, dict) and "String" in pattern:
        shortest = len(str(pattern["String"]))
    elif isinstance(pattern, dict):
        try:
            shortest = re._parser.parse(str(pattern.get("Regex"))).getwidth()[0]  # type: ignore[attr-defined]
        except (re.error, RecursionError, OverflowError):
            shortest = 0  # A pattern that Python does not know may match nothing.
    return max(1.0, len(content) / shortest if shortest else 1 + len(content))


def _precompiled_growth(charsmap: Any) -> float:
    """Return the length of the longest replacement of a SentencePiece charsmap."""
    if not charsmap:
        return 1
    data = base64.b64decode(charsmap, validate=True)
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or not 0 < size <= len(data) - 4 or size % 4:
        raise ValueError("its precompiled_charsmap is damaged")
    replacements = data[4 + size :].decode().split("\0")
    return max(1, *map(len, replacements))


def _check_model(model: dict) -> None:
    """Raise ValueError if the model lacks the piece for unknown text, or has wrong prefixes."""
    kind, vocab, unknown = model.get("type"), model.get("vocab"), model.get("unk_token")
    affixes = (model.get("continuing_subword_prefix"), model.get("end_of_word_suffix"))
    if sum(len(affix or "") for affix in affixes) > _MAX_ADDED:
        raise ValueError("the prefix or suffix of its pieces is far too long")
    if (model.get("max_input_chars_per_word") or 0) > _MAX_WORD:
        raise ValueError(f"its max_input_chars_per_word is more than {_MAX_WORD:,}")
    if kind == "Unigram":
        if model.get("unk_id") is None and not model.get("byte_fallback"):
            raise ValueError("it has no unknown piece (unk_id)")
        return
    if not isinstance(vocab, dict):
        raise ValueError("its model has no vocab")
    needs_unknown = kind in ("WordPiece", "WordLevel") or unknown is not None
    if needs_unknown and unknown not in vocab:
        raise ValueError(f"its unknown piece {str(unknown)[:40]!r} is not in its vocab")
    prefix = model.get("continuing_subword_prefix") or ""
    if kind == "BPE" and prefix:
        pairs = (
            pair if isinstance(pair, list) else str(pair).split(" ")
            for pair in model.get("merges", [])
        )  # fmt: skip
        if any(len(pair) != 2 or not str(pair[1]).startswith(prefix) for pair in pairs):
            raise ValueError("a merge does not have its continuing_subword_prefix")


def _check_template(template: dict) -> None:
    """Raise ValueError if a template does not have one text and a few defined special tokens."""
    defined = template.get("special_tokens") or {}
    for name in ("single", "pair"):
        size = 0
        for piece in template.get(name) or []:
            special = piece.get("SpecialToken")
            if special is not None and special.get("id") not in defined:
                raise ValueError(f"its template names the undefined token {special.get('id')!r}")
            size += len(defined[special["id"]]["ids"]) if special is not None else 1
        if size > _MAX_SPECIAL:
            raise ValueError(f"its template adds more than {_MAX_SPECIAL} special pieces")
    texts = [piece["Sequence"].get("id") for piece in template["single"] if "Sequence" in piece]
    if texts != ["A"]:
        raise ValueError("its template does not have the text once")


def _check_added_tokens(tokens: Sequence[dict]) -> None:
    """Raise ValueError if the added tokens, which the library searches in all texts, are many."""
    size = sum(len(token["content"]) for token in tokens)
    if len(tokens) > _MAX_ADDED_TOKENS or size > _MAX_TOKEN_CHARACTERS:
        raise ValueError(f"it has {len(tokens):,} added tokens of {size:,} characters")
