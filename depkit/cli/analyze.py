"""`depkit analyze`: where systems are right and wrong, bin by bin."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from depkit.cli import options
from depkit.cli.comparison_tables import of_agreement, of_calibration, short_systems
from depkit.cli.evaluate import Confidence, Gold, Preds, tell
from depkit.cli.help import ANALYSIS, DATA, OUTPUT
from depkit.cli.tables import Table, best_systems, rendered
from depkit.score.agreement import METRICS as COMPARED
from depkit.score.agreement import agreement_rows
from depkit.score.analysis import METRICS, PRESETS, Analysis, View, analyze, read_data
from depkit.score.calibration import BINS, EVENTS, calibrate, calibration_rows
from depkit.score.groupings import GROUPINGS, NEED_TRAIN
from depkit.score.mistakes import CONFUSION, CONFUSIONS, WORST, confusion, worst
from depkit.score.report import Options, rows, total_rows
from depkit.score.significance import DEFAULT_SEED, choices, sentence
from depkit.score.table import csv_table, flat, p_value, percent

Test = Literal["ar", "bootstrap"]
Record = dict[str, Any]
TOP = 20  # confusions
_WIDEST = 80  # characters of a sentence in a table


def analyze_command(
    gold: Gold,
    preds: Preds,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUPING",
            help="What to group by; given twice or more, crossed. There are "
            + ", ".join(f"{name} ({each.about})" for name, each in GROUPINGS.items())
            + ".",
            show_default="distance",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BINS",
            help="Bins of a --by of numbers, in their order: 1,2,3-6,7- or, of negative numbers,"
            " ..-3,-2..2; each for every number. Beside them are root (arcs of roots), other"
            " (numbers in no bin) and none (words without a head or below a cycle). With"
            f" --calibration, how many of equal width ({BINS}).",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="Tables of the literature instead of --by: li2019 (distance 1, 2, 3, 4, 5-6, 7-10,"
            " 11-), mcdonald-nivre (sentence length, distance, depth), conllx (those of the"
            " CoNLL-X script).",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help=f"What has to be right: {', '.join(METRICS)} (the bin is the same, whatever the"
            " head, as in the CoNLL-X script's tables).",
            show_default="LAS",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    confused: Annotated[
        list[str] | None,
        typer.Option(
            "--confusion",
            metavar="WHAT",
            help=f"What is taken for what, the most frequent first: {', '.join(CONFUSIONS)} (the"
            " heads' gold UPOS).",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    worst_sentences: Annotated[
        int | None,
        typer.Option(
            "--worst",
            metavar="N",
            min=1,
            help="The N sentences with most errors in the metric.",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Whether the probabilities of depkit parse --prob can be trusted: accuracy in bins"
            " of confidence, that of the head (--metric UAS) or of head and relation (LAS). The gap"
            " is accuracy - confidence, ECE the mean absolute gap, MCE the largest.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    agreement: Annotated[
        bool,
        typer.Option(
            "--agreement",
            help="How two PREDs or more complement one another in --metric UAS or LAS: where some"
            " is right (the oracle) or all are, where two say the same, and which errors of one"
            " another has right; with --by or --preset, in bins of gold words.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many confusions.",
            show_default=str(TOP),
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    error_reduction: Annotated[
        bool,
        typer.Option(
            "--rer",
            help="Relative error reduction of F1 against the first PRED.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    confidence: Confidence = False,
    test: Annotated[
        Test | None,
        typer.Option(
            help="Test each later PRED's F1 against the first's, bin by bin: paired approximate"
            " randomisation or bootstrap over sentences, adjusted by Holm's method over the table.",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    seed: options.Seed = DEFAULT_SEED,
    train: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A training file, for --by frequency and --by oov.",
            rich_help_panel=DATA,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also draw the tables of bins, as .svg, .png or .pdf (needs matplotlib): curves"
            " over numbers, bars for the rest; with --calibration, a reliability diagram.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    measure: Annotated[
        Literal["precision", "recall", "f1"] | None,
        typer.Option(
            help="What --plot draws.",
            show_default="recall over numbers, which is accuracy; f1",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    punct: options.Punct = "keep",
    subtypes: Annotated[
        options.Subtypes,
        typer.Option(
            help="drop cuts relations at the first colon: nsubj:pass, nsubj.",
            rich_help_panel=DATA,
        ),
    ] = "keep",
    format: options.Format = None,
    as_json: options.JsonFlag = False,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Break scores down by distance, depth, relation and more, for one system or several.

    Precision is of the predicted words in a bin, recall of the gold ones. Groupings of arcs
    (distance, depth, relation ...) put gold and predicted arcs each into their own bins;
    groupings of words (UPOS, sentence length ...) go by the gold words. F1 is 0 where precision
    or recall is, or has nothing to divide by. Metrics of tags are of all words, whatever --punct.

    Example: depkit analyze --by distance --by upos gold.conllu one.conllu two.conllu
    """
    layout = options.chosen_format(format, as_json)
    options.check_punct(punct)
    metric = _metric(metric)
    width = BINS
    if calibration:
        width, bins = _calibration_bins(bins, by, preset), None
    split = bool(by or bins is not None or preset)
    others = [*(confused or []), *(["worst"] if worst_sentences else [])]
    others += [*(["calibration"] if calibration else []), *(["agreement"] if agreement else [])]
    grouped = bool((split and not agreement) or (plot and not calibration) or not others)
    if grouped + len(others) > 1 and layout in ("json", "csv"):
        raise typer.BadParameter(
            "holds one table: of --by or --preset, --confusion, --worst, --calibration or"
            " --agreement",
            param_hint=f"--format {layout}",
        )
    views = _views(by or [], bins or [], preset, metric) if grouped else []
    compared = [View((), (), metric or "LAS")] if agreement else []
    if agreement and split:
        compared = _views(by or [], bins or [], preset, metric)
    if calibration:
        _check_compared("--calibration", [metric or "LAS"], tuple(EVENTS))
    _check_compared("--agreement", [view.metric for view in compared], COMPARED)
    _check_needs(
        {
            "--train": (train, any(set(NEED_TRAIN) & set(view.by) for view in views + compared),
                        "--by frequency or --by oov"),
            "--top": (top, confused, "--confusion"),
            "--bins": (bins is not None and agreement, by, "--by or --calibration"),
            "--agreement": (agreement, len(preds) > 1, "two PREDs or more"),
            "--plot": (plot and agreement, calibration, "a table of bins or --calibration"),
            "--measure": (measure, plot and views, "--plot of a table of bins"),
            "--confidence": (confidence, views or calibration, "a table of bins or --calibration"),
            "--rer": (error_reduction, views and len(preds) > 1, "two PREDs and a table of bins"),
            "--test": (test, views and len(preds) > 1, "two PREDs and a table of bins"),
        }
    )  # fmt: skip
    _check_names(views + compared, confused or [], train)
    if plot:
        _check_plot(plot)
    options.check_inputs([gold, *preds, train or ""], quiet)
    named = {name for view in views + compared for name in view.by}
    columns = {column for name in named for column in GROUPINGS[name].columns}
    if worst_sentences:
        columns.add("form")
    data = read_data(gold, preds, columns, punct, subtypes, encoding, train, calibration)
    tell(data.evaluations, quiet, verbose)
    analyses = [analyze(data, view) for view in views]
    calibrated = [calibrate(data, metric or "LAS", width)] if calibration else []
    if plot:
        from depkit.drawing.plot import plot as draw

        draw([*analyses, *calibrated], plot, measure, seed)
    wanted = Options(confidence, test, error_reduction, seed)
    more = choices(confidence, test, seed)
    more += (("bins", str(width)),) if calibration else ()
    found = [rows(analysis, wanted) for analysis in analyses]
    tables = [_of_bins(*pair, wanted) for pair in zip(analyses, found, strict=True)]
    for what in confused or []:
        found.append(confusion(data, what, top or TOP))
        tables.append(_listed(f"confusions of {what}", CONFUSION, found[-1]))
    if worst_sentences:
        found.append(worst(data, metric or "LAS", worst_sentences))
        tables.append(_listed(f"most errors in {metric or 'LAS'}", WORST, found[-1]))
    for each in calibrated:
        found.append(calibration_rows(each, confidence, seed))
        tables.append(of_calibration(found[-1]))
    for view in compared:
        total, binned = agreement_rows(data, view.metric), []
        if view.by:
            groups, by_what = analyze(data, view).gold, " × ".join(view.by)
            binned = agreement_rows(data, view.metric, groups, by_what)
        found.append(binned or total)
        tables += of_agreement(binned, total)
    if layout in ("json", "csv"):
        typer.echo(_records(found, layout, data.signature(*more), tables))
    else:
        typer.echo(_text(tables, layout, data.signature(*more)))


