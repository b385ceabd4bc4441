"""`depkit analyze`: breaks the scores of systems down into bins."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from depkit.cli import options
from depkit.cli.analysis_tables import Record, bins_table, data_text, list_table, tables_text
from depkit.cli.comparison_tables import agreement_tables, calibration_table
from depkit.cli.evaluate import (
    NO_PUNCT,
    NO_SUBTYPES,
    Confidence,
    EvalbParameters,
    Gold,
    Verbose,
    are_bracketed,
    find_parameters,
    print_warnings,
    refuse_options,
)
from depkit.cli.help import ANALYSIS, DATA, OUTPUT
from depkit.cli.output import print_output
from depkit.cli.tables import Table
from depkit.score import constituents
from depkit.score.agreement import METRICS as AGREEMENT_METRICS
from depkit.score.agreement import agreement_rows
from depkit.score.analysis import (
    METRICS,
    PRESETS,
    View,
    analyze_view,
    group_gold,
    read_data,
)
from depkit.score.calibration import BINS, CALIBRATED_METRICS, calibration_rows, measure_calibration
from depkit.score.evalb_parameters import Parameters
from depkit.score.groupings import GROUPINGS, NEEDS_TRAIN, Grouping
from depkit.score.mistakes import (
    CONFUSION_COLUMNS,
    CONFUSIONS,
    WORST_COLUMNS,
    confusion_rows,
    worst_sentence_rows,
)
from depkit.score.report import Options, rows
from depkit.score.significance import DEFAULT_SEED, choices

Test = Literal["ar", "bootstrap"]
TOP = 20  # confusions in a table
SEVERAL_AND_BINS = "two or more PRED files and a table of bins"


def _describe(groupings: Mapping[str, Grouping]) -> str:
    return ", ".join(f"{name} ({grouping.description})" for name, grouping in groupings.items())


def analyze_command(
    gold: Gold,
    preds: Annotated[
        list[str],
        typer.Argument(
            metavar="PRED",
            help="Score these parsed files, which have the same words as GOLD. The first one is the"
            " baseline of comparisons.",
        ),
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUPING",
            help="Group the words by this property: "
            + _describe(GROUPINGS)
            + ". For bracketed trees, group the constituents: "
            + _describe(constituents.GROUPINGS)
            + ". Give the option several times to combine groupings into one table.",
            show_default="distance; label for bracketed trees",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BINS",
            help="For a grouping by numbers, use these bins, e.g. 1,2,3-6,7- (7- is 7 or more) or,"
            " with negative numbers, ..-3,-2..2 (..-3 is -3 or less). The value each makes one bin"
            " for each number. There are three more bins: root for the roots of the sentences,"
            " other for numbers outside the bins, and none for words without a head or below a"
            " cycle. With --calibration, give only the number of bins, which have equal width"
            f" (default: {BINS}).",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="Instead of --by, print the tables of a publication: li2019 (distance 1, 2, 3, 4,"
            " 5-6, 7-10, 11-, as in Li et al. 2019), mcdonald-nivre (sentence length, distance and"
            " depth, as in McDonald and Nivre 2007) or conllx (the tables of the CoNLL-X script).",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help=f"Count a word as correct by this metric: {', '.join(METRICS)}. With bin, a word"
            " is correct if its gold and predicted arcs are in the same bin, even if the head"
            " differs, as in the tables of the CoNLL-X script. Constituents are always compared as"
            " for LF1.",
            show_default="LAS",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    confusions: Annotated[
        list[str] | None,
        typer.Option(
            "--confusion",
            metavar="WHAT",
            help="Print the most frequent confusions of gold and predicted values:"
            f" {', '.join(CONFUSIONS)} (the gold UPOS of the heads).",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    worst_sentences: Annotated[
        int | None,
        typer.Option(
            "--worst",
            metavar="N",
            min=1,
            help="Print the N sentences with the most errors in --metric.",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Show whether the probabilities written by depkit parse --prob can be trusted:"
            " print the accuracy in bins of confidence, for heads (--metric UAS) or for heads and"
            " relations (LAS). The column gap is accuracy minus confidence; ECE is the mean"
            " absolute gap and MCE the largest.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    agreement: Annotated[
        bool,
        typer.Option(
            "--agreement",
            help="Show how much two or more PRED files could complement one another, in --metric"
            " UAS or LAS. Print the share of words that at least one system predicts correctly (the"
            " oracle), and the share that all systems predict correctly. For each pair of systems,"
            " print how often they agree, and the share of the errors of one system for which the"
            " other system is correct. With --by or --preset, this is printed for each bin of gold"
            " words.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Print this many confusions.",
            show_default=str(TOP),
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    error_reduction: Annotated[
        bool,
        typer.Option(
            "--rer",
            help="Print the relative error reduction (RER) of F1 compared with the first PRED.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    confidence: Confidence = False,
    test: Annotated[
        Test | None,
        typer.Option(
            help="For each bin, test whether the F1 of the first PRED and of each other PRED differ"
            " significantly: by paired approximate randomisation (ar) or the paired bootstrap over"
            " sentences. p values are adjusted for all comparisons of the table by Holm's method.",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    seed: Annotated[int, options.seed_option("--confidence, --test and --plot")] = DEFAULT_SEED,
    train: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Count the words of this training file, for --by frequency and --by oov.",
            rich_help_panel=DATA,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also draw the tables of bins into this file, whose name ends in .svg, .png or"
            " .pdf. Bins of numbers are drawn as curves, other bins as bars, and --calibration as a"
            " reliability diagram. This needs the package matplotlib.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    measure: Annotated[
        Literal["precision", "recall", "f1"] | None,
        typer.Option(
            help="Draw this measure in --plot.",
            show_default="recall for bins of numbers, f1 for others",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    evalb_parameters: EvalbParameters = None,
    predicted: options.Predicted = False,
    punct: options.Punct = "keep",
    subtypes: Annotated[
        options.Subtypes,
        typer.Option(
            help=options.SUBTYPES_HELP,
            rich_help_panel=DATA,
        ),
    ] = "keep",
    format: options.Format = None,
    as_json: options.JsonFlag = False,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Break scores down by distance, depth, relation and more.

    A table has one row per bin. If words are grouped by a property of arcs (distance, depth,
    relation ...), the gold and the predicted arcs are sorted into bins separately, so that a word
    can be in one bin in GOLD and in another in PRED. Recall is the share of correct words among the
    words that are in the bin in GOLD; precision is the share of correct words among the words that
    are in the bin in PRED. F1 is 0 if precision or recall is 0 or undefined.

    If words are grouped by a property of words (UPOS, sentence length ...), only the gold file
    determines the bins, and there is a single score, the accuracy. The metrics UPOS, XPOS, FEATS
    and Lemmas are computed over all words; --punct does not affect them.

    For bracketed trees, the rows are of constituents, which are compared as by EVALB (see --evalb).
    All groupings sort the gold and the predicted constituents separately.

    Example: depkit analyze --by distance --by upos gold.conllu one.conllu two.conllu
    """
    layout = options.resolve_format(format, as_json)
    options.check_punct(punct)
    settings = Options(confidence, test, error_reduction, seed)
    if are_bracketed([gold, *preds], evalb_parameters, encoding):
        words_only = "it is for the words of dependency trees, not for bracketed trees"
        refuse_options(
            {
                "--preset": preset and words_only,
                "--confusion": confusions and words_only,
                "--top": top and words_only,
                "--worst": worst_sentences and words_only,
                "--calibration": calibration and words_only,
                "--agreement": agreement and words_only,
                "--train": train and words_only,
                "--predicted": predicted and options.NO_PREDICTED,
                "--punct": punct != "keep" and NO_PUNCT,
                "--subtypes": subtypes != "keep" and NO_SUBTYPES,
            }
        )
        view = constituents.make_view(by or (), bins or (), metric)
        parameters = find_parameters(evalb_parameters or "collins")
        _analyze_brackets(
            gold, preds, view, parameters, settings, plot, measure, layout, encoding, quiet
        )
        return
    metric = _find_metric(metric)
    width = BINS
    if calibration:
        width, bins = _calibration_bins(bins, by, preset), None
    has_bins = bool(by or bins is not None or preset)
    other_tables = [*(confusions or []), *(["worst"] if worst_sentences else [])]
    other_tables += ["calibration"] if calibration else []
    other_tables += ["agreement"] if agreement else []
    has_bin_tables = bool(
        (has_bins and not agreement) or (plot and not calibration) or not other_tables
    )
    if has_bin_tables + len(other_tables) > 1 and layout in ("json", "csv"):
        raise typer.BadParameter(
            "it can contain only one table: choose one of --by or --preset, --confusion, --worst,"
            " --calibration and --agreement",
            param_hint=f"--format {layout}",
        )
    views = _views(by or [], bins or [], preset, metric) if has_bin_tables else []
    agreement_views = [View((), (), metric or "LAS")] if agreement else []
    if agreement and has_bins:
        agreement_views = _views(by or [], bins or [], preset, metric)
    if calibration:
        _check_metrics("--calibration", [metric or "LAS"], tuple(CALIBRATED_METRICS))
    _check_metrics("--agreement", [view.metric for view in agreement_views], AGREEMENT_METRICS)
    needs_train = any(set(NEEDS_TRAIN) & set(view.by) for view in views + agreement_views)
    several = len(preds) > 1
    _check_needs(
        {
            "--train": (train, needs_train, "--by frequency or --by oov"),
            "--top": (top, confusions, "--confusion"),
            "--bins": (bins is not None and agreement, by, "--by or --calibration"),
            "--agreement": (agreement, several, "two or more PRED files"),
            "--plot": (plot and agreement, calibration, "a table of bins or --calibration"),
            "--measure": (measure, plot and views, "--plot of a table of bins"),
            "--confidence": (confidence, views or calibration, "a table of bins or --calibration"),
            "--rer": (error_reduction, views and several, SEVERAL_AND_BINS),
            "--test": (test, views and several, SEVERAL_AND_BINS),
        }
    )
    _check_names(views + agreement_views, confusions or [], train)
    if plot:
        _check_plot(plot)
    options.check_inputs([gold, *preds, train or ""], quiet)
    groupings = {name for view in views + agreement_views for name in view.by}
    columns = {column for name in groupings for column in GROUPINGS[name].columns}
    if worst_sentences:
        columns.add("form")
    data = read_data(gold, preds, columns, punct, subtypes, encoding, train, calibration, predicted)
    print_warnings(data.evaluations, quiet, verbose)
    analyses = [analyze_view(data, view) for view in views]
    calibrated = [measure_calibration(data, metric or "LAS", width)] if calibration else []
    if plot:
        from depkit.drawing.plot import plot as draw_plot

        draw_plot([*analyses, *calibrated], plot, measure, seed)
    more_choices = choices(confidence, test, seed)
    more_choices += (("bins", str(width)),) if calibration else ()
    records = [rows(analysis, settings) for analysis in analyses]
    tables = [bins_table(*pair, settings) for pair in zip(analyses, records, strict=True)]
    for column in confusions or []:
        records.append(confusion_rows(data, column, top or TOP))
        tables.append(list_table(f"confusions of {column}", CONFUSION_COLUMNS, records[-1]))
    if worst_sentences:
        records.append(worst_sentence_rows(data, metric or "LAS", worst_sentences))
        title = f"sentences with the most errors in {metric or 'LAS'}"
        tables.append(list_table(title, WORST_COLUMNS, records[-1]))
    for result in calibrated:
        records.append(calibration_rows(result, confidence, seed))
        tables.append(calibration_table(records[-1]))
    for view in agreement_views:
        total, binned = agreement_rows(data, view.metric), []
        if view.by:
            groups, by_name = group_gold(data, view), " × ".join(view.by)
            binned = agreement_rows(data, view.metric, groups, by_name)
        records.append(binned or total)
        tables += agreement_tables(binned, total)
    signature = data.signature(*more_choices)
    _print_tables(records, tables, layout, signature)


