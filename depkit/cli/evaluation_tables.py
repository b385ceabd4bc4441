"""The tables of `depkit eval`, in all formats."""

import json
from collections.abc import Mapping
from typing import Any

from depkit.cli.tables import Table, best_systems, render_table
from depkit.score.evaluation import Metric
from depkit.score.table import (
    csv_table,
    flatten_record,
    format_p_value,
    format_percent,
    short_names,
)

Record = dict[str, Any]
_SCORES = ("precision", "recall", "F1")


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
    shows_precision = isinstance(records[0][names[0]], dict)
    has_details = shows_precision or "confidence" in records[0] or note
    columns, rows = (_rows_per_metric if has_details else _rows_per_system)(records, names)
    best = {
        (i, j)
        for i, j in best_systems(columns, rows, {"score", *_SCORES, *names})
        if not any(metrics[x].lower_is_better for x in {rows[i][0], columns[j]} & {*metrics})
    }
    main = render_table(Table("", columns, rows, notes, best), layout)
    if "relations" not in records[0]:
        return main
    columns, rows = _rows_per_relation(records)
    relations = Table("", columns, rows, best=best_systems(columns, rows, _SCORES))
    return f"{render_table(relations, layout)}\n\n{main}"


def _metrics_in_table(records: list[Record], metrics: Mapping[str, Metric]) -> list[str]:
    """Return the metrics that are defined for a system, without hidden ones."""
    names = []
    for name, metric in metrics.items():
        values = [record[name] for record in records]
        is_perfect = all(value in (100.0, None) for value in values)
        if not (metric.hidden_if_perfect and is_perfect) and values != [None] * len(values):
            names.append(name)
    return names


def _rows_per_system(records: list[Record], names: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with one row per system."""
    rows = [
        [record["system"], *(format_percent(record[name]) for name in names), str(record["scored"])]
        for record in records
    ]
    return ["system", *names, "scored"], rows


def _rows_per_metric(records: list[Record], names: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with one row per metric and system."""
    several = len(records) > 1
    rows = []
    for name in names:
        for record in records:
            value = record[name]
            row = [name, *([record["system"]] if several else [])]
            if isinstance(value, dict):
                row += [format_percent(value[key]) for key in ("precision", "recall", "f1")]
            else:
                row.append(format_percent(value))
            if "confidence" in record:
                interval = record["confidence"].get(name, {})
                row += [format_percent(interval.get(end)) for end in ("low", "high")]
            if "test" in records[-1]:
                result = record.get("test", {}).get(name, {})
                difference = result.get("difference")
                row.append("-" if difference is None else f"{difference:+.2f}")
                row += [format_p_value(result.get(key)) for key in ("p", "p_adjusted")]
            rows.append(row)
    header = ["metric", *(["system"] if several else [])]
    header += ["precision", "recall", "F1"] if isinstance(records[0][names[0]], dict) else ["score"]
    header += ["95% from", "to"] if "confidence" in records[0] else []
    header += ["difference", "p", "p (Holm)"] if "test" in records[-1] else []
    return header, rows


def _rows_per_relation(records: list[Record]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with one row per relation and system."""
    several = len(records) > 1
    names = sorted({name for record in records for name in record["relations"]})
    rows = []
    for name in names:
        for record in records:
            if scores := record["relations"].get(name):
                row = [name, *([record["system"]] if several else [])]
                row += [str(scores[key]) for key in ("gold", "predicted", "correct")]
                rows.append(
                    row + [format_percent(scores[key]) for key in ("precision", "recall", "f1")]
                )
    header = ["relation", *(["system"] if several else []), "gold", "predicted", "correct"]
    return [*header, "precision", "recall", "F1"], rows
