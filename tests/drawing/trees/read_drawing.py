"""A reader of drawings of arcs, which follows the lines character by character."""

import re
from collections.abc import Sequence

from depkit.files.terminal import cell_width

UPSIDE_DOWN = str.maketrans("▲╰╯", "▼╭╮")
FORM = re.compile("w([0-9]+)w")


def read_drawing(lines: Sequence[str]) -> tuple[dict[int, tuple[int, str]], ...]:
    """Return head and label of each word by the arcs above the words, and by the arcs below.

    The words must be w1w, w2w, ... without tags. The head is 0 for a vertical line.
    """
    above: dict[int, tuple[int, str]] = {}
    below: dict[int, tuple[int, str]] = {}
    for block in "\n".join(lines).split("\n\n"):
        rows = block.split("\n")
        [index] = [index for index, row in enumerate(rows) if FORM.search(row)]
        centres = {match.start() + 1: int(match[1]) for match in FORM.finditer(rows[index])}
        rest = rows[index + 1 :]
        if rest and re.fullmatch("[ 0-9]+", rest[0]):  # the numbers of wrapped words
            rest.pop(0)
        above |= _arcs(rows[:index][::-1], centres)
        below |= _arcs([row.translate(UPSIDE_DOWN) for row in rest], centres)
    return above, below


def _arcs(rows: Sequence[str], centres: dict[int, int]) -> dict[int, tuple[int, str]]:
    """Return the arcs in rows of characters; the first row is next to the words."""
    cells = [_cells(row) for row in rows]
    size = max(map(len, cells), default=0)
    grid = [row + [" "] * (size - len(row)) for row in cells]

    def word(column: int) -> int:
        return centres[min(centres, key=lambda centre: abs(centre - column))]

    arcs = {}
    for column in range(size):
        if grid[0][column] == "▼":
            end, label = _follow(grid, column)
            head = 0 if end is None else word(end) if isinstance(end, int) else int(end)
            assert word(column) not in arcs
            arcs[word(column)] = head, label
    return arcs


def _cells(row: str) -> list[str]:
    """Return the character of each cell; the second cell of a wide character is empty."""
    return [cell for character in row for cell in [character, ""][: cell_width(character)]]


def _follow(grid: Sequence[Sequence[str]], column: int) -> tuple[int | str | None, str]:
    """Follow the line from an arrow; return the end and the label of the line.

    The end is a column, the text of a number at the edge of a block, or None for a vertical line.
    Other lines may cross the line, and a label may hide a part of it.
    """
    level = 1
    while grid[level][column] not in ("╭", "╮"):
        if level + 1 == len(grid) or grid[level + 1][column] == " ":
            return None, _text_at(grid[level], column)
        level += 1
    row = grid[level]
    step, ends = (1, ("╮", "┤", "┄")) if row[column] == "╭" else (-1, ("╭", "├", "┄"))
    end = column + step
    while row[end] not in ends:
        end += step
    left, right = sorted((column, end))
    label = "".join(row[left + 1 : right]).strip("─┼")
    if row[end] == "┄":
        return "".join(row[right:] if step > 0 else row[:left]).strip(" ┄").split(" ")[0], label
    return end, label


def _text_at(row: Sequence[str], column: int) -> str:
    """Return the text without spaces around a column."""
    start = end = column
    while start > 0 and row[start - 1] != " ":
        start -= 1
    while end < len(row) and row[end] != " ":
        end += 1
    return "".join(row[start:end])
