"""Comparison with the counts of the CoNLL-X and CoNLL 2009 scripts, and with their reports."""

import json
from functools import cache
from pathlib import Path

import pytest

from depkit.score.analysis import PRESETS, Analysis, analyze_view, precision_recall_f1
from depkit.score.attachment import METRICS, read_data
from depkit.score.evaluation import Evaluation
from depkit.score.evaluators import evaluate

ORACLES = Path(__file__).parents[3] / "shared" / "oracles"

pytestmark = pytest.mark.skipif(
    not (ORACLES / "expected.json").exists(), reason="no ../shared/oracles beside the repository"
)

# How many rows each report has (counted with grep): tags, relations (twice), directions, distances.
REPORTS = {
    ("wsj-sd", "unicode"): (35, 42, 42, 4, 5),
    ("wsj-sd", "keep"): (40, 42, 42, 4, 5),
    ("ewt-goldtok", "unicode"): (17, 49, 49, 4, 5),
}
# For each table of precision and recall, the view of the preset that must equal it.
TABLES = {
    "Precision and recall of DEPREL": ("deprel", "LA"),
    "Precision and recall of DEPREL + ATTACHMENT": ("deprel", "LAS"),
    "Precision and recall of binned HEAD direction": ("direction", "bin"),
    "Precision and recall of binned HEAD distance": ("distance", "bin"),
}
ACCURACY = "The overall accuracy and its distribution over CPOSTAGs"
# For each name of a bin in the reports, the name in depkit.
OUR_NAMES = {"to_root": "root", "7-...": "7-"}

pairs = pytest.mark.parametrize(("pair", "punct"), REPORTS)


@cache
def expected() -> dict:  # type: ignore[type-arg]
    path = ORACLES / "expected.json"
    return json.loads(path.read_text()) if path.exists() else {}  # type: ignore[no-any-return]


@cache
def read_report(pair: str, punct: str) -> dict[str, list[list[str]]]:
    """Return the rows of every table, by its title; cells are stripped."""
    lines = (ORACLES / expected()[pair]["reports"][punct]).read_text().splitlines()
    tables: dict[str, list[list[str]]] = {}
    title = ""
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 1 and line.strip("- +"):
            title = line.strip()
        elif len(cells) > 1 and cells[1].isdigit():  # not the header of the table
            tables.setdefault(title, []).append(cells)
    return tables


@cache
def analyze_preset(pair: str, punct: str) -> dict[tuple[str, str], Analysis]:
    """Return the analysis of every view of the preset, by grouping and metric."""
    names = expected()[pair]
    data = read_data(ORACLES / names["gold"], [ORACLES / names["pred"]], punct=punct)
    return {(view.by[0], view.metric): analyze_view(data, view) for view in PRESETS["conllx"]}


def bin_counts(analysis: Analysis) -> dict[str, list[int]]:
    """Return gold, predicted, correct_gold and correct_predicted of every bin that is not empty."""
    return {analysis.labels[b]: analysis.totals[0, b].tolist() for b in analysis.bins}


@pairs
def test_the_report_has_the_expected_number_of_rows(pair: str, punct: str) -> None:
    total, *tags = read_report(pair, punct)[ACCURACY]
    assert total[0] == "total"
    row_counts = (len(tags), *(len(read_report(pair, punct)[title]) for title in TABLES))
    assert row_counts == REPORTS[pair, punct]


@pairs
def test_accuracy_by_tag_equals_the_report(pair: str, punct: str) -> None:
    (name, *total), *rows = read_report(pair, punct)[ACCURACY]
    bins_by_metric = [
        bin_counts(analyze_preset(pair, punct)["upos", metric]) for metric in ("UAS", "LA", "LAS")
    ]
    for bins in bins_by_metric:
        assert len(bins) == len(rows)
        assert sum(gold for gold, *_ in bins.values()) == int(total[0])
    correct_totals = [str(sum(bin[2] for bin in bins.values())) for bins in bins_by_metric]
    assert (name, [total[1], total[3], total[5]]) == ("total", correct_totals)
    for tag, words, *cells in rows:
        for bins, correct, percent in zip(bins_by_metric, cells[::2], cells[1::2], strict=True):
            assert bins[tag] == [int(words), int(words), int(correct), int(correct)], tag
            assert f"{100 * bins[tag][2] / bins[tag][0]:.0f}%" == percent, tag


