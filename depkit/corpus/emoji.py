"""Search for emoji that are sequences of characters: flags, keycaps, skin tones, families.

The pattern follows Unicode Technical Standard #51, section 1.4, and so it also matches well-formed
sequences that are not in use.
"""

import re
from collections.abc import Iterator

_BASE = "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
# Variation selectors, skin tones, and the tag characters in flags of regions
_MODIFIER = "[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
_JOINED = f"\u200d{_BASE}{_MODIFIER}*"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
_KEYCAP = "[0-9#*]\ufe0f?\u20e3"
EMOJI = f"(?:{_FLAG}|{_KEYCAP}|{_BASE}(?:{_MODIFIER}+(?:{_JOINED})*|(?:{_JOINED})+))"

_PATTERN = re.compile(EMOJI)
# Every emoji of several characters contains one of these characters, and searching for them is
# faster than searching for EMOJI. Most texts contain none of them.
_TYPICAL = re.compile(
    "[\u200d\u20e3\ufe0e\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e007f]"
)


def emoji_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of every emoji that consists of several characters."""
    if not text.isascii() and _TYPICAL.search(text):
        for match in _PATTERN.finditer(text):
            yield match.span()