def _metric(name: str | None) -> str | None:
    """A metric under its own name."""
    known = [metric for metric in METRICS if name is not None and metric.lower() == name.lower()]
    if name is not None and not known:
        raise typer.BadParameter(
            f"no metric '{name}'; there are {', '.join(METRICS)}", param_hint="--metric"
        )
    return known[0] if known else None


def _calibration_bins(bins: list[str] | None, by: Any, preset: str | None) -> int:
    """What --bins says to --calibration, which is of all words."""
    if by or preset:
        raise typer.BadParameter(
            "is of all words; leave out --by and --preset", param_hint="--calibration"
        )
    if bins is None:
        return BINS
    if len(bins) > 1 or not re.fullmatch("[1-9][0-9]?|100", bins[0]):
        raise typer.BadParameter(
            f"with --calibration a number of bins, 1 to 100, not '{' '.join(bins)}'",
            param_hint="--bins",
        )
    return int(bins[0])


def _check_compared(option: str, metrics: Sequence[str], known: tuple[str, ...]) -> None:
    for metric in metrics:
        if metric not in known:
            raise typer.BadParameter(
                f"{option} is of {' or '.join(known)}, not {metric}", param_hint="--metric"
            )


def _views(by: list[str], bins: list[str], preset: str | None, metric: str | None) -> list[View]:
    """The tables that are asked for; distance if nothing is."""
    if preset is None:
        return [View(tuple(by) or ("distance",), tuple(bins), metric or "LAS")]
    if preset not in PRESETS:
        raise typer.BadParameter(
            f"no preset '{preset}'; there are {', '.join(PRESETS)}", param_hint="--preset"
        )
    if by or bins:
        raise typer.BadParameter("leave out --by and --bins, it sets them", param_hint="--preset")
    views = PRESETS[preset]
    if metric and len({view.metric for view in views}) > 1:
        raise typer.BadParameter(f"--preset {preset} sets it", param_hint="--metric")
    return [replace(view, metric=metric or view.metric) for view in views]


