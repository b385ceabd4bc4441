"""Emoji that are sequences of characters: flags, keycaps, skin tones, families.

The pattern follows Unicode Technical Standard #51, section 1.4, and so it also matches well-formed
sequences that are not in use.
"""

import re
from collections.abc import Iterator

_BASE = "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
# Variation selectors, skin tones, and the tags of flags of regions
_MODIFIER = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
_JOINED = f"\u200d{_BASE}{_MODIFIER}*"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
EMOJI = f"(?:{_FLAG}|{_KEYCAP}|{_BASE}(?:{_MODIFIER}+(?:{_JOINED})*|(?:{_JOINED})+))"

_FIND = re.compile(EMOJI)
# Every emoji of several characters contains one of these. Most texts contain none of them, which is
# faster to find out than that EMOJI does not match.
_SIGN = re.compile("[\u200d\u20e3\ufe0e\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e007f]")


def emoji_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each emoji of several characters."""
    if not text.isascii() and _SIGN.search(text):
        for match in _FIND.finditer(text):
            yield match.span()
