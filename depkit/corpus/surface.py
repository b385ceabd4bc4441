"""The tokens of a sentence's text, including multiword tokens, and the white space around them.

White space other than one space is encoded in MISC as by UDPipe (Straka 2018): SpaceAfter=No if
there is none, else SpacesBefore, SpacesAfter and SpacesInToken with escapes. Control characters
count as white space and are escaped as in Python's string literals.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from depkit.files.errors import FormatError

if TYPE_CHECKING:
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


def surface_tokens(sentence: "Sentence") -> list[SurfaceToken]:
    """Return the tokens of a sentence; without MISC, its words with a space after each."""
    if "misc" not in sentence.format.columns:
        return [SurfaceToken(form, i, i) for i, form in enumerate(sentence.form)]
    misc = sentence.format.index("misc")
    tokens: list[SurfaceToken] = []
    covered = word = 0  # the last word of the latest range; the last word so far
    for line in sentence.lines[sentence.first_row : sentence.rows[-1] + 1]:
        cells = line.rstrip("\r\n").split("\t")
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


def text_with_offsets(sentence: "Sentence") -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a sentence, and the offsets (start, end) of each word in it.

    The text is that of the comment `# text`; without this comment, it is made from the tokens and
    the spaces after them. Offsets count characters (Unicode code points) from 0, and `end` is that
    after the last character. White space in the text may differ from that of the tokens.

    If the concatenated forms of the words of a multiword token are its text, each word has the
    offsets of its form. Otherwise all of them have the offsets of the token.

    Raises FormatError if the text has other characters than the tokens, and the `problem` of a
    broken sentence.
    """
    if sentence.problem:
        raise sentence.problem
    tokens = surface_tokens(sentence)
    text = sentence.text
    if not text:
        parts = [part for token in tokens for part in (token.before, token.text, token.after)]
        text = "".join(parts[1:-1])
    positions = [i for i, character in enumerate(text) if _is_visible(character)]
    visible = "".join(text[i] for i in positions)
    offsets: list[tuple[int, int]] = []
    count = 0  # of the visible characters so far
    for token in tokens:
        forms = sentence.form[token.first : token.last + 1]
        for number, form in word_texts(token, forms):
            own = "".join(filter(_is_visible, form))
            if not visible.startswith(own, count):
                message = f"the comment # text does not continue with {form[:40]!r}"
                raise FormatError(*sentence.location(token.first), message)
            before = positions[count - 1] + 1 if count else 0
            count += len(own)
            span = (positions[count - len(own)], positions[count - 1] + 1) if own else (before,) * 2
            offsets += [span] * number
    if count < len(visible):
        rest = text[positions[count] :][:40]
        message = f"the comment # text continues with {rest!r} after the last word"
        raise FormatError(*sentence.location(len(sentence) - 1), message)
    return text, offsets


def _is_visible(character: str) -> bool:
    return not (character.isspace() or character in CONTROLS)


def word_texts(token: SurfaceToken, forms: Sequence[str]) -> list[tuple[int, str]]:
    """Divide the text of a token: each part with the number of words that it stands for.

    If the concatenated forms of several words are the text, each word has its own part; otherwise
    the whole text stands for all of them. forms: those of the words of the token.
    """
    if len(forms) > 1 and "".join(forms) == token.text:
        return [(1, form) for form in forms]
    return [(len(forms), token.text)]


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
