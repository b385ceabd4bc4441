"""The layout of words and arcs in a drawing, in any unit: terminal cells or pixels.

An arc leaves its head and enters its dependent at a port. A word has up to three ports, from the
left: one for all its dependents on the left, one for its own heads, one for all its dependents on
the right. Arcs to dependents on the same side share a stem, as do arcs from the heads of a word. No
two arcs of a projective tree cross.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, NamedTuple

import numpy as np

from depkit.drawing.trees.drawn_sentence import Arc
from depkit.drawing.trees.kinds import Kind

_NEAR_STEMS = 64  # the stems on either side of a line's middle between which its label is placed

Role = Literal["left", "head", "right"]  # of a port


class Measures(NamedTuple):
    """The distances of a drawing."""

    text_width: Callable[[str], int]
    step: int  # half the distance between two ports of a word
    gap: int  # between two words
    pad: int  # between a label and the ends of its line


class End(NamedTuple):
    """The end of an arc at a word."""

    word: int
    offset: int  # of the port, to the right of the centre of the word
    has_arrow: bool  # whether the arc enters the word


@dataclass(slots=True)
class Line:
    """An arc, or the part of an arc within one block of words."""

    start: End | None  # the left end; None if it is in another block
    end: End | None  # the right end; the same object as start for a vertical arc
    label: str
    label_width: int
    kind: Kind
    other_words: str = ""  # the numbers of the words in another block
    mark_width: int = 0  # of these numbers, with one dash
    left: int = 0  # the coordinate of the left end, -1 if it is in another block
    right: int = 0  # the coordinate of the right end, the width of the block if in another block
    level: int = 0  # 1 is next to the words
    label_start: int = 0  # the coordinate of the label's left end

    @property
    def is_vertical(self) -> bool:
        """Whether the line is a single vertical stem."""
        return self.start is self.end


class Side:
    """The arcs above or below the words, and their ports."""

    def __init__(self, arcs: Sequence[Arc], numbers: Sequence[str], measures: Measures) -> None:
        self.numbers = numbers
        self.measures = measures
        self.incoming: dict[int, list[Arc]] = defaultdict(list)
        self.outgoing: dict[tuple[int, Role], list[Arc]] = defaultdict(list)
        for arc in arcs:
            self.incoming[arc.dependent].append(arc)
            if not arc.is_vertical:
                self.outgoing[arc.head, _direction(arc.head, arc.dependent)].append(arc)
        self.offsets = self._port_offsets()

    def _port_offsets(self) -> dict[tuple[int, Role], int]:
        """Return the offset of each port to the right of the centre of its word."""
        ports: dict[int, list[tuple[int, Role]]] = defaultdict(list)
        for word, role in self.outgoing:
            ports[word].append((-2 if role == "left" else 2, role))
        for word, arcs in self.incoming.items():
            ports[word].append((self._head_port_rank(arcs), "head"))
        return {
            (word, role): (2 * index - len(ranked) + 1) * self.measures.step
            for word, ranked in ports.items()
            for index, (_, role) in enumerate(sorted(ranked))
        }

    def _head_port_rank(self, arcs: Sequence[Arc]) -> int:
        """Return the rank of the incoming arcs of a word among its ports.

        The other ports have the ranks -2 and 2. The port of incoming arcs is between them, so that
        these arcs pass over the arcs to dependents. But if they are shorter than all arcs to
        dependents on their side, their port is outside, and they pass below them.
        """
        roles = {_direction(arc.dependent, arc.head) for arc in arcs}
        if len(roles) > 1 or any(arc.is_vertical for arc in arcs):
            return 0
        (role,) = roles
        dependents = self.outgoing.get((arcs[0].dependent, role), [])
        shortest = min((abs(a.dependent - a.head) for a in dependents), default=0)
        rank = 3 if max(abs(a.dependent - a.head) for a in arcs) < shortest else 1
        return rank if role == "right" else -rank

    def reach(self, word: int) -> int:
        """Return how far a word's ports and the label of its vertical arc reach from its centre."""
        roles: tuple[Role, ...] = ("left", "head", "right")
        reach = max(abs(self.offsets.get((word, role), 0)) for role in roles)
        for arc in self.incoming.get(word, ()):
            if arc.is_vertical:
                half = self.measures.text_width(arc.label) // 2
                reach = max(reach, abs(self.offsets[word, "head"]) + half)
        return reach

    def make_lines(self, first: int, last: int) -> Iterator[Line]:
        """Make the lines of a block of words, without their coordinates."""
        for word in range(first, last + 1):
            for arc in self.incoming.get(word, ()):
                yield self._incoming_line(arc, first, last)
            if arcs := [a for a in self.outgoing.get((word, "left"), ()) if a.dependent < first]:
                yield self._outgoing_line(None, self._make_end(word, "left"), arcs)
            if arcs := [a for a in self.outgoing.get((word, "right"), ()) if a.dependent > last]:
                yield self._outgoing_line(self._make_end(word, "right"), None, arcs)

    def _incoming_line(self, arc: Arc, first: int, last: int) -> Line:
        dependent = self._make_end(arc.dependent, "head")
        label = arc.label, self.measures.text_width(arc.label), arc.kind
        if arc.is_vertical:
            return Line(dependent, dependent, *label)
        inside = first <= arc.head <= last
        role = _direction(arc.head, arc.dependent)
        head = self._make_end(arc.head, role) if inside else None
        start, end = (head, dependent) if role == "right" else (dependent, head)
        other = "" if inside else self.numbers[arc.head]
        return Line(start, end, *label, other, self._mark_width(other))

    def _mark_width(self, numbers: str) -> int:
        return self.measures.text_width(numbers) + self.measures.step if numbers else 0

    def _make_end(self, word: int, role: Role) -> End:
        return End(word, self.offsets[word, role], role == "head")

    def _outgoing_line(self, start: End | None, end: End | None, arcs: Sequence[Arc]) -> Line:
        """Return the common line of all arcs from a word to other blocks on one side.

        It has no label: the labels are shown in the blocks of the dependents.
        """
        kind = arcs[0].kind if len({arc.kind for arc in arcs}) == 1 else "plain"
        numbers = [self.numbers[arc.dependent] for arc in arcs[:2]]
        if len(arcs) > 2:
            numbers.append("…")
        other = ",".join(numbers)
        return Line(start, end, "", 0, kind, other, self._mark_width(other))


