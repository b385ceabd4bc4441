"""Lists in running text, whose items are lines that begin with a number, a letter or a bullet."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

# What an item begins with. The groups: a number, a letter, what follows them, and bullets that are
# also frequent inside sentences. White space can be missing after other bullets, as in Japanese.
_MARK = re.compile(
    r"[^\S\n]*(?:(?:(\d{1,3})|([a-z]))([.)])(?=\s)|([*+·#→–—-])(?=\s)|[•‣▪●◦○■□◆◇➤►✓✔・])"
)
# The same at the beginning of a line, and the mark of a line that an e-mail quotes
LIST_MARK = re.compile(rf"^(?:{_MARK.pattern}|[^\S\n]*>(?=\s))", re.MULTILINE)

Mark = tuple[str, int]  # the kind, such as "1." or "-", and the number or that of the letter
NO_NUMBER = -1


def find_list_items(text: str) -> Iterator[int]:
    """Yield the offsets of the last characters before the items of lists.

    An item begins at the beginning of a line. Lines of a wrapped text can begin with the same
    characters by chance. So a mark other than `•` and its like only counts if the previous or the
    next line has a mark, too, or if the previous line ends with a colon or has room for the first
    word of the item. A number or a letter must also have a predecessor or a successor.
    """
    if "\n" not in text:
        return
    lines = text.split("\n")
    marks = list(map(_read_mark, lines))
    consecutive = _find_consecutive(marks)
    # Lines of one word are left out, because a long address is not wrapped.
    width = max((len(line) for line in lines if len(line.split(None, 1)) > 1), default=0)
    start = 0  # of the current line
    for number, (previous, line) in enumerate(pairwise(lines), start=1):
        before, start = previous.rstrip(), start + len(previous) + 1
        mark = marks[number]
        if not (mark and before):
            continue
        kind, value = mark
        is_beside_mark = any(marks[number - 1 : number + 2 : 2])
        first_words = " ".join(line.split(None, 2)[:2])  # the mark and the word after it
        has_room = len(before) + 1 + len(first_words) <= width
        is_item = is_beside_mark or has_room or before.endswith((":", "："))
        if not kind or (is_item and (value == NO_NUMBER or mark in consecutive)):
            yield start - len(previous) - 2 + len(before)


def _read_mark(line: str) -> Mark | None:
    """Return the mark of a line; its kind is "" for bullets that are rare inside sentences."""
    match = _MARK.match(line)
    if match is None:
        return None
    number, letter, end, bullet = match.groups()
    if number:
        return f"1{end}", int(number)
    return (f"a{end}", ord(letter)) if letter else (bullet or "", NO_NUMBER)


def _find_consecutive(marks: Sequence[Mark | None]) -> set[Mark]:
    """Return the numbers and letters that follow each other among the marks of their kind."""
    last: dict[str, int] = {}
    consecutive: set[Mark] = set()
    for kind, number in filter(None, marks):
        if number != NO_NUMBER and last.get(kind) == number - 1:
            consecutive |= {(kind, number - 1), (kind, number)}
        last[kind] = number
    return consecutive
