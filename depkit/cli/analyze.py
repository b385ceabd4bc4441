"""`depkit analyze`: breaks the scores of systems down into bins."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import typer

from depkit.cli import options
from depkit.cli.analysis_tables import RecordsAndTables, bins_table, list_table, print_tables
from depkit.cli.comparison_tables import agreement_tables, calibration_table, oracle_table
from depkit.cli.evaluate import (
    Confidence,
    EvalbParameters,
    Gold,
    Preds,
    Subtypes,
    Verbose,
    print_warnings,
)
from depkit.cli.help import ANALYSIS, DATA, OUTPUT, option
from depkit.cli.search import make_where
from depkit.drawing.plot import check_plot_path
from depkit.drawing.plot import plot as draw_plot
from depkit.files.errors import ArgumentError
from depkit.files.storage import check_overwriting
from depkit.score import constituents
from depkit.score.agreement import agreement_rows
from depkit.score.analysis import METRICS, Analysis, group_gold
from depkit.score.attachment import ARCS
from depkit.score.calibration import (
    BINS,
    Reliability,
    calibration_rows,
    measure_calibration,
)
from depkit.score.evaluation import find_metric
from depkit.score.evaluators import Evaluator, WordEvaluator, find_evaluator
from depkit.score.groupings import GROUPINGS, Grouping
from depkit.score.mistakes import (
    CONFUSION_COLUMNS,
    CONFUSIONS,
    WORST_COLUMNS,
    confusion_matrices,
    confusion_rows,
    worst_sentence_rows,
)
from depkit.score.oracle import oracle_panel, oracle_rows
from depkit.score.report import AnalysisTest, Options, rows
from depkit.score.request import Plan, Request
from depkit.score.significance import DEFAULT_SEED, choices

TOP = 20  # confusions in a table


def _describe(groupings: Mapping[str, Grouping]) -> str:
    return ", ".join(f"{name} ({grouping.description})" for name, grouping in groupings.items())


_BY = (
    f"Group the words by this property: {_describe(GROUPINGS)}. For bracketed trees, group the"
    f" constituents: {_describe(constituents.GROUPINGS)}. Give the option several times to combine"
    " groupings into one table."
)
_BINS = (
    "For a grouping by numbers, use these bins, e.g. 1,2,3-6,7- (7- is 7 or more) or, with negative"
    " numbers, ..-3,-2..2 (..-3 is -3 or less). The value each makes one bin for each number. There"
    " are three more bins: root for the roots of the sentences, other for numbers outside the bins,"
    " and none for words without a head or below a cycle. With --calibration, give only the number"
    f" of bins, which have equal width (default: {BINS})."
)
_METRIC = (
    f"Count a word as correct by this metric: {', '.join(METRICS)}. With bin, a word is correct if"
    " its gold and predicted arcs are in the same bin, even if the head differs, as in the tables"
    " of the CoNLL-X script. With --by enhancement, it is ELAS, or EULAS to ignore subtypes."
    " Constituents are always compared as for LF1."
)
_DEFAULT_METRIC = "LAS; ELAS with --by enhancement"
_CONFUSION = (
    f"Print the most frequent confusions of gold and predicted values: {', '.join(CONFUSIONS)} (the"
    " gold UPOS of the heads)."
)


def analyze_command(
    context: typer.Context,
    gold: Gold,
    preds: Preds,
    *,
    by: Annotated[
        list[str] | None,
        option(
            ANALYSIS,
            metavar="GROUPING",
            help=_BY,
            show_default="distance; label for bracketed trees",
        ),
    ] = None,
    bins: Annotated[list[str] | None, option(ANALYSIS, metavar="BINS", help=_BINS)] = None,
    preset: Annotated[str | None, option(ANALYSIS, metavar="PRESET")] = None,
    metric: Annotated[
        str | None, option(ANALYSIS, metavar="METRIC", help=_METRIC, show_default=_DEFAULT_METRIC)
    ] = None,
    confusion: Annotated[
        list[str] | None, option(ANALYSIS, metavar="WHAT", help=_CONFUSION)
    ] = None,
    worst: Annotated[int | None, option(ANALYSIS, metavar="N", min=1)] = None,
    calibration: Annotated[bool, option(ANALYSIS, "--calibration")] = False,
    agreement: Annotated[bool, option(ANALYSIS, "--agreement")] = False,
    oracle: Annotated[int | None, option(ANALYSIS, metavar="K", min=1, max=10_000)] = None,
    top: Annotated[int | None, option(ANALYSIS, min=1, show_default=str(TOP))] = None,
    rer: Annotated[bool, option(ANALYSIS, "--rer")] = False,
    confidence: Confidence = False,
    test: Annotated[AnalysisTest | None, option(ANALYSIS)] = None,
    seed: Annotated[int, options.seed_option("--confidence, --test and --plot")] = DEFAULT_SEED,
    train: Annotated[str | None, option(DATA, metavar="FILE")] = None,
    where: options.Where = "",
    plot: Annotated[str | None, option(OUTPUT, metavar="FILE")] = None,
    measure: Annotated[
        Literal["precision", "recall", "f1"] | None,
        option(OUTPUT, show_default="recall for bins of numbers, f1 for others"),
    ] = None,
    evalb: EvalbParameters = None,
    predicted: options.Predicted = False,
    punct: options.Punct = "keep",
    subtypes: Subtypes = "keep",
    format: options.Format = None,
    as_json: options.JsonFlag = False,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Break scores down by distance, depth, relation and more."""
    layout = options.resolve_format(format, as_json)
    check_overwriting([gold, *preds, train, where, evalb], [plot or "-"])
    evaluator = find_evaluator(
        [gold, *preds], punct=punct, subtypes=subtypes, predicted=predicted, evalb=evalb,
        encoding=encoding,
    )  # fmt: skip
    if oracle:
        others = {
            "by": by, "bins": bins, "preset": preset, "confusion": confusion, "worst": worst,
            "calibration": calibration, "agreement": agreement, "top": top, "rer": rer,
            "test": test, "confidence": confidence, "train": train, "where": where,
            "measure": measure, "seed": options.has_seed(context),
        }  # fmt: skip
        _print_oracle(
            gold, preds, oracle, others, evaluator=evaluator, metric=metric, layout=layout,
            plot=plot, quiet=quiet, verbose=verbose,
        )  # fmt: skip
        return
    request = Request(
        by=by or (), bins=bins, preset=preset, metric=metric, confusion=confusion or (),
        worst=worst, calibration=calibration, agreement=agreement, top=top, rer=rer,
        confidence=confidence, test=test, seed=seed, has_seed=options.has_seed(context),
        train=train, plot=plot, measure=measure,
    )  # fmt: skip
    plan = request.resolve(evaluator)
    if plan.num_kinds > 1 and layout in ("json", "csv"):
        raise typer.BadParameter(
            "it can contain only one table: choose one of --by or --preset, --confusion, --worst,"
            " --calibration and --agreement",
            param_hint=f"--format {layout}",
        )
    request.check(plan, len(preds))
    evaluator.refuse(where=where)
    selection = make_where(where, options.note_printer(quiet))
    if plot:
        check_plot_path(plot)
    options.check_inputs([gold, *preds, train or ""], quiet)
    data = evaluator.read(
        gold, preds, columns=plan.columns, train=train, probabilities=calibration, where=selection
    )
    print_warnings(evaluator, data.evaluations, quiet, verbose, test=test)
    analyses = [evaluator.analyze(data, view) for view in plan.views]
    calibrated, more_choices = [], choices(confidence, test, seed)
    if calibration:
        calibrated.append(measure_calibration(data, plan.metric, plan.calibration_bins))
        more_choices += (("bins", str(plan.calibration_bins)),)
    if plot:
        confusions = [x for column in plan.confusion for x in confusion_matrices(data, column)]
        draw_plot([*analyses, *calibrated, *confusions], plot, measure, seed)
    tables = [*_tables_of_bins(analyses, request), *_other_tables(data, calibrated, request, plan)]
    print_tables(tables, layout, data.signature(*more_choices))


