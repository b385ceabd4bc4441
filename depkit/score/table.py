"""Tables of scores as plain text, Markdown, LaTeX (booktabs) or CSV; the first column is names."""

import csv
import io
from collections.abc import Sequence

Row = Sequence[str]

_LATEX = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def text_table(header: Row, rows: Sequence[Row], note: str) -> str:
    """Columns aligned by blanks, numbers at the right; the note below."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        numbers = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *numbers]))
    return "\n".join([*lines, note])


def markdown_table(header: Row, rows: Sequence[Row], note: str) -> str:
    """A pipe table, numbers at the right; the note below, as an indented block of code."""
    marks = [":--", *["--:"] * (len(header) - 1)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in (header, marks, *escaped)]
    return "\n".join([*lines, "", f"    {note}"])


def latex_table(header: Row, rows: Sequence[Row], note: str) -> str:
    """A tabular in the rules of the package booktabs; the note above, as a comment."""
    body = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in (header, *rows)]
    return "\n".join(
        [
            f"% {note}",
            rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def csv_table(header: Row, rows: Sequence[Row]) -> str:
    r"""Comma-separated values (RFC 4180, but lines end at \n), header first."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue().removesuffix("\n")