def _check_needs(wanted: dict[str, tuple[Any, Any, str]]) -> None:
    """Options that would have no effect: (given, whether it makes sense, with what)."""
    for name, (given, useful, needed) in wanted.items():
        if given and not useful:
            raise typer.BadParameter(f"goes with {needed}", param_hint=name)


def _check_names(views: Sequence[View], confused: Sequence[str], train: str | None) -> None:
    """Groupings, bins and confusions that do not exist, before a file is opened."""
    for view in views:
        try:
            view.check()
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--by, --bins") from None
        if train is None and (lacking := sorted(set(view.by) & set(NEED_TRAIN))):
            raise typer.BadParameter(
                f"{lacking[0]} counts the words of --train FILE", param_hint="--by"
            )
    for what in confused:
        if what not in CONFUSIONS:
            raise typer.BadParameter(
                f"no confusion of '{what}'; there are {', '.join(CONFUSIONS)}",
                param_hint="--confusion",
            )


def _check_plot(path: str) -> None:
    from depkit.drawing.plot import picture_format

    try:
        picture_format(path)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--plot") from None


def _records(found: list[list[Record]], layout: str, signature: str, tables: list[Table]) -> str:
    """The rows of all tables as JSON or CSV, the signature in each."""
    records = [row | {"signature": signature} for each in found for row in each]
    if layout == "json":
        return json.dumps(records, indent=2)
    cells = [flat(record) for record in records]
    header = list(cells[0]) if cells else list(tables[0].columns)
    return csv_table(header, [[str(value) for value in row.values()] for row in cells])