def _print_tables(
    records: list[list[Record]], tables: list[Table], layout: str, signature: str
) -> None:
    """Print all tables; records: the rows of each table, for JSON and CSV."""
    if layout in ("json", "csv"):
        print_output(data_text(records, layout, signature, tables))
    else:
        print_output(tables_text(tables, layout, signature), colours=True)


def _analyze_brackets(
    gold: str,
    preds: list[str],
    view: View,
    parameters: Parameters,
    settings: Options,
    plot: str | None,
    measure: str | None,
    layout: str,
    encoding: str,
    quiet: bool,
) -> None:
    """Print a table of the constituents of bracketed trees; parameters: those of EVALB."""
    several = len(preds) > 1
    _check_needs(
        {
            "--measure": (measure, plot, "--plot"),
            "--rer": (settings.error_reduction, several, SEVERAL_AND_BINS),
            "--test": (settings.test, several, SEVERAL_AND_BINS),
        }
    )
    _check_names([view], [], None)
    if plot:
        _check_plot(plot)
    options.check_inputs([gold, *preds], quiet)
    data = constituents.read_tree_data(gold, preds, parameters, encoding)
    analysis = constituents.analyze_constituents(data, view)
    if plot:
        from depkit.drawing.plot import plot as draw_plot

        draw_plot([analysis], plot, measure, settings.seed)
    records = rows(analysis, settings)
    signature = data.signature(*choices(settings.confidence, settings.test, settings.seed))
    _print_tables([records], [bins_table(analysis, records, settings)], layout, signature)


