"""The scores of several systems as records, with intervals and tests of significance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from depkit.score.evaluation import Evaluation
from depkit.score.significance import (
    DEFAULT_SEED,
    TRIALS,
    choices,
    compare_systems,
    describe_test,
    intervals,
)


def evaluation_records(
    evaluations: Sequence[Evaluation],
    *,
    relations: bool = False,
    confidence: bool = False,
    test: str | None = None,
    seed: int = DEFAULT_SEED,
) -> tuple[list[dict[str, Any]], str]:
    """Return a record for each system, as `depkit eval` prints in JSON, and a note on the test.

    relations: whether to add the scores of each relation; confidence: whether to add 95% bootstrap
    intervals; test: a test of each later system against the first, as in `compare_systems`; the
    note is "" without one.
    """
    more_choices = choices(confidence, test, seed)
    records = []
    for evaluation in evaluations:
        record = replace(evaluation, choices=(*evaluation.choices, *more_choices)).as_dict()
        if confidence:
            record["confidence"] = {
                name: {"low": low, "high": high}
                for name, (low, high) in intervals(evaluation, seed=seed).items()
            }
        if relations:
            record["relations"] = evaluation.relation_scores()
        records.append(record)
    if not test:
        return records, ""
    differences_of_systems = compare_systems(evaluations, test, seed=seed)
    for record, differences in zip(records[1:], differences_of_systems, strict=True):
        record["test"] = {
            name: {"difference": result.difference, "p": result.p, "p_adjusted": result.adjusted}
            for name, result in differences.items()
        }
    return records, describe_test(test, trials=TRIALS, seed=seed, comparisons=len(evaluations) - 1)
