"""Tables of `depkit analyze` about calibration and about the agreement of several systems."""

from itertools import groupby
from typing import Any

from depkit.cli.tables import Table, best_cells, best_systems
from depkit.score.table import percent, short_names

Record = dict[str, Any]


def of_calibration(records: list[Record]) -> Table:
    """The rows of `calibration_rows`; what is of all bins is in the last rows alone."""
    short = short_systems(records)
    several, confidence = len(short) > 1, "accuracy_low" in records[0]
    columns = ["bin", *(["system"] if several else []), "words", "confidence", "accuracy"]
    columns += ["95% from", "to"] if confidence else []
    body = []
    for record in records:
        row = [record["bin"], *([short[record["system"]]] if several else [])]
        row += [str(record["words"]), percent(record["confidence"]), percent(record["accuracy"])]
        if confidence:
            row += [percent(record["accuracy_low"]), percent(record["accuracy_high"])]
        row += [f"{record['gap']:+.2f}", percent(record["ece"]), percent(record["mce"])]
        body.append([*row, percent(record["brier"], 4)])
    title = f"calibration of {records[0]['metric']}"
    title = title if several else f"{title}: {next(iter(short.values()))}"
    columns += ["gap", "ECE", "MCE", "Brier"]
    return Table(
        title, columns, body, best=best_systems(columns, body, ("ECE", "MCE", "Brier"), min)
    )


def of_agreement(binned: list[Record], total: list[Record]) -> list[Table]:
    """Rows of `agreement_rows`, of bins (there may be none) and of all words: bins, then pairs."""
    short = short_systems(total)
    metric, by = total[0]["metric"], f" by {binned[0]['by']}" if binned else ""
    bins, pairs = [], []
    by_bin = (list(found) for _, found in groupby(binned, lambda record: record["bin"]))
    for records in (*by_bin, total):
        first = records[0]
        scores = {record["system"]: record["score"] for record in records}
        shares = [*scores.values(), first["oracle"], first["all_right"]]
        bins.append([first["bin"], str(first["words"]), *map(percent, shares)])
        found = {(record["system"], record["other"]): record for record in records}
        for one, other in found:
            if list(short).index(one) < list(short).index(other):
                row = [first["bin"]] if binned else []
                row += [short[one], short[other], percent(found[one, other]["agreement"])]
                corrected = [
                    found[pair]["complementarity"] for pair in ((one, other), (other, one))
                ]
                pairs.append(row + [percent(share) for share in corrected])
    names = ["A", "B", "agreement", "A's errors right in B", "B's errors right in A"]
    same = {"UAS": "head", "LAS": "head and relation"}[metric]
    columns = ["bin", "words", *short.values(), "oracle", "all right"]
    best = best_cells(bins, ([(i, 2 + j) for j in range(len(short))] for i in range(len(bins))))
    return [
        Table(f"{metric}{by}; oracle: some is right", columns, bins, best=best),
        Table(f"pairs{by}; agreement: the same {same}", ["bin"] * bool(binned) + names, pairs),
    ]


def short_systems(records: list[Record]) -> dict[str, str]:
    """The systems of the records, and what a table calls them."""
    names = list(dict.fromkeys(record["system"] for record in records))
    return dict(zip(names, short_names(names), strict=True)) if names else {}
