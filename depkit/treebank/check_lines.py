"""Checks of a sentence's lines, whatever their contents: characters, line ends, blank lines."""

import re
import unicodedata
from collections.abc import Iterator

from depkit.corpus.reader import SURROGATE, describe_undecodable, locate
from depkit.corpus.sentence import BOM
from depkit.treebank.findings import Problem, quote
from depkit.treebank.table import Table

# Some of these end a line for other programs; a carriage return belongs before a line feed.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!\n)")


def check_lines(table: Table) -> Iterator[Problem]:
    """Check the lines and characters of a sentence."""
    lines = table.sentence.lines
    is_ascii = table.text.isascii()
    if not table.is_plain or not (is_ascii or unicodedata.is_normalized("NFC", table.text)):
        yield from _check_characters(lines)
    if "\r\n" in table.text:
        index = next(index for index, line in enumerate(lines) if line.endswith("\r\n"))
        what = "the line ends with CR LF instead of LF; convert the file, for example with dos2unix"
        yield Problem(index, "line-end", what)
    yield from _check_blank_lines(table)
    yield from _check_comment_positions(table)


def _check_characters(lines: list[str]) -> Iterator[Problem]:
    """Find characters that are not text, and text that is not in NFC."""
    for index, line in enumerate(lines):
        if match := _CONTROL.search(line):
            what = f"U+{ord(match[0]):04X} {locate(line, match.start())} is not text; remove it"
            advice = ", or name the file's encoding" * ("\x80" <= match[0] <= "\x9f")
            yield Problem(index, "control-character", f"the character {what}{advice}")
        if line.startswith(BOM):
            what = "the line begins with a byte order mark; save the file as UTF-8 without one"
            yield Problem(index, "byte-order-mark", what)
        if match := SURROGATE.search(line):
            yield Problem(index, "encoding", describe_undecodable(line, match.start()))
        if not unicodedata.is_normalized("NFC", line):
            yield Problem(index, "unicode-nfc", _describe_decomposed(line))


def _describe_decomposed(line: str) -> str:
    """Name the first characters of a line that are not in NFC."""
    for column, cell in enumerate(line.rstrip("\r\n").split("\t"), start=1):
        composed = unicodedata.normalize("NFC", cell)
        if composed != cell:
            pairs = enumerate(zip(cell, composed, strict=False))
            first = next((i for i, (left, right) in pairs if left != right), len(composed))
            old, new = ascii(cell[first : first + 8]), ascii(composed[first : first + 8])
            location = f"column {column}, from character {first + 1}"
            return f"{location}, is not composed (Unicode NFC); write {new} instead of {old}"
    return "the line is not composed (Unicode NFC)"


def _check_blank_lines(table: Table) -> Iterator[Problem]:
    """Check the blank lines, which are before the file's first sentence and after all sentences."""
    lines = table.sentence.lines
    first, end = table.start, len(lines)
    while lines[first].isspace():
        first += 1
    while lines[end - 1].isspace():
        end -= 1
    for index in (*range(table.start, first), *range(end, len(lines))):
        if lines[index] not in ("\n", "\r\n"):
            what = "the line contains only white space; make it empty"
            yield Problem(index, "white-line", what)
        elif index < first:
            what = "there is a blank line before the first sentence; remove it"
            yield Problem(index, "extra-blank-line", what)
        elif index > end:
            what = "there is more than one blank line after the sentence; remove this one"
            yield Problem(index, "extra-blank-line", what)


def _check_comment_positions(table: Table) -> Iterator[Problem]:
    lines = table.sentence.lines
    if not table.line_indices:
        index = next(index for index, line in enumerate(lines) if line[0] == "#")
        what = "no words follow the comments; remove the comments, or add the sentence"
        yield Problem(index, "no-words", what)
        return
    for index in range(table.line_indices[0], len(lines)):
        if lines[index][0] == "#":
            what = f"the comment {quote(lines[index].rstrip())} follows the first word"
            advice = "move it before the words, or add a blank line before it"
            yield Problem(index, "comment-place", f"{what}; {advice}")
