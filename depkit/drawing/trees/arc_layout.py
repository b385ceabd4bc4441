"""Where the words and arcs of a drawing stand, in any unit: terminal cells, points.

An arc leaves its head and enters its dependent at a port. From the left, a word has one port for
all its dependents on the left, one for its own head, one for all its dependents on the right:
arcs to dependents share a stem, and no arc of a projective tree crosses another.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from depkit.drawing.trees.shown import Arc, Kind

Role = Literal["left", "head", "right"]


class Measures(NamedTuple):
    """The distances of a drawing.

    text: the width of a text; step: half of that between two ports; gap: between words; pad: of
    bare line on either side of a label.
    """

    text: Callable[[str], int]
    step: int
    gap: int
    pad: int


class End(NamedTuple):
    """Where an arc meets a word: how far right of the word's centre, and whether it enters it."""

    word: int
    offset: int
    enters: bool


@dataclass(slots=True)
class Line:
    """An arc, or what one block of words has of it.

    start, end: its left and right end, the same for an upright arc, None for one in another
    block, whose words' numbers are in `beyond`. left, right: where these are, -1 and the block's
    width for those in other blocks. level: 1 is next to the words. label_at: where it begins.
    """

    start: End | None
    end: End | None
    label: str
    size: int
    kind: Kind
    beyond: str = ""
    left: int = 0
    right: int = 0
    level: int = 0
    label_at: int = 0

    @property
    def upright(self) -> bool:
        """Whether it just goes straight up."""
        return self.start is self.end

    @property
    def mark(self) -> int:
        """The width of what stands for the end in another block: its number, one place more."""
        return len(self.beyond) + 1 if self.beyond else 0


class Side:
    """The arcs on one side of the words, above or below, and the ports where they meet them."""

    def __init__(self, arcs: Sequence[Arc], measures: Measures) -> None:
        self.measures = measures
        self.incoming = {arc.dependent: arc for arc in arcs}
        self.outgoing: dict[tuple[int, Role], list[Arc]] = defaultdict(list)
        for arc in arcs:
            if not arc.upright:
                self.outgoing[arc.head, _direction(arc.head, arc.dependent)].append(arc)
        self.offsets = self._offsets()

    def _offsets(self) -> dict[tuple[int, Role], int]:
        """How far right of its word's centre each port is."""
        ports: dict[int, list[tuple[int, Role]]] = defaultdict(list)
        for word, role in self.outgoing:
            ports[word].append((-2 if role == "left" else 2, role))
        for word, arc in self.incoming.items():
            ports[word].append((self._rank(arc), "head"))
        return {
            (word, role): (2 * place - len(ranked) + 1) * self.measures.step
            for word, ranked in ports.items()
            for place, (_, role) in enumerate(sorted(ranked))
        }

    def _rank(self, arc: Arc) -> int:
        """Where an incoming arc comes among its word's ports, the others being at -2 and 2.

        Nearest to the middle, so that it bends over the arcs to dependents, unless it is
        shorter than all of these: then it stays under them.
        """
        if arc.upright:
            return 0
        role = _direction(arc.dependent, arc.head)
        dependents = self.outgoing.get((arc.dependent, role), [])
        shortest = min((abs(other.dependent - other.head) for other in dependents), default=0)
        rank = 3 if abs(arc.dependent - arc.head) < shortest else 1
        return rank if role == "right" else -rank

    def reach(self, word: int) -> int:
        """How far a word's arcs go to the left and right of its centre, upright labels too."""
        roles: tuple[Role, ...] = ("left", "head", "right")
        reach = max(abs(self.offsets.get((word, role), 0)) for role in roles)
        arc = self.incoming.get(word)
        if arc and arc.upright:
            half = self.measures.text(arc.label) // 2
            return max(reach, abs(self.offsets[word, "head"]) + half)
        return reach

    def lines(self, first: int, last: int) -> Iterator[Line]:
        """What the words of a block have of arcs, yet without a place."""
        for word in range(first, last + 1):
            if word in self.incoming:
                yield self._incoming(self.incoming[word], first, last)
            if beyond := [a for a in self.outgoing.get((word, "left"), ()) if a.dependent < first]:
                yield self._stub(None, self._end(word, "left"), beyond)
            if beyond := [a for a in self.outgoing.get((word, "right"), ()) if a.dependent > last]:
                yield self._stub(self._end(word, "right"), None, beyond)

    def _incoming(self, arc: Arc, first: int, last: int) -> Line:
        own = self._end(arc.dependent, "head")
        label = arc.label, self.measures.text(arc.label), arc.kind
        if arc.upright:
            return Line(own, own, *label)
        inside = first <= arc.head <= last
        role = _direction(arc.head, arc.dependent)
        other = self._end(arc.head, role) if inside else None
        start, end = (other, own) if role == "right" else (own, other)
        return Line(start, end, *label, "" if inside else str(arc.head))

    def _end(self, word: int, role: Role) -> End:
        return End(word, self.offsets[word, role], role == "head")

    def _stub(self, start: End | None, end: End | None, arcs: Sequence[Arc]) -> Line:
        """All that leaves a word for another block on one side; the labels are shown there."""
        kind = arcs[0].kind if len({arc.kind for arc in arcs}) == 1 else "plain"
        numbers = [str(arc.dependent) for arc in arcs[:2]] + ["…"] * (len(arcs) > 2)
        return Line(start, end, "", 0, kind, ",".join(numbers))


