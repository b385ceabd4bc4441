"""The rows of a sentence as the checks need them, including those of a broken sentence."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from depkit.corpus.formats import Format
from depkit.corpus.sentence import Sentence
from depkit.files.encodings import BOM

WORD = re.compile(r"[1-9][0-9]{0,8}")
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
EMPTY = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")


class Table:
    """The rows of a sentence, split into cells.

    Attributes:
        line_indices: `[row]` The row's index into the sentence's `lines`.
        cells: `[row]` The row's cells; all rows have `width` cells. In a ragged row only ID and
            FORM, and HEAD if it is a number, are filled; the others are `_`.
        raw_cells: `[row]` The cells as they are in the file.
        ragged: The rows that have another number of cells in the file.
        words, ranges, empties: The rows of words, multiword ranges and empty nodes.
        is_plain: Whether the lines have only printable characters, tabs, line feeds and spaces.
        start: The index of the sentence's first line; 1 if line 0 is a byte order mark.
    """

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.format: Format = sentence.format
        lines = sentence.lines
        self.start = int(lines[0] == BOM)
        self.text = "".join(lines)
        self.is_plain = self.text.replace("\t", " ").replace("\n", " ").isprintable()
        self.line_indices = self._find_rows()
        self.raw_cells = [lines[index].rstrip("\r\n").split("\t") for index in self.line_indices]
        self.cells = self.raw_cells
        self.width = len(self.format.columns)
        self.ragged: set[int] = set()
        self.words: list[int] = []
        self.ranges: list[int] = []
        self.empties: list[int] = []
        if sentence.problem:
            self._repair_widths()
        elif len(sentence) == len(self.cells):
            self.words = list(range(len(self.cells)))
            self.width = len(self.cells[0])
            return
        self._classify_rows()

    def _find_rows(self) -> Sequence[int]:
        """Return the line indices of the rows, which have gaps only in a broken sentence."""
        lines = self.sentence.lines
        first, end = self.start, len(lines)
        while first < end and (lines[first][0] == "#" or lines[first].isspace()):
            first += 1
        while end > first and lines[end - 1].isspace():
            end -= 1
        if not self.sentence.problem:
            return range(first, end)
        return [index for index in range(first, end) if lines[index][0] != "#"]

    def _repair_widths(self) -> None:
        """Give every row of a broken sentence the same width."""
        if self.format.has_further_columns:
            usual = Counter(map(len, self.raw_cells)).most_common(1)
            self.width = max([self.width, *(width for width, _ in usual)])
        self.ragged = {row for row, cells in enumerate(self.raw_cells) if len(cells) != self.width}
        self.cells = [
            self._repair_row(cells) if row in self.ragged else cells
            for row, cells in enumerate(self.raw_cells)
        ]

    def _repair_row(self, cells: list[str]) -> list[str]:
        repaired = cells[:2] + ["_"] * (self.width - len(cells[:2]))
        head = self.format.index("head")
        if head < len(cells) and cells[head].isdigit():
            repaired[head] = cells[head]
        return repaired

    def _classify_rows(self) -> None:
        for row, cells in enumerate(self.cells):
            if self.format.has_ranges and RANGE.fullmatch(cells[0]):
                self.ranges.append(row)
            elif self.format.has_ranges and EMPTY.fullmatch(cells[0]):
                self.empties.append(row)
            else:
                self.words.append(row)

    def column(self, name: str) -> list[str]:
        """Return a column's cells, one for each row."""
        index = self.format.index(name)
        return [cells[index] for cells in self.cells]

    @cached_property
    def range_words(self) -> dict[int, list[int]]:
        """The rows of the words of each range, by the range's row."""
        rows = {}
        for row in self.ranges:
            first, last = map(int, self.cells[row][0].split("-"))
            rows[row] = self.words[max(first, 1) - 1 : last]
        return rows

    @cached_property
    def word_ids(self) -> list[int]:
        """The number of each word: its ID or, if the ID is invalid, the previous number plus 1."""
        if not self.sentence.problem:
            return list(range(1, len(self.words) + 1))
        ids: list[int] = []
        for row in self.words:
            text = self.cells[row][0]
            previous = ids[-1] if ids else 0
            ids.append(int(text) if WORD.fullmatch(text) else previous + 1)
        return ids

    @cached_property
    def valid_heads(self) -> set[int]:
        """The values that HEAD may have: 0, the IDs of words and, if IDs are wrong, positions."""
        return {*range(len(self.words) + 1), *self.word_ids}

    @cached_property
    def heads(self) -> Sequence[int]:
        """The 1-based position of each word's head; 0 for the root, -1 if it is unknown."""
        if not self.sentence.problem:
            return self.sentence.head
        positions = {number: position for position, number in enumerate(self.word_ids, start=1)}
        positions[0] = 0
        index = self.format.index("head")
        texts = (self.cells[row][index] for row in self.words)
        return [positions.get(int(text), -1) if NUMBER.fullmatch(text) else -1 for text in texts]
