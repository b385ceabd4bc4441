"""The score of the best of the first k trees of each sentence, for every k.

A file with several trees of each sentence is what `depkit parse --best` writes.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from depkit.corpus.io import PathLike, read
from depkit.corpus.probabilities import group_trees
from depkit.files.errors import FormatError
from depkit.score.attachment import ARCS, read_data
from depkit.score.evaluation import Evaluation
from depkit.score.panels import Panel
from depkit.score.table import short_names

ORACLE_COLUMNS = ("system", "metric", "trees", "sentences", "correct", "scored", "score")


def oracle_rows(
    gold: PathLike,
    preds: Sequence[PathLike],
    k: int,
    metric: str,
    *,
    encoding: str = "utf-8",
    **options: Any,
) -> tuple[list[dict[str, Any]], list[Evaluation]]:
    """Compute the oracle scores of systems, with a row for each system and number of trees.

    The oracle chooses, of the first trees of each sentence, the one with the most correct words.

    Args:
        gold: A treebank.
        preds: For each system, a file with several trees of each sentence, one after another from
            the best one, or with one.
        k: The highest number of trees. Rows end earlier if no sentence of a system has so many.
        metric: One of `attachment.ARCS`.
        encoding: That of all files.
        **options: Those of `attachment.read_data`, such as `punct`.

    Returns:
        The rows, with the keys ORACLE_COLUMNS, where "sentences" counts those that have so many
        trees; and the scores of the first trees of each system.

    Raises:
        FormatError, ValueError, OSError: As by `read_data`.
    """
    if metric not in ARCS:
        raise ValueError(f"the oracle is for {', '.join(ARCS)}, not for {metric}")
    sentences = list(read(gold, encoding=encoding))
    rows, evaluations = [], []
    for pred in preds:
        groups = list(group_trees(read(pred, encoding=encoding)))
        if not groups:
            raise FormatError(os.fspath(pred), 0, "", "there are no sentences")
        best: np.ndarray | None = None  # [sentence], the most correct words so far
        for rank in range(min(k, max(map(len, groups)))):
            trees = [group[min(rank, len(group) - 1)] for group in groups]
            data = read_data(sentences, [trees], encoding=encoding, **options)
            if rank == 0:
                evaluations.append(replace(data.evaluations[0], system=os.fspath(pred)))
            correct = data.words.sum_by_sentence(data.scored & data.correct[0][metric])
            best = correct if best is None else np.maximum(best, correct)
            total, scored = int(best.sum()), int(data.scored.sum())
            enough = sum(len(group) > rank for group in groups)
            row = (os.fspath(pred), metric, rank + 1, enough, total, scored, 100.0 * total / scored)
            rows.append(dict(zip(ORACLE_COLUMNS, row, strict=True)))
    return rows, evaluations


def oracle_panel(rows: Sequence[dict[str, Any]], choices: tuple[tuple[str, str], ...]) -> Panel:
    """Return the contents of a plot of the scores over the number of trees, without intervals.

    rows: those of `oracle_rows`; choices: the settings behind them.
    """
    systems = list(dict.fromkeys(row["system"] for row in rows))
    most = max(row["trees"] for row in rows)
    values = np.full((len(systems), most), np.nan)
    sizes = np.zeros(most, dtype=np.int64)
    for row in rows:
        values[systems.index(row["system"]), row["trees"] - 1] = row["score"]
        sizes[row["trees"] - 1] = max(sizes[row["trees"] - 1], row["sentences"])
    return Panel(
        curves=True,
        value_label=f"{rows[0]['metric']} of the best tree, %",
        bin_label="first trees of a sentence",
        bins=[str(number) for number in range(1, most + 1)],
        sizes=sizes,
        names=short_names(systems),
        values=values,
        low=values,
        high=values,
        choices=choices,
        unit="sentences",
    )
