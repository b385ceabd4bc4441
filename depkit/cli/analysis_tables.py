"""The tables of `depkit analyze`, and their texts in all formats."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from depkit.cli.comparison_tables import shorten_system_names
from depkit.cli.output import is_terminal, print_output
from depkit.cli.tables import (
    GAP,
    Table,
    make_table,
    render_table,
    significance_cells,
    terminal_width,
)
from depkit.drawing.trees.cells import clip
from depkit.files.terminal import cell_width
from depkit.score.analysis import Analysis
from depkit.score.report import Options, total_rows
from depkit.score.significance import describe_test
from depkit.score.table import csv_table, flatten_record, format_percent

Record = dict[str, Any]
RecordsAndTables = tuple[list[Record], list[Table]]  # the records of tables, for JSON and CSV
_WIDTH = 80  # columns of a table with the texts of sentences, if stdout is not a terminal
_MIN_TEXT = 20  # columns of the text of a sentence


def print_tables(pairs: Sequence[RecordsAndTables], layout: str, signature: str) -> None:
    """Print all tables and the signature; in JSON and CSV, it is in each row."""
    tables = [table for _, tables in pairs for table in tables]
    if layout not in ("json", "csv"):
        note = "\n".join(filter(None, [tables[-1].note, signature]))
        tables[-1] = replace(tables[-1], note=note)
        print_output("\n\n".join(render_table(x, layout) for x in tables), colours=True)
        return
    records = [row | {"signature": signature} for records, _ in pairs for row in records]
    if layout == "json":
        print_output(json.dumps(records, indent=2))
        return
    cells = [flatten_record(record) for record in records]
    header = list(cells[0]) if cells else list(tables[0].columns)
    print_output(csv_table(header, [[str(value) for value in row.values()] for row in cells]))


def bins_table(analysis: Analysis, records: list[Record], settings: Options) -> Table:
    """Return a table of bins; it has a single score if the bins are of words, not of arcs."""
    records = records + total_rows(analysis)
    display_names = shorten_system_names(records)
    equal_counts = all(row["correct_gold"] == row["correct_predicted"] for row in records)
    correct = {"correct": "correct_gold"}
    if not equal_counts:
        correct = {"of gold": "correct_gold", "of predicted": "correct_predicted"}
    counts = {"gold": "gold", "predicted": "predicted"} | correct
    scores = {"precision": "precision", "recall": "recall", "F1": "f1"}
    if not analysis.groups_arcs:
        counts, scores = {"words": "gold", "correct": "correct_gold"}, {"accuracy": "recall"}
    if settings.confidence:
        scores |= {"95% from": "f1_low", "to": "f1_high"}
    if settings.error_reduction:
        scores["RER"] = "error_reduction"
    table = []
    for record in records:
        row = {"bin": record["bin"], "system": display_names[record["system"]]}
        row |= {title: str(record[name]) for title, name in counts.items()}
        row |= {title: format_percent(record.get(name)) for title, name in scores.items()}
        table.append(row | (significance_cells(record) if settings.test else {}))
    note = ""
    if settings.test:
        num_tests = sum(row.get("p") is not None for row in records)
        note = describe_test(
            settings.test,
            trials=settings.trials,
            seed=settings.seed,
            comparisons=num_tests,
            family="in this table",
        )
    title = f"{analysis.view.metric} by {' × '.join(analysis.view.by)}"
    return make_table(title, table, ("precision", "recall", "F1", "accuracy"), note)


def list_table(title: str, columns: Sequence[str], records: list[Record]) -> Table:
    """Return a table of the records, without the columns that the title repeats."""
    display_names = shorten_system_names(records)
    omitted = {"metric", "confusion"} | (set() if len(display_names) > 1 else {"system"})
    if len(display_names) < 2:
        title += f": {next(iter(display_names.values()), 'none')}"
    header = [name for name in columns if name not in omitted]
    body = []
    for record in records:
        row = record | {"system": display_names[record["system"]]}
        values = (row[name] for name in header)
        body.append([format_percent(x, 1) if isinstance(x, float) else str(x) for x in values])
    if "text" in header:
        _fit_texts(header, body)
    return Table(title, header, body)


def _fit_texts(header: Sequence[str], rows: list[list[str]]) -> None:
    """Cut the texts of sentences to the width; if it is too narrow, paths to the file's name."""
    place, text = header.index("place"), header.index("text")
    table_width = terminal_width() if is_terminal() else _WIDTH

    def available() -> int:
        widths = [max(map(cell_width, column)) for column in zip(header, *rows, strict=True)]
        return table_width - sum(widths) + widths[text] - GAP * (len(header) - 1)

    if available() < _MIN_TEXT:
        for row in rows:
            row[place] = os.path.basename(row[place])
    width = max(available(), _MIN_TEXT)
    for row in rows:
        row[text] = clip(row[text], width)
