"""The tables of `depkit eval`, in all formats."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from depkit.cli.tables import Table, best_systems, make_table, render_table, significance_cells
from depkit.score.evaluation import Metric
from depkit.score.table import (
    csv_table,
    flatten_record,
    format_percent,
    short_names,
)

Record = dict[str, Any]
_SCORES, _KEYS = ("precision", "recall", "F1"), ("precision", "recall", "f1")


def render_records(
    records: list[Record], layout: str, metrics: Mapping[str, Metric], note: str
) -> str:
    """Return the text of the records of all systems, without the final line break.

    note: a sentence about the test, "" if there is none.
    """
    if layout == "json":
        return json.dumps(records[0] if len(records) == 1 else records, indent=2)
    if layout == "csv":
        flat = [flatten_record(record) for record in records]
        header = list(dict.fromkeys(key for record in flat for key in record))
        return csv_table(header, [[str(record.get(key, "")) for key in header] for record in flat])
    display_names = short_names([record["system"] for record in records])
    records = [
        record | {"system": name} for record, name in zip(records, display_names, strict=True)
    ]
    names = _metrics_in_table(records, metrics)
    notes = "\n".join(filter(None, [note, records[0]["signature"]]))
    if isinstance(records[0][names[0]], dict) or "confidence" in records[0] or note:
        main = make_table("", _rows_per_metric(records, names), {"score", *_SCORES}, notes)
    else:
        rows = [
            [record["system"], *_percents(record, names), str(record["scored"])]
            for record in records
        ]
        columns = ["system", *names, "scored"]
        main = Table("", columns, rows, notes, best_systems(columns, rows, names))
    falling = {name for name, metric in metrics.items() if metric.lower_is_better}
    main.best = [(i, j) for i, j in main.best if not {main.rows[i][0], main.columns[j]} & falling]
    text = render_table(main, layout)
    if "relations" not in records[0]:
        return text
    relations = make_table("", _rows_per_relation(records), _SCORES)
    return f"{render_table(relations, layout)}\n\n{text}"


def _metrics_in_table(records: list[Record], metrics: Mapping[str, Metric]) -> list[str]:
    """Return the metrics that are defined for a system, without hidden ones."""
    names = []
    for name, metric in metrics.items():
        values = [record[name] for record in records]
        scores = [value["f1"] if isinstance(value, dict) else value for value in values]
        is_perfect = all(score in (100.0, None) for score in scores)
        if not (metric.hidden_if_perfect and is_perfect) and values != [None] * len(values):
            names.append(name)
    return names


def _percents(scores: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [format_percent(scores[name]) for name in names]


def _rows_per_metric(records: list[Record], names: list[str]) -> list[dict[str, str]]:
    """Return the rows of a table with one row per metric and system."""
    rows = []
    for name in names:
        for record in records:
            row, value = {"metric": name, "system": record["system"]}, record[name]
            if isinstance(value, dict):
                row |= zip(_SCORES, _percents(value, _KEYS), strict=True)
            else:
                row["score"] = format_percent(value)
            if "confidence" in record:
                interval = record["confidence"].get(name, {})
                row["95% from"] = format_percent(interval.get("low"))
                row["to"] = format_percent(interval.get("high"))
            if "test" in records[-1]:
                row |= significance_cells(record.get("test", {}).get(name, {}))
            rows.append(row)
    return rows


def _rows_per_relation(records: list[Record]) -> list[dict[str, str]]:
    """Return the rows of a table with one row per relation and system."""
    rows = []
    for name in sorted({name for record in records for name in record["relations"]}):
        for record in records:
            if scores := record["relations"].get(name):
                row = {"relation": name, "system": record["system"]}
                row |= {key: str(scores[key]) for key in ("gold", "predicted", "correct")}
                rows.append(row | dict(zip(_SCORES, _percents(scores, _KEYS), strict=True)))
    return rows
