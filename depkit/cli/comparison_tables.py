"""Tables of `depkit analyze` about calibration and the agreement of several systems."""

from itertools import groupby
from typing import Any

from depkit.cli.tables import Table, best_cells, make_table
from depkit.score.table import format_percent, short_names

Record = dict[str, Any]


def calibration_table(records: list[Record]) -> Table:
    """Return the table of `calibration_rows`; only its last rows, for all bins, have an ECE."""
    display_names = shorten_system_names(records)
    table = []
    for record in records:
        row = {
            "bin": record["bin"],
            "system": display_names[record["system"]],
            "words": str(record["words"]),
            "confidence": format_percent(record["confidence"]),
            "accuracy": format_percent(record["accuracy"]),
        }
        if "accuracy_low" in record:
            row["95% from"] = format_percent(record["accuracy_low"])
            row["to"] = format_percent(record["accuracy_high"])
        row["gap"] = f"{record['gap']:+.2f}"
        row |= {name: format_percent(record[name.lower()]) for name in ("ECE", "MCE")}
        table.append(row | {"Brier": format_percent(record["brier"], 4)})
    title = f"calibration of {records[0]['metric']}"
    return make_table(title, table, ("ECE", "MCE", "Brier"), best=min)


def oracle_table(records: list[Record]) -> Table:
    """Return the table of `oracle.oracle_rows`."""
    display_names = shorten_system_names(records)
    rows = []
    for record in records:
        row = {"trees": str(record["trees"]), "system": display_names[record["system"]]}
        row |= {name: str(record[name]) for name in ("sentences", "correct", "scored")}
        rows.append(row | {"oracle": format_percent(record["score"])})
    return make_table(f"{records[0]['metric']} of the best of the first trees", rows, ("oracle",))


def agreement_tables(binned: list[Record], total: list[Record]) -> list[Table]:
    """Return two tables of `agreement_rows`: scores of the systems by bin, then pairs of systems.

    binned: the rows of bins, if any; total: the rows of all words.
    """
    display_names = shorten_system_names(total)
    metric, by = total[0]["metric"], f" by {binned[0]['by']}" if binned else ""
    bins, pairs = [], []
    by_bin = (list(group) for _, group in groupby(binned, lambda record: record["bin"]))
    for records in (*by_bin, total):
        first = records[0]
        scores = {record["system"]: record["score"] for record in records}
        shares = [*scores.values(), first["oracle"], first["all_right"]]
        bins.append([first["bin"], str(first["words"]), *map(format_percent, shares)])
        records_by_pair = {(record["system"], record["other"]): record for record in records}
        for a, b in records_by_pair:
            if list(display_names).index(a) < list(display_names).index(b):
                row = [first["bin"]] if binned else []
                row += [
                    display_names[a],
                    display_names[b],
                    format_percent(records_by_pair[a, b]["agreement"]),
                ]
                corrected = [records_by_pair[pair]["complementarity"] for pair in ((a, b), (b, a))]
                pairs.append(row + [format_percent(share) for share in corrected])
    names = ["A", "B", "agreement", "A's errors right in B", "B's errors right in A"]
    agreeing_value = {"UAS": "head", "LAS": "head and relation"}[metric]
    columns = ["bin", "words", *display_names.values(), "oracle", "all right"]
    best = best_cells(
        bins, ([(i, 2 + j) for j in range(len(display_names))] for i in range(len(bins)))
    )
    return [
        Table(f"{metric}{by}; oracle: at least one system is right", columns, bins, best=best),
        Table(
            f"pairs of systems{by}; agreement: both give the same {agreeing_value}",
            ["bin"] * bool(binned) + names,
            pairs,
        ),
    ]


def shorten_system_names(records: list[Record]) -> dict[str, str]:
    """Return the systems of the records, with their names for a table, as short as possible."""
    names = list(dict.fromkeys(record["system"] for record in records))
    return dict(zip(names, short_names(names), strict=True)) if names else {}
