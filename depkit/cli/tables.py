"""Tables as commands print them: with rich on a terminal, elsewhere with `score.table`."""

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from textwrap import wrap
from typing import Any, Literal

from depkit.score.table import TABLES, name_columns

Cell = tuple[int, int]  # row and column
GAP = 2  # blanks between columns
LEAST = 12  # width to which a column of names is folded if the table is wider than the terminal


@dataclass
class Table:
    """A table; best: the cells that are highlighted on a terminal, see `best_systems`."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    best: Collection[Cell] = ()


def best_cells(
    rows: Sequence[Sequence[str]],
    compared: Iterable[Sequence[Cell]],
    best: Callable[[Iterable[float]], float] = max,
) -> set[Cell]:
    """The cells with the best number of their group, unless all numbers of the group are the same.

    compared: the groups. best: max, or min where less is better. Cells with "-" do not count.
    """
    found: set[Cell] = set()
    for cells in compared:
        values = {(i, j): float(rows[i][j]) for i, j in cells if rows[i][j] != "-"}
        if len({*values.values()}) > 1:
            top = best(values.values())
            found |= {cell for cell, value in values.items() if value == top}
    return found


def best_systems(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    scores: Collection[str],
    best: Callable[[Iterable[float]], float] = max,
) -> set[Cell]:
    """The cells of the best system in each column of `scores`.

    Compared are the rows that agree in all columns before the column "system": the systems of one
    bin, say. best: as for `best_cells`.
    """
    if "system" not in columns:
        return set()
    at = columns.index("system")
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(row[:at]), []).append(i)
    judged = [j for j, name in enumerate(columns) if name in scores]
    return best_cells(
        rows, ([(i, j) for i in group] for group in groups.values() for j in judged), best
    )


def rendered(table: Table, layout: str = "text") -> str:
    """A table in a layout of `score.table.TABLES`; on a terminal, text is fitted to its width."""
    if layout == "text" and _on_terminal():
        return _drawn(table)
    return TABLES[layout](table.columns, table.rows, table.note, table.title)


def rendered_facts(facts: Sequence[tuple[str, str]]) -> str:
    """A list of labels, each with its text beside it."""
    if _on_terminal():
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for fact in facts:
            grid.add_row(*map(Text, fact))  # a plain string would be read as markup
        return _captured(grid)
    width = max(len(label) for label, _ in facts)
    return "\n".join(f"{label:{width}}  {text}" for label, text in facts)


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _drawn(table: Table) -> str:
    """The table as rich draws it; where it is too wide, some columns below the others."""
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    names = name_columns(table.columns, table.rows)
    header = list(table.columns)
    widths = [max(map(cell_len, cells)) for cells in zip(header, *table.rows, strict=True)]
    parts = [list(range(len(header)))]
    terminal = Console().width
    if sum(widths) + GAP * (len(widths) - 1) > terminal:
        # Fold the cells of columns of names, and the headers of columns of numbers.
        for j, name in enumerate(names):
            cells = max((cell_len(row[j]) for row in table.rows), default=0)
            longest = max(map(cell_len, header[j].split()), default=0)
            widths[j] = min(widths[j], LEAST) if name else max(cells, longest)
            header[j] = header[j] if name else "\n".join(wrap(header[j], widths[j]))
        parts = _parts(widths, names, terminal)
    drawn_parts = []
    for part in parts:
        drawn = Drawn(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        drawn.header_style = ""
        for j in part:
            side: Literal["left", "right"] = "left" if names[j] else "right"
            drawn.add_column(Text(header[j]), justify=side, no_wrap=not names[j], overflow="fold")
        for i, row in enumerate(table.rows):
            styles = ("bold green" if (i, j) in table.best else "" for j in part)
            drawn.add_row(*map(Text, (row[j] for j in part), styles))
        drawn_parts.append(_captured(drawn))
    title = [_captured(Text(table.title, "bold"))] if table.title else []
    return "\n".join([*title, "\n\n".join(drawn_parts), *table.note.splitlines()])


def _parts(widths: Sequence[int], names: Sequence[bool], terminal: int) -> list[list[int]]:
    """Which columns stand side by side in each part of a table that is too wide.

    The columns of names at the left are repeated in every part.
    """
    first = list(takewhile(names.__getitem__, range(len(names))))
    parts = [first]
    for j in range(len(first), len(names)):
        if parts[-1] != first and sum(GAP + widths[k] for k in (*parts[-1], j)) - GAP > terminal:
            parts.append(first)
        parts[-1] = [*parts[-1], j]
    return parts


def _captured(drawn: Any) -> str:
    """What rich prints of something, with escape sequences for colours unless NO_COLOR is set."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip("\n")