def _text(tables: list[Table], layout: str, signature: str) -> str:
    """The tables, one below the other, and the signature."""
    notes = [table.note for table in tables]
    notes[-1] = "\n".join(filter(None, [notes[-1], signature]))
    shown = (replace(table, note=note) for table, note in zip(tables, notes, strict=True))
    return "\n\n".join(rendered(table, layout) for table in shown)


def _of_bins(analysis: Analysis, records: list[Record], wanted: Options) -> Table:
    """Rows of bins; where gold and predicted bins are the same, one score says all."""
    records = records + total_rows(analysis)
    short = short_systems(records)
    several = len(short) > 1
    same = all(row["correct_gold"] == row["correct_predicted"] for row in records)
    correct = {"correct": "correct_gold"}
    if not same:
        correct = {"of gold": "correct_gold", "of predicted": "correct_predicted"}
    counts = {"gold": "gold", "predicted": "predicted"} | correct
    scores = {"precision": "precision", "recall": "recall", "F1": "f1"}
    if not analysis.arcs:
        counts, scores = {"words": "gold", "correct": "correct_gold"}, {"accuracy": "recall"}
    if wanted.confidence:
        scores |= {"95% from": "f1_low", "to": "f1_high"}
    if wanted.error_reduction:
        scores["RER"] = "error_reduction"
    header = ["bin", *(["system"] if several else []), *counts, *scores]
    header += ["difference", "p", "p (Holm)"] if wanted.test else []
    body = []
    for record in records:
        row = [record["bin"], *([short[record["system"]]] if several else [])]
        row += [str(record[name]) for name in counts.values()]
        row += [percent(record.get(name)) for name in scores.values()]
        if wanted.test:
            difference = record.get("difference")
            row.append("-" if difference is None else f"{difference:+.2f}")
            row += [p_value(record.get(name)) for name in ("p", "p_adjusted")]
        body.append(row)
    note = ""
    if wanted.test:
        tested = sum(row.get("p") is not None for row in records)
        note = sentence(wanted.test, wanted.trials, wanted.seed, tested, "in this table")
    title = f"{analysis.view.metric} by {' × '.join(analysis.view.by)}"
    title = title if several else f"{title}: {next(iter(short.values()))}"
    best = best_systems(header, body, ("precision", "recall", "F1", "accuracy"))
    return Table(title, header, body, note, best)


def _listed(title: str, columns: Sequence[str], records: list[Record]) -> Table:
    """Records as they are, without what the title says."""
    short = short_systems(records)
    left_out = {"metric", "confusion"} | (set() if len(short) > 1 else {"system"})
    if len(short) < 2:
        title += f": {next(iter(short.values()), 'none')}"
    header = [name for name in columns if name not in left_out]
    body = []
    for record in records:
        row = record | {"system": short[record["system"]]}
        if len(row.get("text", "")) > _WIDEST:
            row["text"] = f"{row['text'][:_WIDEST]} ..."
        values = (row[name] for name in header)
        body.append([percent(x, 1) if isinstance(x, float) else str(x) for x in values])
    return Table(title, header, body)
