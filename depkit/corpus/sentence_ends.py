"""Rules on where sentences end, which hold in nearly all languages.

A treebank has too few examples of some of them to learn from. Each rule has a name, by which a
tokenizer has it if the treebanks that it was trained on do not contradict it.
"""

import re
from collections.abc import Iterable, Iterator

_LETTER = r"[^\W\d_]"
# Where a sentence ends if white space follows, and then an inverted mark or a letter that is not in
# lower case. A match ends with the last character of the sentence.
ENDS = {
    "question marks": re.compile(rf"[?？؟](?=\s+(?:{_LETTER}|[¿¡]))"),
    # `"Come." He` and `« Viens. » Il`, but not `(Inc.) He` and not `[...] He`
    "closed sentences": re.compile(
        rf"[.!?…](?<={_LETTER}{{2}}.)(?:(?:[\"”»“]|\s»)(?=\s+{_LETTER})"
        rf"|(?<={_LETTER}{{4}}.)[)\]](?=\s+{_LETTER}))"
    ),
    "symbols": re.compile(rf"\.(?<=[%€$£°]\.)(?=\s+{_LETTER})"),
}
# Where no sentence ends although white space follows; each with the number of times it must occur
# in treebanks that it is used with
CONTINUATIONS = {
    "initials": 0, "middle initials": 3, "spaced marks": 0, "ellipses": 3, "capitals": 0,
}  # fmt: skip
# The rule that no sentence ends where `is_joined` says so
JOINED = "joined characters"

# The full stop after a single letter, if a letter follows
_INITIAL = re.compile(rf"\.(?<={_LETTER}\.)(?<!\S{_LETTER}\.)(?=\s+{_LETTER})")
_ROMAN_NUMERALS = "IVX"
# Punctuation marks between white space that do not begin a sentence
_SPACED_MARK = re.compile(r"(?<=\s)[,;/%)\]}!?»](?!\S)")
_ELLIPSIS = re.compile(rf"(?:…|\.(?<=\.\.\.))(?=\s+{_LETTER})")
_CAPITALS = re.compile(rf"\.(?<={_LETTER}\.)(?=\s+{_LETTER})")
_LONGEST_IN_CAPITALS = 3  # letters
_WINDOW = 30  # characters in which a word before or after a mark is looked for
_FINAL = frozenset(".!?…:;。！？．؟۔।")
_INNER = frozenset("&/\\@#_+=%,-([{«„“「『（【¿¡")  # no sentence ends after these
_CLOSING = frozenset("\"')]}»”’」』）】")


def find_ends(text: str, names: Iterable[str]) -> Iterator[int]:
    """Yield the offsets of the last characters of sentences that the rules of ENDS find."""
    for name in ENDS.keys() & names:
        for match in ENDS[name].finditer(text):
            following = _following(text, match.end())
            if following and not following[0].islower():
                yield match.end() - 1


def find_continuations(text: str, names: Iterable[str]) -> Iterator[int]:
    """Yield the offsets of characters with white space after them at which no sentence ends.

    These are, for the rules of CONTINUATIONS that are named:
    initials: full stops of initials that follow each other, as in `J. S. Bach`.
    middle initials: those of initials after a name or title, as in `George W. Bush`, but not of
        Roman numerals (`Karel V.`).
    spaced marks: what precedes a mark such as `/` in `7 hab. / km²`.
    ellipses: an ellipsis before a lower-case letter.
    capitals: the full stop of one to three letters, the first of which is a capital one, before a
        lower-case letter, as in `EE. UU. desde 1999`.
    """
    names = set(names)
    if not names.isdisjoint({"initials", "middle initials"}):
        for match in _INITIAL.finditer(text):
            if _kind_of_initial(text, match.start()) in names:
                yield match.start()
    if "spaced marks" in names:
        for match in _SPACED_MARK.finditer(text):
            offset = match.start() - 1
            while offset > 0 and text[offset].isspace():
                offset -= 1
            yield offset
    if "ellipses" in names:
        for match in _ELLIPSIS.finditer(text):
            if _following(text, match.end())[:1].islower():
                yield match.start()
    if "capitals" in names:
        for match in _CAPITALS.finditer(text):
            before = text[max(0, match.start() - _WINDOW) : match.start()].split()[-1]
            is_short = before.isalpha() and len(before) <= _LONGEST_IN_CAPITALS
            if is_short and before[0].isupper() and _following(text, match.end())[:1].islower():
                yield match.start()


def _kind_of_initial(text: str, full_stop: int) -> str:
    """Return the name of the rule for a full stop; "" if it may end a sentence (`type B. It`)."""
    initial, following = text[full_stop - 1], _following(text, full_stop + 1)
    if not initial.isupper() or initial in _ROMAN_NUMERALS or not following[:1].isupper():
        return ""
    words_before = text[max(0, full_stop - _WINDOW) : full_stop - 1].split()
    before = words_before[-1].removesuffix(".") if words_before else ""
    if following[1:2] == "." or (len(before) == 1 and before.isupper()):
        return "initials"
    return "middle initials" if before[:1].isupper() and before.isalpha() else ""


def _following(text: str, offset: int) -> str:
    """Return the beginning of what follows white space."""
    return text[offset : offset + _WINDOW].lstrip()


def is_joined(character: str, following: str) -> bool:
    """Whether no sentence ends between two characters, of which `following` is no white space.

    None ends at a letter, a digit, an opening mark or a sign that joins words (`AT&T`), between a
    final and a closing mark, or at the full stop in `a.pdf` and `v2.0`.
    """
    return (
        character.isalnum()
        or character in _INNER
        or (character in _FINAL and following in _CLOSING)
        or (character == "." and (following.islower() or following.isdigit()))
    )


def move_end(text: str, offset: int, stop: int) -> int:
    """Return where a sentence ends that seems to end after the character at an offset.

    This is where it is unless `is_joined` says no, else the last of the closing marks after a final
    mark, else -1. A sentence is taken to go on after closing marks with a lower-case letter, a
    comma or a Japanese particle. stop: the end of the text.
    """
    if offset + 1 == stop or text[offset + 1].isspace():
        return offset
    if not is_joined(text[offset], text[offset + 1]):
        return offset
    end = offset
    while end + 1 < stop and text[end + 1] in _CLOSING:
        end += 1
    following = _following(text, end + 1)[:1] if end + 1 < stop else ""
    goes_on = following.islower() or following in {",", "、", ";"} or "ぁ" <= following <= "ゟ"
    return end if text[offset] in _FINAL and end > offset and not goes_on else -1