def _find_metric(name: str | None) -> str | None:
    """Return the usual spelling of a metric's name; BadParameter if there is no such metric."""
    if name is None:
        return None
    for metric in METRICS:
        if metric.lower() == name.lower():
            return metric
    raise typer.BadParameter(
        f"there is no metric '{name}'; choose from {', '.join(METRICS)}", param_hint="--metric"
    )


def _calibration_bins(bins: list[str] | None, by: Any, preset: str | None) -> int:
    """Return the number of bins that --bins gives for --calibration."""
    if by or preset:
        raise typer.BadParameter(
            "it covers all words; leave out --by and --preset", param_hint="--calibration"
        )
    if bins is None:
        return BINS
    if len(bins) > 1 or not re.fullmatch("[1-9][0-9]?|100", bins[0]):
        raise typer.BadParameter(
            f"with --calibration, give a number of bins, 1 to 100, not '{' '.join(bins)}'",
            param_hint="--bins",
        )
    return int(bins[0])


def _check_metrics(option: str, metrics: Sequence[str], allowed: tuple[str, ...]) -> None:
    for metric in metrics:
        if metric not in allowed:
            raise typer.BadParameter(
                f"{option} needs {' or '.join(allowed)}, not {metric}", param_hint="--metric"
            )


def _views(by: list[str], bins: list[str], preset: str | None, metric: str | None) -> list[View]:
    """Return the views for the requested tables; by default, a table by distance."""
    if preset is None:
        return [View(tuple(by) or ("distance",), tuple(bins), metric or "LAS")]
    if preset not in PRESETS:
        raise typer.BadParameter(
            f"there is no preset '{preset}'; choose from {', '.join(PRESETS)}",
            param_hint="--preset",
        )
    if by or bins:
        raise typer.BadParameter(
            "it sets the groupings and bins; leave out --by and --bins", param_hint="--preset"
        )
    views = PRESETS[preset]
    if metric and len({view.metric for view in views}) > 1:
        raise typer.BadParameter(
            f"--preset {preset} sets it, so leave it out", param_hint="--metric"
        )
    return [replace(view, metric=metric or view.metric) for view in views]


def _check_needs(requirements: dict[str, tuple[Any, Any, str]]) -> None:
    """Raise BadParameter for an option that would have no effect.

    requirements: for each option its value, whether it has an effect, and what it needs for that.
    """
    for name, (value, has_effect, needs) in requirements.items():
        if value and not has_effect:
            raise typer.BadParameter(f"it needs {needs}", param_hint=name)


def _check_names(views: Sequence[View], confusions: Sequence[str], train: str | None) -> None:
    """Raise BadParameter for unknown groupings, bins and confusions before opening files."""
    for view in views:
        try:
            view.check()
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--by, --bins") from None
        if train is None and (names := sorted(set(view.by) & set(NEEDS_TRAIN))):
            raise typer.BadParameter(
                f"{names[0]} needs a training file; name it with --train FILE", param_hint="--by"
            )
    for column in confusions:
        if column not in CONFUSIONS:
            raise typer.BadParameter(
                f"there is no confusion of '{column}'; choose from {', '.join(CONFUSIONS)}",
                param_hint="--confusion",
            )


def _check_plot(path: str) -> None:
    from depkit.drawing.plot import check_plot_path

    try:
        check_plot_path(path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--plot") from None
