"""The sections of the report of dependency trees."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.drawing.report.contents import Texts, as_table, spread_evenly
from depkit.files.errors import describe_location
from depkit.score.agreement import METRICS as AGREEMENT_METRICS
from depkit.score.agreement import agreement_rows
from depkit.score.attachment import Data
from depkit.score.bins import parse_bins
from depkit.score.calibration import CALIBRATED_METRICS, calibration_rows, measure_calibration
from depkit.score.groupings import GROUPINGS
from depkit.score.mistakes import confusion_rows
from depkit.score.words import Codes, Comparison, Words, column_codes


def make_sections(data: Data, seed: int) -> dict[str, Any]:
    """Return the sections of the report that only dependency trees have.

    confusions, calibration, agreement: The tables of `confusion_rows`, `calibration_rows` and
    `agreement_rows`; the last two for all their metrics. distances: [bin, 3], the lowest and the
    highest distance of a bin, and its name.
    """
    sections: dict[str, Any] = {
        "confusions": as_table(confusion_rows(data, "deprel")),
        "distances": _distance_bins(),
    }
    systems = data.words.systems
    calibrated = [i for i, system in enumerate(systems) if system.probability is not None]
    if calibrated:
        part = data.select(calibrated)
        statistics = [measure_calibration(part, metric) for metric in CALIBRATED_METRICS]
        sections["calibration"] = as_table(
            [row for statistic in statistics for row in calibration_rows(statistic, True, seed)]
        )
    if len(systems) > 1:
        sections["agreement"] = as_table(
            [row for metric in AGREEMENT_METRICS for row in agreement_rows(data, metric)]
        )
    return sections


def _distance_bins() -> list[tuple[int, int, str]]:
    bins = parse_bins(GROUPINGS["distance"].bins)
    ends = zip(bins.ends, bins.names, strict=True)
    return [(low, high, name) for (low, high), name in ends]


def pack_sentences(data: Data, limit: int) -> dict[str, Any]:
    """Return sentences with the trees of all systems, as compact lists of numbers.

    limit: How many sentences to pack; they are spread evenly over the treebank.

    Returns:
        total: The number of sentences in the treebank.
        texts: The texts of sentences, by the number of the sentence; those that equal the words
            with spaces between them are left out.
        forms, relations, tags: The values that the numbers below are indices into.
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
    packed, shown_texts = [], {}
    for i in spread_evenly(total, limit):
        start, end = words.starts[i : i + 2].tolist()
        span = np.arange(start, end)
        file, line, sent_id = words.locations[i]
        own_forms = _texts(words, gold, "form", span)
        if words.texts[i] not in ("", " ".join(own_forms)):
            shown_texts[str(i + 1)] = words.texts[i]
        row: list[Any] = [
            i + 1,
            sent_id,
            describe_location(file, line),
            forms.pack(own_forms),
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
        "texts": shown_texts,
        "forms": forms.used,
        "relations": relations.used,
        "tags": tags.used,
        "rows": packed,
    }


def pack_alternatives(
    packed: dict[str, Any], systems: Sequence[Sequence[Sequence[Sentence]]], subtypes: str = "keep"
) -> list[dict[str, Any]]:
    """Return the further trees of the sentences of a page, for systems that have several.

    Args:
        packed: The result of `pack_sentences`; new relations are added.
        systems: For each system the trees of each sentence, see `probabilities.group_trees`.
        subtypes: "drop" if `packed` has relations without subtypes.

    Returns:
        For each system, by the number of the sentence, a list for each of its trees from the best
        one on: its probability, and a list of [word from 0, head, relation] where its arc differs
        from gold, as in the rows of `pack_sentences`. A sentence with one tree is left out.
    """
    codes = column_codes(subtypes)["deprel"]
    codes.add(packed["relations"])
    result: list[dict[str, Any]] = []
    for groups in systems:
        trees: dict[str, Any] = {}
        for row in packed["rows"]:
            number, gold = row[0], list(zip(row[5], row[6], strict=True))
            group = groups[number - 1] if number <= len(groups) else []
            if len(group) > 1:
                trees[str(number)] = [
                    [float(tree.comment("prob")), _different_arcs(tree, gold, codes)]
                    for tree in group
                ]
        result.append(trees)
    packed["relations"] = codes.values_by_code
    return result


def _different_arcs(
    tree: Sentence, gold: Sequence[tuple[int, int]], codes: Codes
) -> list[list[int]]:
    """Return [word from 0, head, relation] of the arcs that differ from the gold ones.

    codes: the indices of relations; those of new relations are added.
    """
    arcs = enumerate(zip(tree.head, codes.add(tree.deprel), strict=True))
    return [[word, *arc] for word, arc in arcs if arc != gold[word]]


def _texts(words: Comparison, file: Words, column: str, selected: np.ndarray) -> list[str]:
    """Return the values of a column for some words of a file, which are given by their indices."""
    values = words.values[column]
    return [values[code] for code in file.codes[column][selected].tolist()]