def _direction(start: int, end: int) -> Role:
    return "right" if start < end else "left"


@dataclass(frozen=True, slots=True)
class Block:
    """The words `first` to `last` in one row, and the lines above and below them."""

    first: int
    last: int
    centres: list[int]  # the coordinates of the words
    width: int
    sides: list[list[Line]]


class Layout:
    """The words of a sentence, with their widths, and the arcs above and those below them.

    numbers: the numbers of the root and of the words, as they are drawn.
    """

    def __init__(
        self,
        widths: Sequence[int],
        arcs: Sequence[Sequence[Arc]],
        numbers: Sequence[str],
        measures: Measures,
    ) -> None:
        self.measures = measures
        self.sides = [Side(side_arcs, numbers, measures) for side_arcs in arcs]
        self.widths = [
            max(width, *(2 * side.reach(word) + 1 for side in self.sides))
            for word, width in enumerate(widths, start=1)
        ]

    def make_blocks(self, width: int) -> Iterator[Block]:
        """Make blocks of as many words as fit into a width, but at least one word."""
        first = 1
        while first <= len(self.widths):
            block = self._fit_block(first, width)
            for lines in block.sides:
                _assign_levels(lines, block)
                _place_labels(lines, self.measures.pad)
            yield block
            first = block.last + 1

    def _fit_block(self, first: int, width: int) -> Block:
        """Make the longest block that fits.

        Adding a word can make a block narrower, if arcs then end within the block. So the search
        starts from one word more than would fit if labels needed no space, and removes words from
        the end. The first word is never removed.
        """
        last, end = first, self.widths[first - 1]
        while last < len(self.widths) and end <= width:
            end += self.measures.gap + self.widths[last]
            last += 1
        block = self._make_block(first, last)
        while block.width > width and last > first:
            last -= 1
            block = self._make_block(first, last)
        return block

    def _make_block(self, first: int, last: int) -> Block:
        """Set words as near to each other as their widths and those of the labels allow."""
        sides = [list(side.make_lines(first, last)) for side in self.sides]
        ending: dict[int, list[tuple[End | None, int]]] = defaultdict(list)
        leaving: list[tuple[End | None, int]] = []
        for line in chain.from_iterable(sides):
            distance = line.label_width + line.mark_width + 2 * self.measures.pad + 1
            if line.end is None:
                leaving.append((line.start, distance))
            elif not line.is_vertical:
                ending[line.end.word].append((line.start, distance - line.end.offset))
        centres: list[int] = []
        right = -self.measures.gap

        def coordinate(end: End | None) -> int:
            return -1 if end is None else centres[end.word - first] + end.offset

        for word, width in enumerate(self.widths[first - 1 : last], start=first):
            minima = [coordinate(start) + distance for start, distance in ending[word]]
            centres.append(max([right + self.measures.gap + width // 2, *minima]))
            right = centres[-1] - width // 2 + width
        block_width = max([right, *(coordinate(start) + distance for start, distance in leaving)])
        for line in chain.from_iterable(sides):
            line.left = coordinate(line.start)
            line.right = block_width if line.end is None else coordinate(line.end)
        return Block(first, last, centres, block_width, sides)


def _assign_levels(lines: Sequence[Line], block: Block) -> None:
    """Set the levels of lines, short lines first, so that an arc is above all arcs that it covers.

    heights[i] is the highest level so far between the words first + i - 1 and first + i.
    """
    size = block.last - block.first + 1
    heights = np.zeros(size + 1, np.int64)
    for line in sorted(lines, key=lambda line: line.right - line.left):
        if not line.is_vertical:
            begin = line.start.word - block.first + 1 if line.start else 0
            end = line.end.word - block.first + 1 if line.end else size + 1
            line.level = 1 + int(heights[begin:end].max())
            heights[begin:end] = line.level
    for line in lines:
        if line.is_vertical and line.end:
            gap = line.end.word - block.first
            line.level = 1 + int(heights[gap : gap + 2].max())


def _place_labels(lines: Sequence[Line], pad: int) -> None:
    """Set the label of each line near its middle, where no stem of a higher line crosses it."""
    stems: list[int] = []
    for line in sorted(lines, key=lambda line: -line.level):
        if line.is_vertical:
            line.label_start = line.left - line.label_width // 2
        else:
            line.label_start = _find_label_start(line, stems, pad)
        for stem in {line.left, line.right}:
            insort(stems, stem)


def _find_label_start(line: Line, stems: Sequence[int], pad: int) -> int:
    """Return the start of a label as near to the middle of its line as the crossing stems allow.

    stems: the sorted coordinates of the stems of higher lines; pad: the preferred distance from
    them. If the label fits nowhere between the stems near the middle, it hides one.
    """
    left = line.left + (0 if line.start else line.mark_width)
    right = line.right - (0 if line.end else line.mark_width)
    middle = (left + right + 1 - line.label_width) // 2
    first, last = bisect_right(stems, left), bisect_left(stems, right)
    centre = bisect_left(stems, middle)
    low, high = max(first, centre - _NEAR_STEMS), min(last, centre + _NEAR_STEMS)
    bounds = [left] if low == first else []
    bounds += stems[low:high]
    gaps = list(pairwise([*bounds, right] if high == last else bounds))
    for distance in (pad, 0):
        starts = [
            min(max(middle, low + 1 + distance), high - line.label_width - distance)
            for low, high in gaps
            if high - low - 1 >= line.label_width + 2 * distance
        ]
        if starts:
            return min(starts, key=lambda start: abs(start - middle))
    return middle
