"""The parts that the contents of all pages share. Contents are data that can be written as JSON.

Most keys of the contents are sections of the page. A section without data is left out, and the page
hides it. Tables are stored as column names and rows, see `as_table`.
"""

import platform
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from depkit.score.analysis import Analysis
from depkit.score.evalb import LOWER_IS_BETTER
from depkit.score.evaluation import Evaluation
from depkit.score.groupings import Grouping
from depkit.score.records import evaluation_records
from depkit.score.report import Options, rows
from depkit.score.table import short_names
from depkit.version import __version__

TEST = "ar"
LIMIT = 10_000  # sentences in a page

Table = dict[str, list[Any]]


def describe_page(kind: str) -> dict[str, Any]:
    """Return the kind of a page and the versions of the software."""
    software = {
        "depkit": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
    }
    return {"kind": kind, "software": software}


def describe_scores(
    gold: str, evaluations: Sequence[Evaluation], items: str, seed: int, notes: Sequence[str]
) -> dict[str, Any]:
    """Return the files and scores of a report, with intervals and, for several systems, tests.

    Args:
        gold: The name of the gold file.
        evaluations: The scores of each system; the first one is the baseline.
        items: What the tables count, "words" or "constituents".
        seed: The seed of intervals and tests.
        notes: Warnings about the files.

    Returns:
        items, notes: As given.
        gold, systems: The names of the files, and for each system a short name.
        metrics, lower_is_better: The names of all metrics, and of those whose best score is the
            lowest.
        scores, test: The records of `evaluation_records`, and the description of the test.
    """
    systems = [evaluation.system for evaluation in evaluations]
    test = TEST if len(systems) > 1 else None
    records, description = evaluation_records(evaluations, confidence=True, test=test, seed=seed)
    return {
        "items": items,
        "notes": list(notes),
        "gold": gold,
        "systems": [
            {"file": file, "name": name}
            for file, name in zip(systems, short_names(systems), strict=True)
        ],
        "metrics": list(evaluations[0].metrics),
        "lower_is_better": [x for x in evaluations[0].metrics if x in LOWER_IS_BETTER],
        "scores": records,
        "test": description,
    }


def describe_groups(
    by: str, grouping: Grouping, analyses: Iterable[Analysis], seed: int
) -> dict[str, Any]:
    """Return the tables of analyses by the same grouping as one table, with its description.

    Args:
        by: The name of the grouping.
        grouping: The grouping.
        analyses: An analysis for each metric.
        seed: The seed of the intervals.
    """
    options = Options(confidence=True, seed=seed)
    records = [row for analysis in analyses for row in rows(analysis, options)]
    heading = {"by": by, "description": grouping.description, "arcs": grouping.groups_arcs}
    return heading | as_table(records)


def as_table(records: Sequence[dict[str, Any]]) -> Table:
    """Return records with the same keys as a table, which contains each key only once."""
    columns = list(records[0]) if records else []
    return {"columns": columns, "rows": [[record[key] for key in columns] for record in records]}


def spread_evenly(total: int, limit: int) -> list[int]:
    """Return the indices of at most `limit` of `total` items, which are spread evenly."""
    return np.unique(np.linspace(0, total - 1, min(limit, total)).astype(int)).tolist()


class Texts:
    """Numbers texts in the order of their first use; `used` are all texts so far."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    @property
    def used(self) -> list[str]:
        """The texts by their numbers."""
        return list(self._index)

    def pack(self, texts: Iterable[str]) -> list[int]:
        """Return the numbers of the texts."""
        return [self._index.setdefault(text, len(self._index)) for text in texts]
