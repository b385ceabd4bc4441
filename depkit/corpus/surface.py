"""The tokens of a sentence's text, including multiword tokens, and the white space around them.

White space other than one space is encoded in MISC as by UDPipe (Straka 2018): SpaceAfter=No if
there is none, else SpacesBefore, SpacesAfter and SpacesInToken with escapes. Control characters
count as white space and are escaped as in Python's string literals.
"""

import re
from dataclasses import dataclass

from depkit.corpus.sentence import Sentence

CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
_ESCAPED = CONTROLS + "\u2028\u2029"
_ESCAPES = {character: character.encode("unicode_escape").decode() for character in _ESCAPED} | {
    " ": "\\s",
    "|": "\\p",
    "\\": "\\\\",
}
_TRANSLATION = str.maketrans(_ESCAPES)
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|.)")


@dataclass(frozen=True, slots=True)
class SurfaceToken:
    """A token of the text, which consists of one or several words."""

    text: str
    first: int  # the 0-based index of its first word
    last: int  # the index of its last word
    before: str = ""  # the white space before it
    after: str = " "  # the white space after it


def surface_tokens(sentence: Sentence) -> list[SurfaceToken]:
    """Return the tokens of a sentence; without MISC, its words with a space after each."""
    if "misc" not in sentence.format.columns:
        return [SurfaceToken(form, i, i) for i, form in enumerate(sentence.form)]
    misc = sentence.format.index("misc")
    tokens: list[SurfaceToken] = []
    covered = word = 0  # the last word of the latest range; the last word so far
    for row in range(_first_row(sentence), sentence.rows[-1] + 1):
        cells = sentence.lines[row].rstrip("\r\n").split("\t")
        first, dash, last = cells[0].partition("-")
        if "." in first:
            continue  # an empty node
        if dash:
            covered = int(last)
            tokens.append(_make_token(cells[1], int(first) - 1, covered - 1, cells[misc]))
            continue
        word += 1
        if word > covered:
            tokens.append(_make_token(cells[1], word - 1, word - 1, cells[misc]))
    return tokens


def _first_row(sentence: Sentence) -> int:
    """Return the index of the first row, which may be a range or an empty node."""
    row = sentence.rows[0]
    while row and sentence.lines[row - 1][:1].isdigit():
        row -= 1
    return row


def _make_token(form: str, first: int, last: int, misc: str) -> SurfaceToken:
    if "Space" not in misc:
        return SurfaceToken(form, first, last)
    values = dict(part.partition("=")[::2] for part in misc.split("|"))
    after = "" if values.get("SpaceAfter") == "No" else values.get("SpacesAfter", "\\s")
    return SurfaceToken(
        unescape(values.get("SpacesInToken", "")) or form, first, last,
        unescape(values.get("SpacesBefore", "")), unescape(after),
    )  # fmt: skip


def encode_spaces(before: str, after: str, text: str, form: str) -> str:
    """Encode the white space of a token as a value of MISC.

    Args:
        before: The white space before the token.
        after: The white space after it.
        text: The token as in the text, with any white space.
        form: The form of the token, with only single spaces.
    """
    parts = []
    if before:
        parts.append(f"SpacesBefore={escape(before)}")
    if not after:
        parts.append("SpaceAfter=No")
    elif after != " ":
        parts.append(f"SpacesAfter={escape(after)}")
    if text != form:
        parts.append(f"SpacesInToken={escape(text)}")
    return "|".join(parts) or "_"


def escape(text: str) -> str:
    """Escape a text as a value in MISC."""
    return text.translate(_TRANSLATION)


def unescape(value: str) -> str:
    """Return the text of an escaped value in MISC."""
    return _ESCAPE.sub(lambda match: _UNESCAPES.get(match[0], match[0]), value)
