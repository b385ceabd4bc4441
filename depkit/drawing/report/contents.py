"""The contents of a report as data for JSON; all scores are computed by the package `score`.

Most keys of the contents are sections of the page. A section without data is left out, and the page
hides it. Tables are stored as column names and rows, see `as_table`.
"""

import platform
from collections.abc import Sequence
from typing import Any

import numpy as np

from depkit.score.agreement import METRICS as AGREEMENT_METRICS
from depkit.score.agreement import agreement_rows
from depkit.score.analysis import Data, View, analyze_view
from depkit.score.attachment import METRICS
from depkit.score.bins import parse_bins
from depkit.score.calibration import CALIBRATED_METRICS, calibration_rows, measure_calibration
from depkit.score.groupings import GROUPINGS
from depkit.score.mistakes import confusion_rows
from depkit.score.records import evaluation_records
from depkit.score.report import Options, rows
from depkit.score.significance import DEFAULT_SEED, choices
from depkit.score.table import short_names
from depkit.score.words import Words
from depkit.version import __version__

VERSION = 1  # of the layout of the contents
TEST = "ar"
CURVES = ("distance", "length", "depth")
TABLES = ("deprel", "upos", "xpos")
GROUPED_METRICS = ("LAS", "UAS")
COLUMNS = ("form",)  # further columns that `read_data` must read
LIMIT = 10_000  # sentences in the page

Table = dict[str, list[Any]]


