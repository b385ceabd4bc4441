"""Checks of a tokenizer.json before the library tokenizers reads it.

The library is written in Rust: what it does not expect ends in a panic or ends the process, and a
file of a few lines can make it fill the memory. So what can lengthen a text is bounded here.
"""

import base64
import json
import re
from typing import Any

_MAX_GROWTH = 256  # how many times as long a text may become; NFKC and byte pairs reach 72
_MAX_ADDED = 1000  # characters that all prepended texts have together
# How many times as long a text becomes at most. NFKD writes one character as 18, UTF-8 has 4 bytes.
_GROWTH = {
    "NFC": 3, "NFD": 4, "NFKC": 18, "NFKD": 18, "Lowercase": 3, "BertNormalizer": 6, "Nmt": 1,
    "Strip": 1, "StripAccents": 1, "ByteLevel": 5, "Metaspace": 2, "Whitespace": 1,
    "WhitespaceSplit": 1, "BertPreTokenizer": 1, "Punctuation": 1, "Digits": 1,
    "UnicodeScripts": 1, "CharDelimiterSplit": 1, "Split": 1, "FixedLength": 1,
}  # fmt: skip
_IDEMPOTENT = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "BertNormalizer"}
# A group with a repetition in it that is repeated itself, which can take exponential time.
_NESTED = re.compile(r"[+*}][^()]{0,99}\)[+*{]")


def check_tokenizer(text: str) -> str:
    """Return the text of a tokenizer.json without truncation and padding.

    Raises ValueError if the text is not a tokenizer that can be read safely, and RecursionError.
    """
    content = json.loads(text)
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ValueError("it has no model")
    steps = [*_steps(content.get("normalizer")), *_steps(content.get("pre_tokenizer"))]
    growth, added, seen = 1.0, 0, set[str]()
    for step in steps:
        kind = step.get("type")
        if kind not in seen or kind not in _IDEMPOTENT:
            growth *= _growth(step)
        seen.add(str(kind))
        if kind == "Prepend":
            added += len(str(step.get("prepend")))
        if growth > _MAX_GROWTH or added > _MAX_ADDED:
            raise ValueError("its normalizer or pre_tokenizer makes texts far too long")
    _check_model(content["model"])
    _check_template(content.get("post_processor"))
    if content.get("truncation") is None and content.get("padding") is None:
        return text
    return json.dumps(content | {"truncation": None, "padding": None}, ensure_ascii=False)


def _steps(node: Any) -> list[dict]:
    """Return the steps of a normalizer or pre-tokenizer, in order."""
    if node is None:
        return []
    if not isinstance(node, dict):
        raise ValueError("a normalizer or pre_tokenizer is not a table")
    if node.get("type") != "Sequence":
        return [node]
    children = node.get("normalizers") or node.get("pretokenizers") or []
    return [step for child in children for step in _steps(child)]


def _growth(step: dict) -> float:
    kind = step.get("type")
    pattern = step.get("pattern")
    if isinstance(pattern, dict) and _NESTED.search(str(pattern.get("Regex", ""))):
        raise ValueError("a pattern has nested repetitions, which can take exponential time")
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


def _check_template(node: Any) -> None:
    """Raise ValueError if a template names a special token that it does not define."""
    if not isinstance(node, dict):
        return
    for child in node.get("processors") or []:
        _check_template(child)
    if node.get("type") != "TemplateProcessing":
        return
    defined = node.get("special_tokens") or {}
    for name in ("single", "pair"):
        for piece in node.get(name) or []:
            special = piece.get("SpecialToken") if isinstance(piece, dict) else None
            if special is not None and special.get("id") not in defined:
                raise ValueError(f"its template names the undefined token {special.get('id')!r}")
