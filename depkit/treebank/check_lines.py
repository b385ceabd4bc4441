"""Checks of the lines of a sentence: characters, line ends, blank lines, comments' positions."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from depkit.corpus.cell_checks import SURROGATE
from depkit.corpus.reader import describe_position, describe_undecodable
from depkit.files.encodings import BOM
from depkit.treebank.findings import Problem, quote
from depkit.treebank.table import Table

# Control characters, some of which end a line in other programs. A carriage return is allowed only
# before a line feed.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]|\r(?!\n)")
_REPLACEMENT = "\ufffd"  # what decoders write instead of bytes that they cannot decode


def check_lines(table: Table) -> Iterator[Problem]:
    """Check the lines and characters of a sentence."""
    lines = table.sentence.lines
    is_ascii = table.text.isascii()
    is_plain = table.is_plain and _REPLACEMENT not in table.text
    if not is_plain or not (is_ascii or unicodedata.is_normalized("NFC", table.text)):
        yield from _check_characters(lines)
    if "\r\n" in table.text:
        index = next(index for index, line in enumerate(lines) if line.endswith("\r\n"))
        problem = "the line ends with CR LF instead of LF"
        advice = "convert the file, for example with dos2unix"
        yield Problem(index, "line-end", f"{problem}; {advice}")
    yield from _check_blank_lines(table)
    yield from _check_comment_positions(table)


def _check_characters(lines: Sequence[str]) -> Iterator[Problem]:
    """Find control characters, undecodable or lost bytes, and text that is not in NFC."""
    for index, line in enumerate(lines):
        if match := _CONTROL.search(line):
            position = describe_position(line, match.start())
            problem = f"the character U+{ord(match[0]):04X} {position} is not text; remove it"
            advice = ", or name the file's encoding" * ("\x80" <= match[0] <= "\x9f")
            yield Problem(index, "control-character", f"{problem}{advice}")
        if line.startswith(BOM):
            message = "the line begins with a byte order mark; save the file as UTF-8 without one"
            yield Problem(index, "byte-order-mark", message)
        if match := SURROGATE.search(line):
            yield Problem(index, "encoding", describe_undecodable(line, match.start()))
        if _REPLACEMENT in line:
            position = describe_position(line, line.index(_REPLACEMENT))
            problem = f"the character U+FFFD {position} replaces text that was lost"
            yield Problem(index, "replacement-character", f"{problem}; write the original text")
        if not unicodedata.is_normalized("NFC", line):
            yield Problem(index, "unicode-nfc", _describe_decomposed(line))


def _describe_decomposed(line: str) -> str:
    """Describe the first characters of a line that are not in NFC."""
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
    """Check the blank lines before the first sentence of a file or after any sentence."""
    lines = table.sentence.lines
    first, end = table.start, len(lines)
    while lines[first].isspace():
        first += 1
    while lines[end - 1].isspace():
        end -= 1
    for index in (*range(table.start, first), *range(end, len(lines))):
        if lines[index] not in ("\n", "\r\n"):
            message = "the line contains only white space; make it empty"
            yield Problem(index, "white-line", message)
        elif index < first:
            message = "there is a blank line before the first sentence; remove it"
            yield Problem(index, "extra-blank-line", message)
        elif index > end:
            message = "there is more than one blank line after the sentence; remove this one"
            yield Problem(index, "extra-blank-line", message)


def _check_comment_positions(table: Table) -> Iterator[Problem]:
    lines = table.sentence.lines
    if not table.line_indices:
        index = next(index for index, line in enumerate(lines) if line[0] == "#")
        message = "no words follow the comments; remove the comments, or add the sentence"
        yield Problem(index, "no-words", message)
        return
    for index in range(table.line_indices[0], len(lines)):
        if lines[index][0] == "#":
            problem = f"the comment {quote(lines[index].rstrip())} follows the first word"
            advice = "move it before the words, or add a blank line before it"
            yield Problem(index, "comment-place", f"{problem}; {advice}")
