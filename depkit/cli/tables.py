"""Printing tables: with rich on a terminal, with `score.table` elsewhere."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from textwrap import wrap
from typing import Any, Literal

from depkit.cli.output import is_terminal
from depkit.files.terminal import cell_width, escape_controls
from depkit.score.table import TABLES, format_p_value, name_columns

Cell = tuple[int, int]  # row and column
GAP = 2  # spaces between columns
FOLDED_WIDTH = 12  # of a column of names if the table is wider than the terminal


@dataclass
class Table:
    """A table to print."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    best: Collection[Cell] = ()  # the cells to highlight on a terminal, see `best_systems`


def best_cells(
    rows: Sequence[Sequence[str]],
    compared: Iterable[Sequence[Cell]],
    best: Callable[[Iterable[float]], float] = max,
) -> set[Cell]:
    """Return the cells with the best number of their group, except groups of equal numbers.

    compared: the groups of cells; those that contain "-" are ignored. best: `max`, or `min` for
    scores of which lower values are better.
    """
    result: set[Cell] = set()
    for cells in compared:
        values = {(i, j): float(rows[i][j]) for i, j in cells if rows[i][j] != "-"}
        if len({*values.values()}) > 1:
            top = best(values.values())
            result |= {cell for cell, value in values.items() if value == top}
    return result


def best_systems(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    scores: Collection[str],
    best: Callable[[Iterable[float]], float] = max,
) -> set[Cell]:
    """Return the cells of the best system in each column of scores.

    Two rows are compared if they are equal in all columns before the column "system", for example
    the rows of two systems for the same bin. scores: the names of the columns whose best cells are
    returned; best: as for `best_cells`.
    """
    if "system" not in columns:
        return set()
    system_column = columns.index("system")
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(row[:system_column]), []).append(i)
    score_columns = [j for j, name in enumerate(columns) if name in scores]
    return best_cells(
        rows, ([(i, j) for i in group] for group in groups.values() for j in score_columns), best
    )


def make_table(
    title: str,
    rows: Sequence[Mapping[str, str]],
    scores: Collection[str],
    note: str = "",
    *,
    best: Callable[[Iterable[float]], float] = max,
) -> Table:
    """Return a table of rows of cells by column, in which the best systems are highlighted.

    If all rows are of one system, the title names it instead of a column.

    scores, best: as for `best_systems`.
    """
    names = {row["system"] for row in rows}
    if len(names) == 1:
        title = f"{title}: {names.pop()}" if title else ""
        rows = [{name: row[name] for name in row if name != "system"} for row in rows]
    columns = list(rows[0])
    body = [list(row.values()) for row in rows]
    return Table(title, columns, body, note, best_systems(columns, body, scores, best))


def significance_cells(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of a difference and its p values; missing ones are "-"."""
    difference = result.get("difference")
    return {
        "difference": "-" if difference is None else f"{difference:+.2f}",
        "p": format_p_value(result.get("p")),
        "p (Holm)": format_p_value(result.get("p_adjusted")),
    }


def render_table(table: Table, layout: str = "text") -> str:
    """Format a table in a layout of `score.table.TABLES`; "text" fits the terminal's width."""
    if is_terminal():
        table = _escape(table)
        if layout == "text":
            return _render_with_rich(table)
    return TABLES[layout](table.columns, table.rows, table.note, table.title)


def render_facts(facts: Sequence[tuple[str, str]]) -> str:
    """Format pairs of a label and a text as two columns."""
    if is_terminal():
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for fact in facts:
            # A plain string would be read as markup.
            grid.add_row(*(Text(escape_controls(cell)) for cell in fact))
        return _render_to_text(grid)
    width = max(len(label) for label, _ in facts)
    return "\n".join(f"{label:{width}}  {text}" for label, text in facts)


def terminal_width() -> int:
    """Return the number of columns of the terminal."""
    from rich.console import Console

    return Console().width


def _escape(table: Table) -> Table:
    """Escape control characters in the texts of a table; only the lines of its note stay."""
    return replace(
        table,
        title=escape_controls(table.title),
        columns=list(map(escape_controls, table.columns)),
        rows=[list(map(escape_controls, row)) for row in table.rows],
        note=escape_controls(table.note, "\n"),
    )


def _render_with_rich(table: Table) -> str:
    """Format a table with rich; a table that is too wide is split into parts below each other."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    is_name = name_columns(table.columns, table.rows)
    header = list(table.columns)
    widths = [max(map(cell_width, cells)) for cells in zip(header, *table.rows, strict=True)]
    parts = [list(range(len(header)))]
    terminal = terminal_width()
    if sum(widths) + GAP * (len(widths) - 1) > terminal:
        # Fold the cells in columns of names and the headers of columns of numbers.
        for j in range(len(header)):
            cells = max((cell_width(row[j]) for row in table.rows), default=0)
            longest = max(map(cell_width, header[j].split()), default=0)
            widths[j] = min(widths[j], FOLDED_WIDTH) if is_name[j] else max(cells, longest)
            header[j] = header[j] if is_name[j] else "\n".join(wrap(header[j], widths[j]))
        parts = _split_columns(widths, is_name, terminal)
    texts = []
    for part in parts:
        grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        grid.header_style = ""
        for j in part:
            side: Literal["left", "right"] = "left" if is_name[j] else "right"
            grid.add_column(Text(header[j]), justify=side, no_wrap=not is_name[j], overflow="fold")
        for i, row in enumerate(table.rows):
            styles = ("bold green" if (i, j) in table.best else "" for j in part)
            grid.add_row(*map(Text, (row[j] for j in part), styles))
        texts.append(_render_to_text(grid))
    title = [_render_to_text(Text(table.title, "bold"))] if table.title else []
    return "\n".join([*title, "\n\n".join(texts), *table.note.splitlines()])


def _split_columns(
    widths: Sequence[int], is_name: Sequence[bool], terminal: int
) -> list[list[int]]:
    """Return the columns of each part of a table that is too wide for the terminal.

    Every part begins with the leftmost columns if they contain names. widths: of each column;
    is_name: for each column, whether it contains names; terminal: its width.
    """
    leading = list(takewhile(is_name.__getitem__, range(len(is_name))))
    parts = [leading]
    for j in range(len(leading), len(is_name)):
        if parts[-1] != leading and sum(GAP + widths[k] for k in (*parts[-1], j)) - GAP > terminal:
            parts.append(leading)
        parts[-1] = [*parts[-1], j]
    return parts


def _render_to_text(renderable: Any) -> str:
    """Return what rich prints; it has escape sequences for colours unless NO_COLOR is set."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get().rstrip("\n")