@pairs
@pytest.mark.parametrize("title", TABLES)
def test_precision_and_recall_equal_the_report(pair: str, punct: str, title: str) -> None:
    analysis = analyze_preset(pair, punct)[TABLES[title]]
    rows = read_report(pair, punct)[title]
    bins = bin_counts(analysis)
    empty = [name for name, gold, correct, predicted, *_ in rows if gold == predicted == "0"]
    assert empty == (["self"] if "direction" in title else [])
    assert set(bins) == {OUR_NAMES.get(row[0], row[0]) for row in rows} - set(empty)
    for name, gold, correct, predicted, recall, precision in rows:
        index = analysis.labels.index(OUR_NAMES.get(name, name))
        bin = analysis.totals[0, index]
        assert bin.tolist() == [int(gold), int(predicted), int(correct), int(correct)], name
        ours = [f"{x:.2f}".replace("nan", "NaN") for x in precision_recall_f1(bin)]
        assert ours[:2] == [precision, recall], name


@pairs
def test_bins_are_in_the_order_of_the_report(pair: str, punct: str) -> None:
    """This holds for distances and tags; the script orders relations alphabetically."""
    distances = read_report(pair, punct)["Precision and recall of binned HEAD distance"]
    names = [OUR_NAMES.get(row[0], row[0]) for row in distances]
    assert list(bin_counts(analyze_preset(pair, punct)["distance", "bin"])) == names
    sizes = [int(row[1]) for row in read_report(pair, punct)[ACCURACY][1:]]
    assert [
        gold for gold, *_ in bin_counts(analyze_preset(pair, punct)["upos", "LAS"]).values()
    ] == sizes


def test_reports_contain_undefined_scores() -> None:
    """Without undefined scores the comparison of NaN above would test nothing."""
    cells = [cell for key in REPORTS for title in TABLES for row in read_report(*key)[title]
             for cell in row if cell == "NaN"]  # fmt: skip
    # The direction "self", and three relations that are never predicted.
    assert len(cells) == 3 * 2 + 2 * 3


@cache
def evaluate_pair(pair: str, punct: str, subtypes: str = "keep") -> Evaluation:
    names = expected()[pair]
    return evaluate(ORACLES / names["gold"], ORACLES / names["pred"], punct, subtypes=subtypes)


CASES = [
    (pair, punct, metric, correct, total)
    for pair, entry in expected().items()
    for script in ("conllx-script", "conll09-script")
    for punct, figures in entry.get(script, {}).items()
    for metric, (correct, total) in figures.items()
]


@pytest.mark.parametrize(("pair", "punct", "metric", "correct", "total"), CASES)
def test_counts_equal_those_of_the_script(
    pair: str, punct: str, metric: str, correct: int, total: int
) -> None:
    totals = evaluate_pair(pair, punct).totals
    assert (totals[METRICS[metric].correct], totals[METRICS[metric].gold]) == (correct, total)


@pytest.mark.parametrize("metric", ["UAS", "LAS", "CLAS", "UPOS", "XPOS", "Lemmas"])
def test_dropping_subtypes_equals_the_ud_evaluation(metric: str) -> None:
    """The CoNLL 2018 script cuts relations at the colon and keeps punctuation."""
    figures = expected()["ewt-goldtok"]["ud-evaluation"][metric]
    result = evaluate_pair("ewt-goldtok", "keep", "drop")
    names = METRICS[metric]
    result_counts = [result.totals[name] for name in names[:3]]
    assert result_counts == [figures[name] for name in ("correct", "gold", "system")]
    assert result.scores[metric] == pytest.approx(figures["f1"], abs=1e-12)
    assert result.precision_recall(metric) == pytest.approx(
        (figures["precision"], figures["recall"]), abs=1e-12
    )


def test_there_are_20_cases() -> None:
    assert len(CASES) == 20