def make_contents(
    data: Data, limit: int = LIMIT, seed: int = DEFAULT_SEED, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Compute everything that a report shows.

    Args:
        data: The gold words and the words of all systems, read with the columns in COLUMNS, and
            with probabilities where there are any.
        limit: The page has at most this many sentences, spread evenly over the treebank. All
            scores are computed from all sentences.
        seed: The seed of intervals and tests.
        notes: Warnings about the files.

    Returns:
        The contents, which can be written as JSON:
            kind: "dependencies".
            gold, systems: The names of the files, and for each system a short name.
            scores, test: The records of `evaluation_records`, and the description of the test.
            curves, tables: For each grouping its description, whether it groups arcs (precision
                and recall then differ), and the table of `rows`, for all of GROUPED_METRICS.
            confusions, calibration, agreement: The tables of `confusion_rows`,
                `calibration_rows` and `agreement_rows`; the last two for all their metrics.
            distances: [bin, 3], the lowest and the highest distance of a bin, and its name.
            sentences: See `pack_sentences`.
    """
    systems = [system.name for system in data.words.systems]
    test = TEST if len(systems) > 1 else None
    records, description = evaluation_records(
        data.evaluations, confidence=True, test=test, seed=seed
    )
    contents: dict[str, Any] = {
        "version": VERSION,
        "kind": "dependencies",
        "signature": data.signature(*choices(True, test, seed)),
        "software": {
            "depkit": __version__,
            "Python": platform.python_version(),
            "numpy": np.__version__,
        },
        "notes": list(notes),
        "gold": data.words.gold.name,
        "systems": [
            {"file": file, "name": name}
            for file, name in zip(systems, short_names(systems), strict=True)
        ],
        "metrics": list(METRICS),
        "scores": records,
        "test": description,
        "curves": _group(data, CURVES, seed),
        "tables": _group(data, TABLES, seed),
        "confusions": as_table(confusion_rows(data, "deprel")),
        "distances": _distance_bins(),
    }
    if calibrated := [
        i for i, system in enumerate(data.words.systems) if system.probability is not None
    ]:
        part = data.select(calibrated)
        contents["calibration"] = as_table(
            [
                row
                for metric in CALIBRATED_METRICS
                for row in calibration_rows(measure_calibration(part, metric), True, seed)
            ]
        )
    if len(systems) > 1:
        contents["agreement"] = as_table(
            [row for metric in AGREEMENT_METRICS for row in agreement_rows(data, metric)]
        )
    contents["sentences"] = pack_sentences(data, limit)
    return contents


def as_table(records: Sequence[dict[str, Any]]) -> Table:
    """Return records with the same keys as a table, which contains each key only once."""
    columns = list(records[0]) if records else []
    return {"columns": columns, "rows": [[record[key] for key in columns] for record in records]}


def _group(data: Data, names: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """Return the tables of groupings, except those by a column that contains only `_`."""
    groups = []
    for name in names:
        columns = GROUPINGS[name].columns
        if any(data.words.is_blank(data.words.gold, column) for column in columns):
            continue
        records = [
            row
            for metric in GROUPED_METRICS
            for row in rows(
                analyze_view(data, View((name,), (), metric)), Options(confidence=True, seed=seed)
            )
        ]
        grouping = GROUPINGS[name]
        heading = {"by": name, "description": grouping.description, "arcs": grouping.groups_arcs}
        groups.append(heading | as_table(records))
    return groups


def _distance_bins() -> list[tuple[int, int, str]]:
    bins = parse_bins(GROUPINGS["distance"].bins)
    ends = zip(bins.ends, bins.names, strict=True)
    return [(low, high, name) for (low, high), name in ends]


def pack_sentences(data: Data, limit: int) -> dict[str, Any]:
    """Return sentences with the trees of all systems, as compact lists of numbers.

    Args:
        data: The gold words and the words of all systems.
        limit: How many sentences to pack; they are spread evenly over the treebank.

    Returns:
        total: The number of sentences in the treebank.
        forms, relations, tags: The texts that the numbers below are indices into.
        rows: A list for each sentence: its number from 1, its sent_id, its location (file:line),
            and for its words the lists of forms, gold tags, gold heads and gold relations; the
            indices from 0 of words that are not scored; then for each system a list of [word from
            0, head, relation] where its arc differs from gold, and of [word, tag] where its tag
            does.
            A head is the number of a word from 1, 0 for the root and -1 for no head.
    """
    words, gold = data.words, data.words.gold
    total = len(words.lengths)
    chosen = np.unique(np.linspace(0, total - 1, min(limit, total)).astype(int)).tolist()
    texts = {name: _Texts(words.values[name]) for name in ("form", "deprel", "upos")}
    files = [(system, correct) for system, correct in zip(words.systems, data.correct, strict=True)]
    has_tags = [not words.is_missing(system, "upos") for system in words.systems]
    packed = []
    for i in chosen:
        start, end = words.starts[i : i + 2].tolist()
        span = slice(start, end)
        file, line, sent_id = words.locations[i]
        row: list[Any] = [
            i + 1,
            sent_id,
            f"{file}:{line}" if line else file,
            texts["form"].pack(gold.codes["form"][span]),
            texts["upos"].pack(gold.codes["upos"][span]),
            gold.head[span].tolist(),
            texts["deprel"].pack(gold.codes["deprel"][span]),
            np.flatnonzero(~data.scored[span]).tolist(),
        ]
        for (system, correct), tagged in zip(files, has_tags, strict=True):
            row.append(_differences(system, correct["LAS"], span, texts["deprel"], "deprel", True))
            right_tags = correct["UPOS"] | (not tagged)
            row.append(_differences(system, right_tags, span, texts["upos"], "upos", False))
        packed.append(row)
    return {
        "total": total,
        "forms": texts["form"].used,
        "relations": texts["deprel"].used,
        "tags": texts["upos"].used,
        "rows": packed,
    }


def _differences(
    system: Words, correct: np.ndarray, span: slice, texts: "_Texts", column: str, with_head: bool
) -> list[list[int]]:
    """List the words of a sentence that are not correct, with the system's head and value."""
    wrong = np.flatnonzero(~correct[span])
    columns = [wrong.tolist()]
    columns += [system.head[span][wrong].tolist()] if with_head else []
    columns.append(texts.pack(system.codes[column][span][wrong]))
    return [list(row) for row in zip(*columns, strict=True)]


class _Texts:
    """Numbers the texts that are used in a column, in the order of their first use."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values
        self.used: list[str] = []
        self._index: dict[int, int] = {}

    def pack(self, codes: np.ndarray) -> list[int]:
        """Return the numbers of the texts with these codes."""
        return [self._number(code) for code in codes.tolist()]

    def _number(self, code: int) -> int:
        if code not in self._index:
            self._index[code] = len(self.used)
            self.used.append(self.values[code])
        return self._index[code]
