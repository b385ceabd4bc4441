"""Lists in running text, whose items are lines that begin with a number, a letter or a bullet."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

# What an item begins with. The groups: a number, a letter, what follows them, a sign that is also
# frequent inside sentences, and a bullet that is not. White space can be missing after Japanese
# bullets; two of them are a placeholder, as in `○○さん`.
_MARK = re.compile(
    r"[^\S\n]*(?:\(?(?:(\d{1,3})|([a-z]|[а-я](?=\))))([.)])(?=\s)|([*·→–—-](?=\s)|・)"
    r"|([•‣▪●◦○■□◆◇➤►✓✔])(?!\5))"
)
# The same at the beginning of a line, and the signs of titles and of lines that an e-mail quotes
LIST_MARK = re.compile(rf"^(?:{_MARK.pattern}|[^\S\n]*[#>](?=\s))", re.MULTILINE)
_LONG_WORD = re.compile(r"\S{30}|://")
# A dash at the beginning of a line is inside a sentence between direct speech and who said it, and
# between numbers. Both begin with the last character of the line before.
_SPEAKER = re.compile(r",\s*[–—]\s+[^\W\d_]")
_NUMBERS = re.compile(r"\d\s*[–—-]\s+\d")

Mark = tuple[str, int]  # the kind, such as "1." or "-", and the number or that of the letter
NO_NUMBER = -1
_FIRST = {"1": (0, 1), "a": (ord("a"), ord("а"))}  # what begins lists of numbers or letters


def find_list_items(text: str) -> Iterator[int]:
    """Yield the offsets of the last characters before the items of lists.

    An item begins at the beginning of a line. Lines of a wrapped text can begin with the same
    characters by chance. So a mark other than `•` and its like only counts if the previous or the
    next line has a mark, too (lines that are indented more are skipped), or if the previous line
    ends with a colon or has room for the first word of the item. Numbers and letters must also
    follow each other, beginning with 0, 1 or a, or with the mark of the first line.
    """
    if "\n" not in text:
        return
    lines = text.split("\n")
    marks = list(map(_read_mark, lines))
    if not any(marks[1:]):
        return
    counted, grouped = _find_counted(marks), _find_grouped(lines, marks)
    # Lines with a long word, such as an address, can be wider than the others; they are left out.
    width = max((len(x) for x in lines if " " in x.strip() and not _LONG_WORD.search(x)), default=0)
    start = 0  # of the current line
    for number, (previous, line) in enumerate(pairwise(lines), start=1):
        before, start = previous.rstrip(), start + len(previous) + 1
        mark = marks[number]
        if not (mark and before):
            continue
        kind, value = mark
        first_words = " ".join(line.split(None, 2)[:2])  # the mark and the word after it
        has_room = len(before) + 1 + len(first_words) <= width
        is_pair = value == NO_NUMBER and f" {kind}" in line.strip()  # dashes around a few words
        is_item = number in grouped or (has_room and not is_pair) or before.endswith((":", "："))
        if kind and (not is_item or _goes_on(before, line)):
            continue
        if value == NO_NUMBER or number in counted:
            yield start - len(previous) - 2 + len(before)


def _read_mark(line: str) -> Mark | None:
    """Return the mark of a line; its kind is "" for bullets that are rare inside sentences."""
    match = _MARK.match(line)
    if match is None:
        return None
    number, letter, end, sign, _ = match.groups()
    if number:
        return f"1{end}", int(number)
    return (f"a{end}", ord(letter)) if letter else (sign or "", NO_NUMBER)


def _find_counted(marks: Sequence[Mark | None]) -> set[int]:
    """Return the indices of the numbers and letters that count on from the first one of their kind.

    There are two or more; Markdown also counts 1, 1, 1. The first one is 0, 1 or a letter `a`, or
    in the first line.
    """
    last: dict[str, tuple[int, int]] = {}  # the index and the number of the last one
    counted: set[int] = set()
    for index, mark in enumerate(marks):
        if mark is None or mark[1] == NO_NUMBER:
            continue
        kind, number = mark
        if kind in last and last[kind][1] in {number, number - 1}:
            counted |= {last[kind][0], index}
        elif index and number not in _FIRST[kind[0]]:
            continue
        last[kind] = index, number
    return counted


def _find_grouped(lines: Sequence[str], marks: Sequence[Mark | None]) -> set[int]:
    """Return the indices of lines with marks that follow each other.

    Between them, there can be lines that are indented more than the first one.
    """
    grouped: set[int] = set()
    last = 0
    is_open = False  # whether all lines since the last mark are indented more
    for index, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        if mark:
            if is_open:
                grouped |= {last, index}
            last, is_open = index, True
        elif _indentation(line) <= _indentation(lines[last]):
            is_open = False
    return grouped


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _goes_on(before: str, line: str) -> bool:
    """Whether a sentence goes on with the dash that a line begins with.

    before: the previous line.
    """
    both = f"{before[-1:]}{line.strip()}"
    speech = _SPEAKER.match(both)
    return bool(_NUMBERS.match(both)) or (speech is not None and speech[0][-1].islower())
