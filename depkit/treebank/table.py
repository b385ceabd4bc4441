"""The rows of a sentence, those of a broken one too, as the checks look at them."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from depkit.corpus.formats import Format
from depkit.corpus.sentence import BOM, Sentence

WORD = re.compile(r"[1-9][0-9]{0,8}")
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
RANGE = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
EMPTY = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")


class Table:
    """The rows of a sentence, cut into cells.

    places: [row] the line of each, an index into the sentence's `lines`; cells: [row] all of a
    whole sentence's; width: how many there should be in a row. words, ranges, empties: which
    rows are what. ragged: rows of another width, with ID and FORM only, and HEAD if it is one;
    their other cells are `_`. raw: the cells as they stand there. plain: whether all characters
    are text, and all white space tabs, line feeds and spaces.
    """

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.format: Format = sentence.format
        lines = sentence.lines
        self.begin = int(lines[0] == BOM)
        self.text = "".join(lines)
        self.plain = self.text.replace("\t", " ").replace("\n", " ").isprintable()
        self.places = self._rows()
        self.raw = [lines[place].rstrip("\r\n").split("\t") for place in self.places]
        self.cells = self.raw
        self.width = len(self.format.columns)
        self.ragged: set[int] = set()
        self.words: list[int] = []
        self.ranges: list[int] = []
        self.empties: list[int] = []
        if sentence.problem:
            self._mend()
        elif len(sentence) == len(self.cells):
            self.words = list(range(len(self.cells)))
            self.width = len(self.cells[0])
            return
        self._sort()

    def _rows(self) -> Sequence[int]:
        """Where the rows are; in a whole sentence all are together."""
        lines = self.sentence.lines
        first, end = self.begin, len(lines)
        while first < end and (lines[first][0] == "#" or lines[first].isspace()):
            first += 1
        while end > first and lines[end - 1].isspace():
            end -= 1
        if not self.sentence.problem:
            return range(first, end)
        return [place for place in range(first, end) if lines[place][0] != "#"]

    def _mend(self) -> None:
        """Give every row of a broken sentence the same width."""
        if self.format.repeats:
            usual = Counter(map(len, self.raw)).most_common(1)
            self.width = max([self.width, *(width for width, _ in usual)])
        self.ragged = {row for row, cells in enumerate(self.raw) if len(cells) != self.width}
        self.cells = [
            self._kept(cells) if row in self.ragged else cells for row, cells in enumerate(self.raw)
        ]

    def _kept(self, cells: list[str]) -> list[str]:
        kept = cells[:2] + ["_"] * (self.width - len(cells[:2]))
        head = self.format.index("head")
        if head < len(cells) and cells[head].isdigit():
            kept[head] = cells[head]
        return kept

    def _sort(self) -> None:
        for row, cells in enumerate(self.cells):
            if self.format.spans and RANGE.fullmatch(cells[0]):
                self.ranges.append(row)
            elif self.format.spans and EMPTY.fullmatch(cells[0]):
                self.empties.append(row)
            else:
                self.words.append(row)

    def column(self, name: str) -> list[str]:
        """[row] the cells of a column of the format."""
        index = self.format.index(name)
        return [cells[index] for cells in self.cells]

    @cached_property
    def spans(self) -> dict[int, list[int]]:
        """The row of each range -> the rows of its words."""
        found = {}
        for row in self.ranges:
            first, last = map(int, self.cells[row][0].split("-"))
            found[row] = self.words[max(first, 1) - 1 : last]
        return found

    @cached_property
    def numbers(self) -> list[int]:
        """[word] the number that its ID is, or else the one after the word before it."""
        if not self.sentence.problem:
            return list(range(1, len(self.words) + 1))
        numbers: list[int] = []
        for row in self.words:
            text = self.cells[row][0]
            before = numbers[-1] if numbers else 0
            numbers.append(int(text) if WORD.fullmatch(text) else before + 1)
        return numbers

    @cached_property
    def known(self) -> set[int]:
        """What a HEAD can be, with every right to some wrong IDs: a word's ID, or its place."""
        return {*range(len(self.words) + 1), *self.numbers}

    @cached_property
    def head(self) -> list[int]:
        """[word] the head's place among the words, from 1; 0 the root's, -1 none or unknown."""
        if not self.sentence.problem:
            return self.sentence.head
        found = {number: place for place, number in enumerate(self.numbers, start=1)}
        found[0] = 0
        index = self.format.index("head")
        written = (self.cells[row][index] for row in self.words)
        return [found.get(int(text), -1) if NUMBER.fullmatch(text) else -1 for text in written]
