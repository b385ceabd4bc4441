"""The tokens of a sentence as they stand in a text: multiword tokens whole, and white space.

White space other than one space stands in MISC in the way of UDPipe (Straka 2018):
SpaceAfter=No for none, else SpacesBefore, SpacesAfter and SpacesInToken with escapes. Control
characters count as white space, and are escaped as in Python's string literals.
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
_TRANSLATED = str.maketrans(_ESCAPES)
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|.)")


@dataclass(frozen=True, slots=True)
class SurfaceToken:
    """A word, or several that are one token of the text.

    text: as it stands there; first, last: its words, 0-based; before, after: the white space
    around it.
    """

    text: str
    first: int
    last: int
    before: str = ""
    after: str = " "


def surface_tokens(sentence: Sentence) -> list[SurfaceToken]:
    """The tokens of a sentence; where the format has no MISC, words with a space between."""
    if "misc" not in sentence.format.columns:
        return [SurfaceToken(form, i, i) for i, form in enumerate(sentence.form)]
    misc = sentence.format.index("misc")
    tokens: list[SurfaceToken] = []
    covered = word = 0
    for row in range(_first_row(sentence), sentence.rows[-1] + 1):
        cells = sentence.lines[row].rstrip("\r\n").split("\t")
        first, span, last = cells[0].partition("-")
        if "." in first:
            continue  # an empty node
        if span:
            covered = int(last)
            tokens.append(_token(cells[1], int(first) - 1, covered - 1, cells[misc]))
            continue
        word += 1
        if word > covered:
            tokens.append(_token(cells[1], word - 1, word - 1, cells[misc]))
    return tokens


def _first_row(sentence: Sentence) -> int:
    """Where the rows begin: a range or an empty node can stand before the first word."""
    row = sentence.rows[0]
    while row and sentence.lines[row - 1][:1].isdigit():
        row -= 1
    return row


def _token(form: str, first: int, last: int, misc: str) -> SurfaceToken:
    if "Space" not in misc:
        return SurfaceToken(form, first, last)
    given = dict(part.partition("=")[::2] for part in misc.split("|"))
    after = "" if given.get("SpaceAfter") == "No" else given.get("SpacesAfter", "\\s")
    return SurfaceToken(
        unescaped(given.get("SpacesInToken", "")) or form, first, last,
        unescaped(given.get("SpacesBefore", "")), unescaped(after),
    )  # fmt: skip


def space_features(before: str, after: str, text: str, form: str) -> str:
    """The MISC column of a token: white space before and after, and the text if not its form."""
    parts = []
    if before:
        parts.append(f"SpacesBefore={escaped(before)}")
    if not after:
        parts.append("SpaceAfter=No")
    elif after != " ":
        parts.append(f"SpacesAfter={escaped(after)}")
    if text != form:
        parts.append(f"SpacesInToken={escaped(text)}")
    return "|".join(parts) or "_"


def escaped(text: str) -> str:
    """A text as a value in MISC."""
    return text.translate(_TRANSLATED)


def unescaped(value: str) -> str:
    """The text of a value in MISC."""
    return _ESCAPE.sub(lambda match: _UNESCAPES.get(match[0], match[0]), value)
