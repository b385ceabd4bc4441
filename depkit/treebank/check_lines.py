"""Checks of a sentence's lines, whatever stands in them: characters, line ends, blank lines."""

import re
import unicodedata
from collections.abc import Iterator

from depkit.corpus.reader import SURROGATE, position, undecoded
from depkit.corpus.sentence import BOM
from depkit.treebank.findings import Problem, quoted
from depkit.treebank.table import Table

# Some of these end a line for other programs; a carriage return belongs before a line feed.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!\n)")


def line_problems(table: Table) -> Iterator[Problem]:
    """What is wrong with lines and characters."""
    lines = table.sentence.lines
    ascii_text = table.text.isascii()
    if not table.plain or not (ascii_text or unicodedata.is_normalized("NFC", table.text)):
        yield from _characters(lines)
    if "\r\n" in table.text:
        place = next(place for place, line in enumerate(lines) if line.endswith("\r\n"))
        yield Problem(place, "line-end", "ends in CR LF, not LF; convert the file, dos2unix say")
    yield from _blank_lines(table)
    yield from _comments(table)


def _characters(lines: list[str]) -> Iterator[Problem]:
    """Characters that are no text, and text that is not in NFC."""
    for place, line in enumerate(lines):
        if found := _CONTROL.search(line):
            what = f"U+{ord(found[0]):04X} {position(line, found.start())} is no text; remove it"
            advice = ", or name the file's encoding" * ("\x80" <= found[0] <= "\x9f")
            yield Problem(place, "control-character", what + advice)
        if line.startswith(BOM):
            what = "a byte order mark; save the file as UTF-8 without one"
            yield Problem(place, "byte-order-mark", what)
        if found := SURROGATE.search(line):
            yield Problem(place, "encoding", undecoded(line, found.start()))
        if not unicodedata.is_normalized("NFC", line):
            yield Problem(place, "unicode-nfc", _decomposed(line))


def _decomposed(line: str) -> str:
    """The first cell that is not in NFC, letter by letter."""
    for column, cell in enumerate(line.rstrip("\r\n").split("\t"), start=1):
        composed = unicodedata.normalize("NFC", cell)
        if composed != cell:
            pairs = enumerate(zip(cell, composed, strict=False))
            first = next((i for i, (left, right) in pairs if left != right), len(composed))
            old, new = ascii(cell[first : first + 8]), ascii(composed[first : first + 8])
            where = f"column {column}, character {first + 1}"
            return f"not composed (Unicode NFC) in {where}: {old} where {new} should stand"
    return "not composed (Unicode NFC)"


def _blank_lines(table: Table) -> Iterator[Problem]:
    """Blank lines are before the sentence, if it is the first, and after it."""
    lines = table.sentence.lines
    begun, ended = table.begin, len(lines)
    while lines[begun].isspace():
        begun += 1
    while lines[ended - 1].isspace():
        ended -= 1
    for place in (*range(table.begin, begun), *range(ended, len(lines))):
        if lines[place] not in ("\n", "\r\n"):
            yield Problem(place, "white-line", "white space on a line of its own; empty the line")
        elif place < begun:
            what = "a blank line before the first sentence; remove it"
            yield Problem(place, "extra-blank-line", what)
        elif place > ended:
            what = "more than one blank line after a sentence; remove this one"
            yield Problem(place, "extra-blank-line", what)


def _comments(table: Table) -> Iterator[Problem]:
    lines = table.sentence.lines
    if not table.places:
        place = next(place for place, line in enumerate(lines) if line[0] == "#")
        what = "comments without a word; remove them, or add the sentence"
        yield Problem(place, "no-words", what)
        return
    for place in range(table.places[0], len(lines)):
        if lines[place][0] == "#":
            what = f"the comment {quoted(lines[place].rstrip())} after the first word"
            advice = "put it before the words, or a blank line before it"
            yield Problem(place, "comment-place", f"{what}; {advice}")
