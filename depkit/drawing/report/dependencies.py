"""The contents of the report of dependency trees; the package `score` computes all scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from depkit.drawing.report.contents import (
    LIMIT,
    Texts,
    as_table,
    describe_groups,
    describe_page,
    describe_scores,
    spread_evenly,
)
from depkit.score.agreement import METRICS as AGREEMENT_METRICS
from depkit.score.agreement import agreement_rows
from depkit.score.analysis import Data, View, analyze_view
from depkit.score.bins import parse_bins
from depkit.score.calibration import CALIBRATED_METRICS, calibration_rows, measure_calibration
from depkit.score.groupings import GROUPINGS
from depkit.score.mistakes import confusion_rows
from depkit.score.significance import DEFAULT_SEED
from depkit.score.words import Comparison, Words

CURVES = ("distance", "length", "depth")
TABLES = ("deprel", "upos", "xpos")
GROUPED_METRICS = ("LAS", "UAS")
COLUMNS = ("form",)  # further columns that `read_data` must read


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
        The contents, which can be written as JSON: those of `describe_page` and
        `describe_scores`, and
            curves, tables: For each grouping the table of `describe_groups`, for all of
                GROUPED_METRICS.
            confusions, calibration, agreement: The tables of `confusion_rows`,
                `calibration_rows` and `agreement_rows`; the last two for all their metrics.
            distances: [bin, 3], the lowest and the highest distance of a bin, and its name.
            sentences: See `pack_sentences`.
    """
    gold = data.words.gold.name
    contents = describe_page("dependencies")
    contents |= describe_scores(gold, data.evaluations, "words", seed, notes)
    contents |= {
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
    if len(data.words.systems) > 1:
        contents["agreement"] = as_table(
            [row for metric in AGREEMENT_METRICS for row in agreement_rows(data, metric)]
        )
    contents["sentences"] = pack_sentences(data, limit)
    return contents


def _group(data: Data, names: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """Return the tables of groupings, except those by a column that contains only `_`."""
    groups = []
    for name in names:
        columns = GROUPINGS[name].columns
        if any(data.words.is_blank(data.words.gold, column) for column in columns):
            continue
        analyses = (analyze_view(data, View((name,), (), metric)) for metric in GROUPED_METRICS)
        groups.append(describe_groups(name, GROUPINGS[name], analyses, seed))
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
    forms, relations, tags = Texts(), Texts(), Texts()
    has_tags = [not words.is_missing(system, "upos") for system in words.systems]
    packed = []
    for i in spread_evenly(total, limit):
        start, end = words.starts[i : i + 2].tolist()
        span = np.arange(start, end)
        file, line, sent_id = words.locations[i]
        row: list[Any] = [
            i + 1,
            sent_id,
            f"{file}:{line}" if line else file,
            forms.pack(_texts(words, gold, "form", span)),
            tags.pack(_texts(words, gold, "upos", span)),
            gold.head[span].tolist(),
            relations.pack(_texts(words, gold, "deprel", span)),
            np.flatnonzero(~data.scored[span]).tolist(),
        ]
        for system, correct, tagged in zip(words.systems, data.correct, has_tags, strict=True):
            wrong = span[~correct["LAS"][span]]
            labels = relations.pack(_texts(words, system, "deprel", wrong))
            arcs = zip((wrong - start).tolist(), system.head[wrong].tolist(), labels, strict=True)
            wrong = span[tagged & ~correct["UPOS"][span]]
            wrong_tags = tags.pack(_texts(words, system, "upos", wrong))
            row += [list(arcs), list(zip((wrong - start).tolist(), wrong_tags, strict=True))]
        packed.append(row)
    return {
        "total": total,
        "forms": forms.used,
        "relations": relations.used,
        "tags": tags.used,
        "rows": packed,
    }


def _texts(words: Comparison, file: Words, column: str, selected: np.ndarray) -> list[str]:
    """Return the values of a column for some words of a file, which are given by their indices."""
    values = words.values[column]
    return [values[code] for code in file.codes[column][selected].tolist()]
