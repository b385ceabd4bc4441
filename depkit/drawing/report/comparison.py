"""The contents of the report that compares systems; the package `score` computes all scores."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from depkit.corpus.sentence import Sentence
from depkit.drawing.report import constituents, dependencies
from depkit.drawing.report.contents import LIMIT, as_table, describe_page
from depkit.drawing.report.enhanced import pack_enhanced
from depkit.score.analysis import RELATION_METRICS
from depkit.score.evaluation import Evaluation
from depkit.score.evaluators import Evaluator
from depkit.score.records import evaluation_records
from depkit.score.report import Options, rows
from depkit.score.significance import DEFAULT_SEED
from depkit.score.table import short_names

TEST = "ar"


class _Page(NamedTuple):
    """What the page of an evaluator shows: groupings in curves and tables, and further sections."""

    kind: str
    curves: tuple[str, ...]
    tables: tuple[str, ...]
    metrics: tuple[str, ...]
    make_sections: Callable[[Any, int], dict[str, Any]]
    pack_sentences: Callable[[Any, int], dict[str, Any]]
    # None if a sentence has only one tree
    pack_alternatives: Callable[[dict[str, Any], Any, str], list[dict[str, Any]]] | None


_PAGES = {  # by the items that an evaluator compares
    "words": _Page(
        "dependencies", ("distance", "length", "depth"), ("deprel", "upos", "xpos"),
        ("LAS", "UAS"), dependencies.make_sections, dependencies.pack_sentences,
        dependencies.pack_alternatives,
    ),
    "constituents": _Page(
        "constituents", ("span-length", "depth", "length"), ("label", "span-length"), ("LF1",),
        lambda data, seed: {}, constituents.pack_sentences, None,
    ),
}  # fmt: skip


def make_contents(
    evaluator: Evaluator,
    data: Any,
    limit: int = LIMIT,
    *,
    seed: int = DEFAULT_SEED,
    notes: Sequence[str] = (),
    trees: Sequence[Sequence[Sequence[Sentence]]] = (),
) -> dict[str, Any]:
    """Compute everything that a report shows.

    Args:
        evaluator: The evaluator of the files.
        data: What it has read, with the column "form" and with probabilities where there are any.
        limit: The page has at most this many sentences, spread evenly over the treebank. All
            scores are computed from all sentences.
        seed: The seed of intervals and tests.
        notes: Warnings about the files.
        trees: For each system the trees of each sentence, if they are to be shown.

    Returns:
        The contents, which can be written as JSON: those of `describe_page`; and
            items, notes, gold: What is compared, the warnings, and the name of the gold file.
            systems: For each system its file and a short name.
            metrics, lower_is_better: The names of all metrics, and of those whose best score is the
                lowest.
            scores, test: The records of `evaluation_records`, and the description of the test.
            curves, tables: For each grouping a table of its bins.
            alternatives: See `dependencies.pack_alternatives`; only of dependency trees.
            enhanced: See `pack_enhanced`, if enhanced dependencies are scored.
            sentences: See `pack_sentences`; and further sections, see `make_sections`.
    """
    page = _PAGES[evaluator.items]
    contents = describe_page(page.kind) | {"items": evaluator.items, "notes": list(notes)}
    contents |= {"gold": data.gold_name, **_describe_scores(data.evaluations, seed)}
    for section, names in (("curves", page.curves), ("tables", page.tables)):
        contents[section] = _group(evaluator, data, names=names, metrics=page.metrics, seed=seed)
    contents |= page.make_sections(data, seed)
    contents["sentences"] = page.pack_sentences(data, limit)
    if evaluator.enhanced:
        contents["tables"] += _group(
            evaluator, data, names=("enhancement",), metrics=RELATION_METRICS, seed=seed
        )
        contents["enhanced"] = pack_enhanced(contents["sentences"], data)
    if page.pack_alternatives:
        contents["alternatives"] = page.pack_alternatives(
            contents["sentences"], trees, evaluator.subtypes
        )
    return contents


def _describe_scores(evaluations: Sequence[Evaluation], seed: int) -> dict[str, Any]:
    systems = [evaluation.system for evaluation in evaluations]
    evaluations = [replace(evaluation, shows_precision=False) for evaluation in evaluations]
    metrics = evaluations[0].metrics
    test = TEST if len(systems) > 1 else None
    records, description = evaluation_records(evaluations, confidence=True, test=test, seed=seed)
    return {
        "systems": [
            {"file": file, "name": name}
            for file, name in zip(systems, short_names(systems), strict=True)
        ],
        "metrics": list(metrics),
        "lower_is_better": [name for name, metric in metrics.items() if metric.lower_is_better],
        "scores": records,
        "test": description,
    }


def _group(
    evaluator: Evaluator, data: Any, *, names: Sequence[str], metrics: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    """Return the tables of groupings, except those by a column that contains only `_`."""
    groups = []
    options = Options(confidence=True, seed=seed)
    for name in names:
        grouping = evaluator.groupings[name]
        if any(data.words.is_blank(data.words.gold, column) for column in grouping.columns):
            continue
        views = [evaluator.view((name,), (), metric) for metric in metrics]
        records = [row for view in views for row in rows(evaluator.analyze(data, view), options)]
        heading = {"by": name, "description": grouping.description, "arcs": grouping.groups_arcs}
        items = "relations" if grouping.items == "relations" else evaluator.items
        groups.append(heading | {"items": items} | as_table(records))
    return groups