def _print_oracle(
    gold: str,
    preds: Sequence[str],
    k: int,
    others: Mapping[str, object],
    *,
    evaluator: Evaluator,
    metric: str | None,
    layout: str,
    plot: str | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Print the scores of the best of the first trees of each sentence, and draw them over K.

    others: the arguments that have no effect on them.
    """
    if not isinstance(evaluator, WordEvaluator):
        raise typer.BadParameter("it is for dependency trees", param_hint="--oracle")
    for argument, value in others.items():
        if value:
            raise ArgumentError(argument, "it has no effect on `oracle`; leave it out")
    name = find_metric(metric or evaluator.default_metric, ARCS)
    if plot:
        check_plot_path(plot)
    options.check_inputs([gold, *preds], quiet)
    records, evaluations = oracle_rows(
        gold, preds, k, name, punct=evaluator.punct, subtypes=evaluator.subtypes,
        predicted=evaluator.predicted, encoding=evaluator.encoding,
    )  # fmt: skip
    print_warnings(evaluator, evaluations, quiet, verbose)
    if plot:
        draw_plot([oracle_panel(records, evaluations[0].choices)], plot)
    print_tables([(records, [oracle_table(records)])], layout, evaluations[0].signature)


def _tables_of_bins(analyses: Sequence[Analysis], request: Request) -> Iterator[RecordsAndTables]:
    settings = Options(request.confidence, request.test, request.rer, request.seed)
    for analysis in analyses:
        records = rows(analysis, settings)
        yield records, [bins_table(analysis, records, settings)]


def _other_tables(
    data: Any, calibrated: Sequence[Reliability], request: Request, plan: Plan
) -> Iterator[RecordsAndTables]:
    for column in plan.confusion:
        records = confusion_rows(data, column, request.top or TOP)
        yield records, [list_table(f"confusions of {column}", CONFUSION_COLUMNS, records)]
    if plan.worst:
        records = worst_sentence_rows(data, plan.metric, plan.worst)
        title = f"sentences with the most errors in {plan.metric}"
        yield records, [list_table(title, WORST_COLUMNS, records)]
    for result in calibrated:
        records = calibration_rows(result, request.confidence, request.seed)
        yield records, [calibration_table(records)]
    for view in plan.agreement:
        total, binned = agreement_rows(data, view.metric), []
        if view.by:
            groups, by_name = group_gold(data, view), " × ".join(view.by)
            binned = agreement_rows(data, view.metric, groups, by_name)
        yield binned or total, agreement_tables(binned, total)
