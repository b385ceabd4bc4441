"""Counts of the CoNLL-X and CoNLL 2009 scripts on real outputs, where the shared data is."""

import json
from functools import cache
from pathlib import Path

import pytest

from depkit.score.attachment import METRICS, Evaluation, evaluate

ORACLES = Path(__file__).parents[3] / "shared" / "oracles"

pytestmark = pytest.mark.skipif(
    not (ORACLES / "expected.json").exists(), reason="no ../shared/oracles beside the repository"
)


@cache
def score(pair: str, punct: str, subtypes: str = "keep") -> Evaluation:
    names = expected()[pair]
    return evaluate(ORACLES / names["gold"], ORACLES / names["pred"], punct, subtypes)


@cache
def expected() -> dict:  # type: ignore[type-arg]
    path = ORACLES / "expected.json"
    return json.loads(path.read_text()) if path.exists() else {}  # type: ignore[no-any-return]


CASES = [
    (pair, punct, metric, correct, of)
    for pair, entry in expected().items()
    for script in ("conllx-script", "conll09-script")
    for punct, figures in entry.get(script, {}).items()
    for metric, (correct, of) in figures.items()
]


@pytest.mark.parametrize(("pair", "punct", "metric", "correct", "of"), CASES)
def test_counts_are_the_script_s(pair: str, punct: str, metric: str, correct: int, of: int) -> None:
    totals = score(pair, punct).totals
    assert (totals[METRICS[metric].correct], totals[METRICS[metric].gold]) == (correct, of)


@pytest.mark.parametrize("metric", ["UAS", "LAS", "CLAS", "UPOS", "XPOS", "Lemmas"])
def test_dropping_subtypes_is_the_ud_evaluation(metric: str) -> None:
    """On gold tokens; the CoNLL 2018 script cuts relations at the colon and keeps punctuation."""
    figures = expected()["ewt-goldtok"]["ud-evaluation"][metric]
    result = score("ewt-goldtok", "keep", "drop")
    names = METRICS[metric]
    found = [result.totals[name] for name in names]
    assert found == [figures[name] for name in ("correct", "gold", "system")]
    assert result.scores[metric] == pytest.approx(figures["f1"], abs=1e-12)
    assert result.precision_recall(metric) == pytest.approx(
        (figures["precision"], figures["recall"]), abs=1e-12
    )


def test_every_oracle_was_found() -> None:
    assert len(CASES) == 20
