"""Rules on where sentences end, for what is too rare in a treebank to be learned from it.

Each rule has a name. A tokenizer lists the names of the rules that its treebanks do not contradict.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache

from depkit.corpus.abbreviations import BEFORE_LOWER_CASE, BEFORE_NUMBERS, UNSPACED
from depkit.corpus.list_items import LIST_MARK
from depkit.corpus.patterns import AFTER_UNIT, EMOTICON

_LETTER = r"(?:[^\W\d_]|[\u0300-\u036f])"  # or an accent, which can be the last part of a letter
_FOOTNOTES = r"(?:\[\d{1,3}\])+"
MISSING_SPACES, LOWER_CASE = "missing spaces", "lower case"
# Where a sentence ends if white space follows, and then an inverted mark or a letter; or, for
# MISSING_SPACES, if a letter follows and `_lacks_space` returns True. A match ends with the last
# character of the sentence; the letter is the group.
ENDS = {
    "question marks": re.compile(rf"[?？؟](?=\s+(¿|¡|{_LETTER}))"),
    # Not in the name `Yahoo!`
    "exclamation marks": re.compile(rf"!(?<!Yahoo!)(?=\s+(¿|¡|{_LETTER}))"),
    "final ellipses": re.compile(
        rf"(?:…(?<={_LETTER}.)|\.(?<={_LETTER}\.\.\.))(?=\s+(¿|¡|{_LETTER}))"
    ),
    "emoticons": re.compile(rf"{EMOTICON}(?=\s+({_LETTER}))"),
    # `"Come." He` and `« Viens ! » Il`, but not `(Inc.) He` and not `[...] He`
    "closed sentences": re.compile(
        rf"[.!?…](?:(?<={_LETTER}{{2}}.)|(?<={_LETTER}{{2}}\s.))"
        rf"(?:(?:[\"”»“]|\s»)|(?<={_LETTER}{{4}}.)[)\]])(?=\s+({_LETTER}))"
    ),
    # `It grew.[1][2] It`
    "footnoted sentences": re.compile(rf"[.!?](?<={_LETTER}{{2}}.){_FOOTNOTES}(?=\s+({_LETTER}))"),
    "symbols": re.compile(rf"\.(?:(?<=[%€$£°]\.)|{AFTER_UNIT})(?=\s+({_LETTER}))"),
    MISSING_SPACES: re.compile(rf"[.!?](?<={_LETTER}{{3}}.)(?=({_LETTER}))"),
    # Only in texts in which `_is_lower_case` returns True, and not after abbreviations
    LOWER_CASE: re.compile(rf"(?:[!?](?<={_LETTER}.)|\.(?<={_LETTER}{{3}}.))(?=\s+({_LETTER}))"),
}
# Rules of marks before a capital letter, which are not used where nouns are capitalised
BEFORE_CAPITALS = frozenset({"final ellipses", "emoticons"})
# Rules of marks that are frequent between brackets or quotation marks, where they are not applied
_OUTSIDE = BEFORE_CAPITALS | {"exclamation marks", LOWER_CASE}
# Where no sentence ends although white space follows. The value is the least number of matches in
# treebanks for a rule to be used.
CONTINUATIONS = {
    "initials": 0, "first initials": 0, "middle initials": 0, "spaced marks": 0, "ellipses": 3,
    "capitals": 0, "list marks": 0, "abbreviations": 0, "first words": 0,
}  # fmt: skip
# The rules that no sentence ends where `is_joined`, `is_enclosed` or `is_unfinished` returns True
JOINED, ENCLOSED, UNFINISHED = "joined characters", "enclosed words", "unfinished sentences"
NAMES = (*ENDS, *CONTINUATIONS, JOINED, ENCLOSED, UNFINISHED)

# The full stop after a single letter, if a letter follows
_INITIAL = re.compile(rf"\.(?<={_LETTER}\.)(?<!\S{_LETTER}\.)(?=\s+{_LETTER})")
# Letters, also Cyrillic ones, that often are no initials, as in `type B` and `Karl V.`
_LABELS = frozenset("ABCDIVXАБВГ")
# Words before letters that are no initials, as in `Vitamin E.` and `Gruppe F.`, in lower case
_LABELLED = frozenset(
    "annex appendix block bloc blok class classe clase classi figur figure fig form grup grupa"
    " grupo grupp gruppe gruppo group groupe gruppen gruppa hepatit hepatitis hepatite hépatite"
    " klas klasa klass klasse league liga ligue lig model modell plan point ponto punkt punto"
    " section sektion serie series série seria tab tabell tabelle table team tip tipo typ type"
    " vitamin vitamina vitamine vitamiini witamina vitamín витамин вітамін группа группе группы"
    " група групі гепатит класс клас лига план пункт серия тип".split()
)
# Initials that are abbreviations of something else than names
_ABBREVIATED = {"AC", "BC", "DC", "AD", "EU", "LA", "NB", "NY", "PS", "SA", "SL", "UK", "US", "ОК"}
# Punctuation marks between white space that do not begin a sentence
_SPACED_MARK = re.compile(r"(?<=\s)(?:[,;/%)\]}](?!\S)|»(?!\w))")
_ELLIPSIS = re.compile(rf"(?:…|\.(?<=\.\.\.))(?=\s+({_LETTER}))")
_CAPITALS = re.compile(rf"\.(?<={_LETTER}\.)(?=\s+({_LETTER}))")
_AFTER_WORD = re.compile(rf"\.(?<={_LETTER}\.)(?=\s+({_LETTER}|\d))")
_OPENING_WORD = re.compile(rf"(?:\A|[.!?…]\s){_LETTER}++(?=[^\S\n]+\d)")
# The full stops of `et al.` and `p. ex.`
_PHRASES = re.compile(
    rf"\.(?:(?<=\bet al\.)|(?<=\bp\. ex\.)|(?<=\bpor ex\.))(?=\s+([(\[\d]|{_LETTER}))",
    re.IGNORECASE,
)
# The first letter of a sentence after another sentence
_BEGINNING = re.compile(rf"[.!?…][\"'”»’)\]]*\s+[\"'“«„‘(\[]*({_LETTER})")
_LONGEST_IN_CAPITALS = 3  # letters
_WINDOW = 30  # characters in which a word before or after a mark is looked for
_FINAL = frozenset(".!?…:;。！？．؟۔।")
_RUN = frozenset(".!?…！？")  # final marks of which several can follow each other
_INNER = frozenset("&/\\@#_+=%,-([{«„“「『（【¿¡")  # no sentence ends after these
_BEFORE_WORDS, _AFTER_WORDS = "\"'([«„“‘", ",.;:!?…\"')]»”’"
_ONE_LETTER_WORDS = frozenset("AÀEÈÉIOÓUYАВИКОСУЯЄІЇ")  # that begin sentences
_WITHOUT_INNER_MARKS = str.maketrans("", "", "-'’")  # deletes marks that can be inside words
_BULLETS = frozenset("*•▪●")
# One between white space that does not end a line, and before something else
_BULLET = re.compile(r"(?:\s|\A)[*•▪●][^\S\n]+[^\s*•▪●]")
_NOTES = re.compile(_FOOTNOTES)
_CLOSING = frozenset("\"')]}»”’」』）】")
_MARKS_IN_RUN = re.compile(
    rf"(?:[{re.escape(''.join((*_RUN, *_CLOSING)))}]|«(?<=[{''.join(_RUN)}]«)(?!\S))++"
)
_MAX_CLOSING = 3  # closing marks between a final mark and the end of a sentence
_LONGEST_ENCLOSED = 80  # characters
# What is between brackets or quotation marks, also as in German »...« and Swedish ”...”. A mark
# after a word or a punctuation mark is a closing one.
_NO_WORD_BEFORE = r"(?<![\w.!?,…].)"
_ENCLOSED = re.compile(
    "|".join(
        first + rf"[^{without}]{{1,{_LONGEST_ENCLOSED}}}" + last
        for first, without, last in (
            (r"\((?<![:;=-].)(?!(?<=\w.)\s)", "()", r"\)"),  # not in the emoticon `:(`
            (r"\[", r"\[\]", r"\]"),
            (f"»{_NO_WORD_BEFORE}(?=\\S)", "«»", r"(?<=\S)«"),
            (f"«{_NO_WORD_BEFORE}", "«»", "»"),
            (f"[“„]{_NO_WORD_BEFORE}", "“”„", "[“”]"),
            (f"”{_NO_WORD_BEFORE}", "”", r"”(?!\w)"),
            (f'"{_NO_WORD_BEFORE}', '"', r"\"(?!\w)"),
            ("「", "「」", "」"),
            ("『", "『』", "』"),
        )
    )
)


def find_ends(text: str, names: Iterable[str]) -> Iterator[int]:
    """Yield the offsets of the last characters of sentences that the rules of ENDS find.

    A lower-case letter does not begin a sentence, except by the rule LOWER_CASE. Only a capital
    letter does by the rules of BEFORE_CAPITALS, and after a closing mark that follows `?` or `!`,
    because direct speech can be followed by who said it.
    """
    rules = ENDS.keys() & names
    if LOWER_CASE in rules and not _is_lower_case(text):
        rules.remove(LOWER_CASE)
    for name in rules:
        for match in ENDS[name].finditer(text):
            if name == MISSING_SPACES and not _lacks_space(text, match.start()):
                continue
            if name in _OUTSIDE and _is_between_marks(text, match.start()):
                continue
            if name == LOWER_CASE and lower_word_before(text, match.start()) in BEFORE_LOWER_CASE:
                continue
            is_speech = name == "closed sentences" and match[0][0] in "?!"
            needs_capital = is_speech or name in BEFORE_CAPITALS
            is_beginning = match[1].isupper() or not (needs_capital or match[1].islower())
            if is_beginning or name == LOWER_CASE:
                yield match.end() - 1


def _is_lower_case(text: str) -> bool:
    """Whether the sentences of a text seem to begin with lower-case letters, as in messages."""
    first = next(filter(str.isalpha, text), "")
    return first.islower() and all(match[1].islower() for match in _BEGINNING.finditer(text))


def _lacks_space(text: str, offset: int) -> bool:
    """Whether the final mark of a match of MISSING_SPACES ends a sentence.

    It does between a word in lower case and one that begins with a capital letter, but not in
    `john.Smith@example.com`, `console.WriteLine`, `incl.Btw` and `System.Text`.
    """
    before = text[max(0, offset - _WINDOW) : offset].split()[-1]
    after = text[offset + 1 : offset + 1 + _WINDOW].split()[0]
    if max(len(before), len(after)) == _WINDOW:  # perhaps not the whole word
        return False
    first, second = (
        unicodedata.normalize("NFC", word).translate(_WITHOUT_INNER_MARKS)
        for word in (before.lstrip(_BEFORE_WORDS), after.rstrip(_AFTER_WORDS))
    )
    return (
        first.isalpha()
        and first.islower()
        and second.isalpha()
        and second[0].isupper()
        and (second[1:].islower() or second in _ONE_LETTER_WORDS)
        and first not in UNSPACED
    )


def find_continuations(text: str, names: Iterable[str]) -> Iterator[int]:
    """Yield the offsets of characters with white space after them at which no sentence ends.

    These are, for the rules of CONTINUATIONS that are named:
    initials: full stops of initials that follow each other, as in `J. S. Bach`, but not the last
        one in `Washington, D. C.`.
    first initials: those of initials at the beginning of the text or after the end of a sentence,
        as in `A. Smith came.`
    middle initials: those of initials after a name or title, as in `George W. Bush`; letters that
        often are labels or Roman numerals are left out, and those after words such as `Vitamin`.
    list marks: a number, a letter or a bullet at the beginning of a line, as in `1. Milk`.
    spaced marks: what precedes a mark such as `/` in `7 hab. / km²`.
    ellipses: an ellipsis before a lower-case letter.
    capitals: the full stop of one to three letters, the first of which is a capital one, before a
        lower-case letter, as in `EE. UU. desde 1999`.
    abbreviations: the full stop of one of `abbreviations.BEFORE_LOWER_CASE` before a lower-case
        letter, or of a single letter, and of one of `abbreviations.BEFORE_NUMBERS` before a digit,
        unless sentences seem to begin with lower-case letters; and that of `et al.` or `p. ex.`
        before anything but a capital letter.
    first words: the last letter of the first word of a sentence before a number, as in `On 5 May`.
    """
    names = set(names)
    if not names.isdisjoint({"initials", "first initials", "middle initials"}):
        for match in _INITIAL.finditer(text):
            if _kind_of_initial(text, match.start()) in names:
                yield match.start()
    if "list marks" in names:
        for match in LIST_MARK.finditer(text):
            yield match.end() - 1
    if "spaced marks" in names:
        for match in _SPACED_MARK.finditer(text):
            offset = match.start() - 1
            while offset > 0 and text[offset].isspace():
                offset -= 1
            yield offset
    if "ellipses" in names:
        for match in _ELLIPSIS.finditer(text):
            if match[1].islower():
                yield match.start()
    if "capitals" in names:
        for match in _CAPITALS.finditer(text):
            before = text[max(0, match.start() - _WINDOW) : match.start()].split()[-1]
            is_short = before.isalpha() and len(before) <= _LONGEST_IN_CAPITALS
            if is_short and before[0].isupper() and match[1].islower():
                yield match.start()
    if "first words" in names:
        for match in _OPENING_WORD.finditer(text):
            yield match.end() - 1
    if "abbreviations" in names:
        yield from (x.start() for x in _PHRASES.finditer(text) if not x[1].isupper())
        if not _is_lower_case(text):
            for match in _AFTER_WORD.finditer(text):
                word = lower_word_before(text, match.start())
                if match[1].isdecimal():
                    is_inner = word in BEFORE_NUMBERS
                else:
                    is_inner = match[1].islower() and (word in BEFORE_LOWER_CASE or len(word) == 1)
                if is_inner:
                    yield match.start()


def word_before(text: str, offset: int) -> str:
    """Return the word before the character at an offset.

    A long word is cut to its last characters. A word must precede the character.
    """
    return text[max(0, offset - _WINDOW) : offset].split()[-1].lstrip(_BEFORE_WORDS)


def lower_word_before(text: str, offset: int) -> str:
    """Return the word before the character at an offset in lower case, with composed letters."""
    return unicodedata.normalize("NFC", word_before(text, offset).lower())


def _kind_of_initial(text: str, full_stop: int) -> str:
    """Return the rule for a full stop, or "" if a sentence may end there, as in `type B. It`."""
    initial, following = text[full_stop - 1], text[full_stop + 1 : full_stop + _WINDOW].lstrip()
    if not initial.isupper() or not following[:1].isupper():
        return ""
    if following[1:2] == ".":
        return "initials"
    words_before = text[max(0, full_stop - _WINDOW) : full_stop - 1].split()
    if full_stop == 1 or (words_before and _ends_sentence(words_before[-1])):
        return "first initials"
    before = words_before[-1].removesuffix(".") if words_before else ""
    if len(before) == 1 and before.isupper():
        return "" if before + initial in _ABBREVIATED or initial in "IVX" else "initials"
    is_name = before[:1].isupper() and before.isalpha() and before.lower() not in _LABELLED
    return "middle initials" if is_name and initial not in _LABELS else ""


def _ends_sentence(word: str) -> bool:
    """Whether a word seems to be the last one of a sentence: `came.` and `so!"`, but not `Dr.`."""
    bare = word.rstrip(_AFTER_WORDS)
    final = word[len(bare) :].strip("\"')]»”’")
    return final in {"!", "?", "…", "..."} or (final == "." and bare.islower() and len(bare) > 3)


def is_joined(text: str, offset: int) -> bool:
    """Whether no sentence ends after the character at an offset, which no white space follows.

    None ends at a letter, a digit, an opening mark or a sign that joins words (`AT&T`), between a
    final mark and a closing mark, a comma or a semicolon, between final marks, or at the full stop
    in `a.pdf` and `2.0`.
    """
    character, following = text[offset], text[offset + 1]
    if character == "." and following.isdecimal():
        return text[offset - 1 : offset].isdecimal()
    return (
        character.isalnum()
        or character in _INNER
        or (character in _FINAL and (_is_closing(text, offset + 1) or following in ",;"))
        or (character in _RUN and following in _RUN)
        or (character == "." and following.islower())
    )


def _is_closing(text: str, offset: int) -> bool:
    """Whether the character at an offset is a closing mark, also `«` as in German `»Komm.« Er`."""
    is_reversed = text[offset] == "«" and text[offset - 1] in _RUN
    return text[offset] in _CLOSING or (is_reversed and not text[offset + 1 : offset + 2].strip())


def is_enclosed(text: str, offset: int) -> bool:
    """Whether a character is between brackets or quotation marks, and no sentence ends there.

    The first bracket or mark is between them, too: no sentence ends after it. A sentence can end
    after a final mark, also if closing marks follow it.
    """
    before = text[max(0, offset - _MAX_CLOSING) : offset + 1].rstrip("".join(_CLOSING))
    return before[-1:] not in _FINAL and _is_between_marks(text, offset)


def _is_between_marks(text: str, offset: int) -> bool:
    """Whether a character is a first bracket or quotation mark, or between it and its partner."""
    # The end of the window includes the last mark of a match from `offset`, and what follows it.
    begin, end = max(0, offset - _LONGEST_ENCLOSED), offset + _LONGEST_ENCLOSED + 3
    return any(
        match.start() <= offset < match.end() - 1 for match in _ENCLOSED.finditer(text, begin, end)
    )


def is_unfinished(text: str, offset: int) -> bool:
    """Whether white space and a lower-case letter follow the character at an offset.

    This is false for characters that a sentence can end with: final and closing marks except a
    colon, emoji, and letters of scripts without lower case.
    """
    character, following = text[offset], text[offset + 1 : offset + _WINDOW]
    is_inner = (
        character in ":,-–—" or character.isdecimal() or character.lower() != character.upper()
    )
    return is_inner and following[:1].isspace() and following.lstrip()[:1].islower()


@lru_cache(maxsize=1)
def _find_runs(text: str) -> tuple[list[int], list[int]]:
    """Return the offsets at which runs of final and closing marks begin, and those after them."""
    spans = [match.span() for match in _MARKS_IN_RUN.finditer(text)]
    return [begin for begin, _ in spans], [end for _, end in spans]


def _end_of_run(text: str, offset: int) -> int:
    """Return the offset of the last of the final and closing marks that follow an offset.

    This is the offset itself if there are none. A sentence can seem to end after each mark of a
    long run, so the runs are found once for all of them.
    """
    begins, ends = _find_runs(text)
    index = bisect_right(begins, offset + 1) - 1
    return ends[index] - 1 if index >= 0 and ends[index] > offset + 1 else offset


def move_end(text: str, offset: int, names: Container[str]) -> int:
    """Return where a sentence ends that seems to end after the character at an offset.

    This is the offset itself unless a rule with one of these names says otherwise. Footnote marks
    such as `[1]` after a final mark belong to its sentence. If the character is a bullet between
    white space, the sentence ends before it, or nowhere if nothing precedes it; but a sentence can
    end after a bullet at the end of a line and after several bullets.

    The result is -1 if no sentence ends there: where `is_enclosed` or `is_unfinished` returns True,
    and inside joined characters. There, however, a sentence that seems to end after a final mark
    ends after the final and closing marks that follow it, unless it goes on with a lower-case
    letter, a comma or a Japanese particle.
    """
    if offset + 1 == len(text):
        return offset
    if text[offset] in _BULLETS and _BULLET.match(text, max(0, offset - 1)):
        end = offset - 1
        while end >= 0 and text[end].isspace():
            end -= 1
        return end if end < 0 or text[end] not in _BULLETS else offset
    if text[offset] in _FINAL and (notes := _NOTES.match(text, offset + 1)):
        offset = notes.end() - 1
        if offset + 1 == len(text):
            return offset
    if text[offset + 1].isspace() or JOINED not in names or not is_joined(text, offset):
        goes_on = (ENCLOSED in names and is_enclosed(text, offset)) or (
            UNFINISHED in names and is_unfinished(text, offset)
        )
        return -1 if goes_on else offset
    end = _end_of_run(text, offset)
    following = text[end + 1 : end + _WINDOW].lstrip()[:1]
    is_particle = "ぁ" <= following <= "ゟ" and text[end] not in _RUN
    goes_on = following.islower() or following in {",", "、", ";"} or is_particle
    return end if text[offset] in _FINAL and end > offset and not goes_on else -1