def _direction(word: int, other: int) -> Role:
    return "right" if word < other else "left"


@dataclass(frozen=True, slots=True)
class Block:
    """The words that stand in one row, `first` to `last`, and their arcs on each side."""

    first: int
    last: int
    centres: list[int]
    width: int
    sides: list[list[Line]]


class Layout:
    """The words of a sentence and the arcs on each side of them, to be put into blocks."""

    def __init__(
        self, widths: Sequence[int], arcs: Sequence[Sequence[Arc]], measures: Measures
    ) -> None:
        self.measures = measures
        self.sides = [Side(some, measures) for some in arcs]
        self.cells = [
            max(width, *(2 * side.reach(word) + 1 for side in self.sides))
            for word, width in enumerate(widths, start=1)
        ]

    def blocks(self, width: int) -> Iterator[Block]:
        """Blocks of as many words as fit into the width, one word at least."""
        first = 1
        while first <= len(self.cells):
            block = self._fitting(first, width)
            for lines in block.sides:
                _stack(lines, block)
                _place_labels(lines, self.measures.pad)
            yield block
            first = block.last + 1

    def _fitting(self, first: int, width: int) -> Block:
        """The longest block that fits; a longer one can be narrower, for arcs end within it."""
        last, end = first, self.cells[first - 1]
        while last < len(self.cells) and end <= width:
            end += self.measures.gap + self.cells[last]
            last += 1
        block = self._block(first, last)
        while block.width > width and last > first:
            last -= 1
            block = self._block(first, last)
        return block

    def _block(self, first: int, last: int) -> Block:
        """Words as near to each other as their own widths and those of the labels allow."""
        sides = [list(side.lines(first, last)) for side in self.sides]
        ending: dict[int, list[tuple[End | None, int]]] = defaultdict(list)
        leaving: list[tuple[End | None, int]] = []
        for line in chain.from_iterable(sides):
            distance = line.size + line.mark + 2 * self.measures.pad + 1
            if line.end is None:
                leaving.append((line.start, distance))
            elif not line.upright:
                ending[line.end.word].append((line.start, distance - line.end.offset))
        centres: list[int] = []
        right = -self.measures.gap

        def place(end: End | None) -> int:
            return -1 if end is None else centres[end.word - first] + end.offset

        for word, cell in enumerate(self.cells[first - 1 : last], start=first):
            needs = [place(start) + distance for start, distance in ending[word]]
            centres.append(max([right + self.measures.gap + cell // 2, *needs]))
            right = centres[-1] - cell // 2 + cell
        width = max([right, *(place(start) + distance for start, distance in leaving)])
        for line in chain.from_iterable(sides):
            line.left = place(line.start)
            line.right = width if line.end is None else place(line.end)
        return Block(first, last, centres, width, sides)


def _stack(lines: Sequence[Line], block: Block) -> None:
    """Levels, so that an arc lies above all that are under it: the short ones go first.

    heights[i]: the highest level so far between words first + i - 1 and first + i.
    """
    size = block.last - block.first + 1
    heights = [0] * (size + 1)
    for line in sorted(lines, key=lambda line: line.right - line.left):
        if not line.upright:
            begin = line.start.word - block.first + 1 if line.start else 0
            end = line.end.word - block.first + 1 if line.end else size + 1
            line.level = 1 + max(heights[begin:end])
            heights[begin:end] = [line.level] * (end - begin)
    for line in lines:
        if line.upright and line.end:
            gap = line.end.word - block.first
            line.level = 1 + max(heights[gap], heights[gap + 1])


def _place_labels(lines: Sequence[Line], pad: int) -> None:
    """Every label near the middle of its line, where no stem of a higher one crosses it."""
    stems: list[int] = []
    for line in sorted(lines, key=lambda line: -line.level):
        if line.upright:
            line.label_at = line.left - line.size // 2
        else:
            line.label_at = _free(line, stems, pad)
        for stem in {line.left, line.right}:
            insort(stems, stem)


def _free(line: Line, stems: Sequence[int], pad: int) -> int:
    """Where a label may begin, as near to the middle as the stems that cross its line allow.

    stems: the columns of all that rise higher. If it fits nowhere, one has to pass behind it.
    """
    left = line.left + (0 if line.start else line.mark)
    right = line.right - (0 if line.end else line.mark)
    middle = (left + right + 1 - line.size) // 2
    crossing = stems[bisect_right(stems, left) : bisect_left(stems, right)]
    gaps = list(pairwise([left, *crossing, right]))
    for bare in (pad, 0):
        places = [
            min(max(middle, low + 1 + bare), high - line.size - bare)
            for low, high in gaps
            if high - low - 1 >= line.size + 2 * bare
        ]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    return middle
