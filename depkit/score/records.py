"""The scores of several systems as records, with intervals and tests of significance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from depkit.score.evaluation import Evaluation
from depkit.score.significance import (
    DEFAULT_SEED,
    TRIALS,
    Difference,
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
    differences: list[dict[str, Difference]] = [{} for _ in evaluations]
    if test:
        differences[1:] = compare_systems(evaluations, test, seed=seed)
    records = []
    for evaluation, differences_of_system in zip(evaluations, differences, strict=True):
        complete = replace(
            evaluation,
            choices=(*evaluation.choices, *more_choices),
            intervals=intervals(evaluation, seed=seed) if confidence else {},
            differences=differences_of_system,
        )
        record = complete.as_dict()
        if relations:
            record["relations"] = evaluation.relation_scores()
        records.append(record)
    if not test:
        return records, ""
    return records, describe_test(test, trials=TRIALS, seed=seed, comparisons=len(evaluations) - 1)
