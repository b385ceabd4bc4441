"""Characters that mean the same in text, such as typographic and straight apostrophes.

A model reads a character that its treebank does not have as one with the same meaning that it has.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache

# Characters of a group can stand for each other; those that come first are preferred.
_GROUPS = (
    "'’ʼ‘′´`׳＇",
    '"“”„«»‟″״‹›',
    "-–—‐‑−―\u05be",  # the last one is the Hebrew maqaf
    "șş", "ȘŞ", "țţ", "ȚŢ",  # Romanian letters with comma below, and with cedilla
    "یيى", "کك", "هۀ",  # Persian letters, and Arabic and other ones in old files
    ".。｡।۔٫", "?？؟", "!！", "、､,，،٬", ";；؛", "・･·ㆍ", "%٪", "&⁊",  # punctuation marks
)  # fmt: skip
# Accents of Latin and similar letters, Hebrew and Arabic marks, parts of Korean syllables, and the
# marks of voiced Japanese syllables
_ACCENTS = (
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1160-\u11ff\u3099\u309a]"
)
_ACCENT = re.compile(_ACCENTS)
# A character and its accents, or the vowel and the final consonant of a Korean syllable. The number
# is limited because the time to compose them is quadratic in it.
_SEQUENCE = re.compile(f".{_ACCENTS}{{1,8}}", re.DOTALL)
_KASHIDA = "\u0640"  # makes Arabic and Persian words longer on paper
# Kinds of compatibility decomposition that keep the meaning. The others are superscripts, fractions
# and the like.
_SAME_MEANING = {"<wide>", "<narrow>", "<compat>", "<isolated>", "<initial>", "<medial>", "<final>"}
# Consonants with a dot in old Irish texts, which are followed by `h` instead today
_DOTTED = dict(zip("ḃċḋḟġṁṗṡṫḂĊḊḞĠṀṖṠṪ", "bcdfgmpstBCDFGMPST", strict=True))
_GROUP_BY_MEMBER = {member: group for group in _GROUPS for member in group}
# What the members of a group can be read as if none of them is known
_SUBSTITUTES = dict.fromkeys("?？؟!！", ".。") | dict.fromkeys(";；؛", ",،、")


@cache
def equivalents(character: str) -> tuple[str, ...]:
    """Return the strings that a character can be read as, the best first.

    They are those of its group; its normal form, such as Å for the sign of the ångström, also
    without the points of Hebrew letters; its compatibility form, such as A for the full-width
    letter Ａ, but not o for º, because a superscript has a meaning of its own; for a digit of
    another script, the European one; for a letter of old Irish texts, the modern spelling; and a
    full stop for a question mark or an exclamation mark, and a comma for a semicolon.
    """
    group = _GROUP_BY_MEMBER.get(character, "")
    kind = unicodedata.decomposition(character).partition(" ")[0]
    has_form = kind in _SAME_MEANING or not kind.startswith("<")
    compatible = unicodedata.normalize("NFKC", character) if has_form else ""
    digit = unicodedata.decimal(character, None)
    without_marks = "".join(x for x in compatible if not is_ignorable(x))
    strings = [*group, compatible, without_marks, "" if digit is None else str(digit)]
    strings += _SUBSTITUTES.get(character, "")
    if letter := _DOTTED.get(character):
        strings.append(letter + "h")
    return tuple(dict.fromkeys(x for x in strings if x and not x.isspace() and x != character))


def find_equivalent(character: str, is_known: Callable[[str], bool]) -> str | None:
    """Return what a model reads an unknown character as; None if it knows no equivalent.

    is_known: whether the model knows a character.
    """
    return next((x for x in equivalents(character) if all(map(is_known, x))), None)


def is_ignorable(character: str) -> bool:
    """Whether a reader can skip a character: an accent, a soft hyphen, a joiner, a kashida."""
    return unicodedata.category(character) in {"Mn", "Me", "Cf"} or character == _KASHIDA


def compose(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the composed character of decomposed characters of a text.

    They are sequences that NFC shortens, such as a letter with its accents. Accents that do not
    become part of the composed character are left out.
    """
    if text.isascii() or not _ACCENT.search(text):
        return
    for match in _SEQUENCE.finditer(text):
        composed = unicodedata.normalize("NFC", match.group())
        if len(composed) < len(match.group()):
            yield match.start(), match.end(), composed[0]
