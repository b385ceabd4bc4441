"""Tables of scores as plain text, Markdown, LaTeX (booktabs), HTML or CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Row = Sequence[str]

_LONGEST = 54  # characters of a file's name
_NUMERIC = "0123456789.,+-<"

_LATEX = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"$<$", ">": r"$>$", "|": r"$|$", "×": r"$\times$"}
)


def text_table(header: Row, rows: Sequence[Row], note: str = "", title: str = "") -> str:
    """Columns aligned by blanks, numbers at the right; the title above, the note below."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    names = name_columns(header, rows)
    lines = []
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if name else cell.rjust(width)
            for cell, width, name in zip(row, widths, names, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*title.splitlines(), *lines, *note.splitlines()])


def markdown_table(header: Row, rows: Sequence[Row], note: str = "", title: str = "") -> str:
    """A pipe table, numbers at the right; the note below, as an indented block of code."""
    marks = [":--" if name else "--:" for name in name_columns(header, rows)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in (header, marks, *escaped)]
    above = [f"**{title}**", ""] if title else []
    below = ["", *(f"    {line}" for line in note.splitlines())] if note else []
    return "\n".join([*above, *lines, *below])


def latex_table(header: Row, rows: Sequence[Row], note: str = "", title: str = "") -> str:
    """A tabular in the rules of the package booktabs; title and note above, as comments."""
    body = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in (header, *rows)]
    marks = "".join("l" if name else "r" for name in name_columns(header, rows))
    return "\n".join(
        [
            *(f"% {line}" for line in (title + "\n" + note).splitlines() if line),
            rf"\begin{{tabular}}{{{marks}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def html_table(header: Row, rows: Sequence[Row], note: str = "") -> str:
    """A table as a notebook shows it, numbers at the right; the note below."""
    styles = ["left" if name else "right" for name in name_columns(header, rows)]
    lines = [
        "<tr>" + "".join(
            f'<{tag} style="text-align: {style}">{escape(cell)}</{tag}>'
            for cell, style in zip(row, styles, strict=True)
        ) + "</tr>"
        for tag, row in [("th", header), *(("td", row) for row in rows)]
    ]  # fmt: skip
    below = [f"<p><small>{escape(note)}</small></p>"] if note else []
    return "\n".join(["<table>", *lines, "</table>", *below])


TABLES = {"text": text_table, "markdown": markdown_table, "latex": latex_table}


def name_columns(header: Row, rows: Sequence[Row]) -> list[bool]:
    """Which columns hold names: the first, and those with a cell that is no number."""
    return [i == 0 or any(row[i].strip(_NUMERIC) for row in rows) for i in range(len(header))]


def short_names(paths: Sequence[str]) -> list[str]:
    """What tells files apart: the fewest last folders, no common ending; printable, not endless."""
    split = [path.split("/") for path in paths]
    depth = 1
    while len({tuple(parts[-depth:]) for parts in split}) < len(set(paths)):
        depth += 1
    split = [parts[-depth:] for parts in split]
    _strip(split)
    pieces = ["/".join(parts).split(".") for parts in split]
    if len(paths) > 1:
        _strip(pieces)
    elif len(pieces[0]) > 1:
        del pieces[0][-1]
    names: list[str] = []
    for i, parts in enumerate(pieces, start=1):
        name = "".join(x if x.isprintable() else "?" for x in ".".join(parts)) or f"system {i}"
        name = clipped(name, _LONGEST)
        names.append(f"{name} ({i})" if name in names else name)
    return names


def clipped(text: str, longest: int) -> str:
    """A text without its middle if it is longer than that."""
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 :]}"


def _strip(split: list[list[str]]) -> None:
    """Remove the last parts that all have in common, but leave each one part."""
    while len({parts[-1] for parts in split}) == 1 and all(len(parts) > 1 for parts in split):
        for parts in split:
            del parts[-1]


def percent(value: float | None, decimals: int = 2) -> str:
    """A score as it stands in a table, `-` if there is none."""
    return "-" if value is None else f"{value:.{decimals}f}"


def p_value(value: float | None) -> str:
    """A p value as it stands in a table."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.00005 else f"{value:.4f}"


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A record for CSV: what is nested has its keys joined by `_`; nothing for None."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}_")
        else:
            found[prefix + key] = "" if value is None else value
    return found


def csv_table(header: Row, rows: Sequence[Row]) -> str:
    r"""Comma-separated values (RFC 4180, but lines end at \n), header first."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue().removesuffix("\n")
