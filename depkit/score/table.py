"""Tables of scores as plain text, Markdown, LaTeX (booktabs), HTML, CSV or TSV."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from depkit.files.terminal import cell_width

Row = Sequence[str]

_MAX_NAME_LENGTH = 54  # characters of the name of a system
_NUMERIC = "0123456789.,+-<"
# Where a spreadsheet may see a formula begin: at the beginning of a cell, or after what it may take
# for the end of one. Apostrophes before a formula count, so that each that is added can be removed.
_FORMULA = re.compile(r"(?:\A|(?<=[;,\t]))(?=(?:[^\S\t]|[\"'])*+[=+\-@＝＋－＠])")

_ENTITY = re.compile(r"&(?=#?[0-9A-Za-z]{1,32};)")
_MARKDOWN = str.maketrans({"<": "&lt;", ">": "&gt;", "|": r"\|"})
# After the end of a row, LaTeX takes `[` for an option and `*` for a part of the command.
LATEX_ESCAPES = (
    {character: "\\" + character for character in "%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"[": "{[}", "*": "{*}"}
)
_LATEX = str.maketrans(
    LATEX_ESCAPES | {"&": r"\&", "<": "$<$", ">": "$>$", "|": "$|$", "×": r"$\times$"}
)


def text_table(header: Row, rows: Sequence[Row], note: str = "", title: str = "") -> str:
    """Return a plain-text table; title, note: lines above and below it."""
    widths = [max(map(cell_width, column)) for column in zip(header, *rows, strict=True)]
    is_name_column = name_columns(header, rows)
    lines = []
    for row in (header, *rows):
        cells = []
        for cell, width, is_name in zip(row, widths, is_name_column, strict=True):
            spaces = " " * (width - cell_width(cell))
            cells.append(cell + spaces if is_name else spaces + cell)
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*title.splitlines(), *lines, *note.splitlines()])


def markdown_table(header: Row, rows: Sequence[Row], note: str = "", title: str = "") -> str:
    """Return a Markdown table with a bold title above it and the note as code below it."""
    alignments = [":--" if is_name else "--:" for is_name in name_columns(header, rows)]
    escaped = [[_escape_markdown(cell) for cell in row] for row in (header, *rows)]
    escaped.insert(1, alignments)
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    title_lines = [f"**{_escape_markdown(title)}**", ""] if title else []
    note_lines = ["", *(f"    {line}" for line in note.splitlines())] if note else []
    return "\n".join([*title_lines, *lines, *note_lines])


def _escape_markdown(text: str) -> str:
    return _ENTITY.sub("&amp;", text).translate(_MARKDOWN)


def latex_table(header: Row, rows: Sequence[Row], note: str = "", title: str = "") -> str:
    """Return a LaTeX tabular with the rules of booktabs; title, note: comments above it."""
    body = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in (header, *rows)]
    alignments = "".join("l" if is_name else "r" for is_name in name_columns(header, rows))
    return "\n".join(
        [
            *(f"% {line}" for line in (title + "\n" + note).splitlines() if line),
            rf"\begin{{tabular}}{{{alignments}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def html_table(header: Row, rows: Sequence[Row], note: str = "") -> str:
    """Return an HTML table for notebooks, with the note in a paragraph below it."""
    styles = ["left" if is_name else "right" for is_name in name_columns(header, rows)]
    lines = [
        "<tr>" + "".join(
            f'<{tag} style="text-align: {style}">{escape(cell)}</{tag}>'
            for cell, style in zip(row, styles, strict=True)
        ) + "</tr>"
        for tag, row in [("th", header), *(("td", row) for row in rows)]
    ]  # fmt: skip
    note_lines = [f"<p><small>{escape(note)}</small></p>"] if note else []
    return "\n".join(["<table>", *lines, "</table>", *note_lines])


TABLES = {"text": text_table, "markdown": markdown_table, "latex": latex_table}


def name_columns(header: Row, rows: Sequence[Row]) -> list[bool]:
    """Return which columns contain names: the first, and those with a cell that is not a number."""
    return [i == 0 or any(row[i].strip(_NUMERIC) for row in rows) for i in range(len(header))]


def short_names(paths: Sequence[str]) -> list[str]:
    """Shorten paths to distinct names for a table: `dev/a.conllu`, `dev/b.conllu` to `a`, `b`.

    A name has as few folders as necessary and no ending that all paths share. Characters that
    cannot be printed become `?`, and the middle of a very long name becomes an ellipsis.
    """
    folders = [path.split("/") for path in paths]
    depth = 1
    while len({tuple(parts[-depth:]) for parts in folders}) < len(set(paths)):
        depth += 1
    folders = [parts[-depth:] for parts in folders]
    _remove_common_ending(folders)
    suffixes = ["/".join(parts).split(".") for parts in folders]
    if len(paths) > 1:
        _remove_common_ending(suffixes)
    elif len(suffixes[0]) > 1:
        del suffixes[0][-1]
    names: list[str] = []
    for i, parts in enumerate(suffixes, start=1):
        name = "".join(x if x.isprintable() else "?" for x in ".".join(parts)) or f"system {i}"
        name = shorten(name, _MAX_NAME_LENGTH)
        names.append(f"{name} ({i})" if name in names else name)
    return names


def shorten(text: str, max_length: int) -> str:
    """Replace the middle of a text that has more than `max_length` characters by an ellipsis."""
    if len(text) <= max_length:
        return text
    return f"{text[: max_length // 2]}…{text[-max_length // 2 :]}"


def _remove_common_ending(paths: list[list[str]]) -> None:
    """Remove the last parts that all paths share, except the only part of a path; in place."""
    while len({parts[-1] for parts in paths}) == 1 and all(len(parts) > 1 for parts in paths):
        for parts in paths:
            del parts[-1]


def format_percent(value: float | None, decimals: int = 2) -> str:
    """Format a score for a table; None becomes `-`."""
    return "-" if value is None else f"{value:.{decimals}f}"


def format_p_value(value: float | None) -> str:
    """Format a p value for a table; None becomes `-`."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def flatten_record(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten a record for CSV: nested keys are joined by `_`, and None becomes an empty text."""
    flattened: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            flattened |= flatten_record(value, f"{prefix}{key}_")
        else:
            flattened[prefix + key] = "" if value is None else value
    return flattened


def csv_table(header: Row, rows: Sequence[Row], delimiter: str = ",") -> str:
    r"""Return comma-separated values (RFC 4180, but lines end in \n), header first.

    With another delimiter, such as a tab, cells that contain it are quoted instead.

    What a spreadsheet would run as a formula, such as the label `=1+1`, gets an apostrophe before
    it, also within a cell, as some spreadsheets split cells at other delimiters. So does `'=1+1`.
    """
    return "\n".join(
        _csv_row([_disarm(cell) for cell in row], delimiter) for row in (header, *rows)
    )


def _csv_row(cells: Row, delimiter: str) -> str:
    stream = io.StringIO()
    # With this line end, the writer also quotes cells that contain \r, which ends a row as well.
    csv.writer(stream, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    return stream.getvalue().removesuffix("\r\n")


def _disarm(cell: str) -> str:
    """Put an apostrophe before what begins like a formula, unless the cell is a number."""
    try:
        float(cell)
    except ValueError:
        return _FORMULA.sub("'", cell)
    return cell
