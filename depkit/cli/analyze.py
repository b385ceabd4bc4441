"""`depkit analyze`: where systems are right and wrong, bin by bin."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from depkit.cli.options import (
    Encoding,
    Format,
    JsonFlag,
    Punct,
    Quiet,
    Seed,
    Subtypes,
    Verbose,
    check_inputs,
    chosen_format,
)
from depkit.score.analysis import METRICS, PRESETS, Analysis, Data, View, analyze, read_data
from depkit.score.groupings import GROUPINGS, NEED_TRAIN
from depkit.score.mistakes import CONFUSIONS, confusion, worst
from depkit.score.report import Options, rows, total_rows
from depkit.score.significance import sentence
from depkit.score.table import TABLES, csv_table, flat, p_value, percent, short_names

Test = Literal["ar", "bootstrap"]
Record = dict[str, Any]
_WIDEST = 80  # characters of a sentence in a table


def analyze_command(
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="The annotated file; - is standard input.")
    ],
    preds: Annotated[
        list[str], typer.Argument(metavar="PRED", help="Parsed files; the first is the baseline.")
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUPING",
            help="What to group by; given twice or more, crossed. There are "
            + ", ".join(f"{name} ({each.about})" for name, each in GROUPINGS.items())
            + ".",
            show_default="distance",
        ),
    ] = None,
    bins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BINS",
            help="Bins of a --by of numbers, in their order: 1,2,3-6,7- or, of negative numbers,"
            " ..-3,-2..2; each for every number.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tables of the literature instead of --by: li2019 (distance 1, 2, 3, 4, 5-6, 7-10,"
            " 11-), mcdonald-nivre (sentence length, distance, depth), conllx (those of the"
            " CoNLL-X script).",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            help=f"What has to be right: {', '.join(METRICS)} (the bin is the same, whatever the"
            " head, as in the CoNLL-X script's tables).",
            show_default="LAS",
        ),
    ] = None,
    confused: Annotated[
        list[str] | None,
        typer.Option(
            "--confusion",
            metavar="WHAT",
            help=f"What is taken for what, the most frequent first: {', '.join(CONFUSIONS)} (the"
            " heads' gold UPOS).",
        ),
    ] = None,
    worst_sentences: Annotated[
        int | None,
        typer.Option("--worst", metavar="N", min=1, help="The N sentences with most errors."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many confusions.")] = 20,
    error_reduction: Annotated[
        bool,
        typer.Option("--rer", help="Relative error reduction of F1 against the first PRED."),
    ] = False,
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="95% intervals: 1,000 bootstrap samples of sentences."),
    ] = False,
    test: Annotated[
        Test | None,
        typer.Option(
            help="Test each later PRED's F1 against the first's, bin by bin: paired approximate"
            " randomisation or bootstrap over sentences, adjusted by Holm's method over the table."
        ),
    ] = None,
    seed: Seed = 1,
    train: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A training file, for --by frequency and --by oov."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the tables into a .svg, .png or .pdf file instead (needs depkit[plot]).",
        ),
    ] = None,
    punct: Punct = "keep",
    subtypes: Annotated[
        Subtypes, typer.Option(help="drop cuts relations at the first colon: nsubj:pass, nsubj.")
    ] = "keep",
    format: Format = None,
    as_json: JsonFlag = False,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Break scores down by distance, depth, relation and more, for one system or several.

    Precision is of the predicted words in a bin, recall of the gold ones. Groupings of arcs
    (distance, depth, relation ...) put gold and predicted arcs each into their own bins;
    groupings of words (UPOS, sentence length ...) go by the gold words.

    Example: depkit analyze --by distance --by upos gold.conllu one.conllu two.conllu
    """
    layout = chosen_format(format, as_json)
    check_inputs([gold, *preds, *([train] if train else [])], punct)
    kinds = bool(by or preset or plot) + bool(confused) + bool(worst_sentences)
    if kinds > 1 and layout in ("json", "csv"):
        raise typer.BadParameter(
            "holds one kind of rows: --by or --preset, --confusion, or --worst",
            param_hint=f"--format {layout}",
        )
    views = _views(by or [], bins or [], preset, metric, grouped=kinds == 0 or bool(by or plot))
    _check(views, confused or [], train, test, len(preds))
    if plot:
        from depkit.cli.drawing.plot import picture_format

        try:
            picture_format(plot)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--plot") from None
    columns = {column for view in views for name in view.by for column in GROUPINGS[name].columns}
    if worst_sentences:
        columns.add("form")
    data = read_data(gold, preds, columns, punct, subtypes, encoding, train)
    analyses = [analyze(data, view) for view in views]
    if plot:
        from depkit.cli.drawing.plot import plot as draw

        draw(analyses, plot, seed=seed)
        return
    options = Options(confidence, test, error_reduction, seed)
    tables: list[tuple[str, list[Record], list[Record]]] = []
    for analysis in analyses:
        title = f"{analysis.view.metric} by {' × '.join(analysis.view.by)}"
        tables.append((title, rows(analysis, options), total_rows(analysis)))
    for what in confused or []:
        tables.append((f"confusions of {what}", confusion(data, what, top), []))
    if worst_sentences:
        wrong = metric if metric and metric != "bin" else "LAS"
        tables.append((f"most errors in {wrong}", worst(data, wrong, worst_sentences), []))
    typer.echo(_rendered(tables, layout, analyses, data, options))


def _views(
    by: list[str], bins: list[str], preset: str | None, metric: str | None, grouped: bool
) -> list[View]:
    """The tables that are asked for; distance if nothing is."""
    if preset is not None:
        if preset not in PRESETS:
            names = ", ".join(PRESETS)
            raise typer.BadParameter(f"no preset '{preset}'; there are {names}",
                                     param_hint="--preset")  # fmt: skip
        if by or bins:
            raise typer.BadParameter("has its own --by and --bins", param_hint="--preset")
        views = PRESETS[preset]
        if metric and len({view.metric for view in views}) > 1:
            raise typer.BadParameter(f"--preset {preset} has its own", param_hint="--metric")
        return [replace(view, metric=metric or view.metric) for view in views]
    if not grouped:
        return []
    return [View(tuple(by) or ("distance",), tuple(bins), metric or "LAS")]


def _check(
    views: Sequence[View], confused: Sequence[str], train: str | None, test: Any, systems: int
) -> None:
    """What is wrong with the options themselves, before a file is opened."""
    for view in views:
        try:
            view.check()
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--by, --bins, --metric") from None
        if train is None and (lacking := set(view.by) & set(NEED_TRAIN)):
            raise typer.BadParameter(
                f"--by {lacking.pop()} counts the words of --train FILE", param_hint="--by"
            )
    for what in confused:
        if what not in CONFUSIONS:
            raise typer.BadParameter(
                f"no confusion of '{what}'; there are {', '.join(CONFUSIONS)}",
                param_hint="--confusion",
            )
    if test and systems < 2:
        raise typer.BadParameter("compares two PREDs or more", param_hint="--test")


def _rendered(
    tables: list[tuple[str, list[Record], list[Record]]],
    layout: str,
    analyses: Sequence[Analysis],
    data: Data,
    options: Options,
) -> str:
    """All that goes to standard output, but for the last line's end."""
    if layout in ("json", "csv"):
        records = [row for _, found, _ in tables for row in found]
        if layout == "json":
            return json.dumps(records, indent=2)
        cells = [flat(record) for record in records]
        header = list(cells[0]) if cells else []
        return csv_table(header, [[str(value) for value in row.values()] for row in cells])
    systems = [system.name for system in data.words.systems]
    short = dict(zip(reversed(systems), reversed(short_names(systems)), strict=True))
    several = len(systems) > 1
    parts = []
    for i, (title, found, totals) in enumerate(tables):
        note = ""
        found, totals = (
            [row | {"system": short[row["system"]]} for row in each] for each in (found, totals)
        )
        if i < len(analyses):
            header, body = _bins(found + totals, several, analyses[i].arcs, options)
            if options.test:
                tested = sum(row["p"] is not None for row in found)
                note = sentence(options.test, options.trials, options.seed, tested, "in this table")
        else:
            header, body = _listed(found, several)
        name = "" if several else f": {short[systems[0]]}"
        parts.append(f"{title}{name}\n" + TABLES[layout](header, body, note))
    return "\n\n".join([*parts, data.signature])


def _bins(
    records: list[Record], several: bool, arcs: bool, options: Options
) -> tuple[list[str], list[list[str]]]:
    """Rows of bins as a table; where gold and predicted bins are the same, one score says all."""
    scores = ["precision", "recall", "f1"] if arcs else ["recall"]
    header = ["bin", *(["system"] if several else [])]
    header += ["gold", "predicted", *scores[:2], "F1"] if arcs else ["words", "right", "accuracy"]
    header += ["95% from", "to"] if options.confidence else []
    header += ["RER"] if options.error_reduction else []
    header += ["difference", "p", "p (Holm)"] if options.test else []
    body = []
    for record in records:
        row = [record["bin"], *([record["system"]] if several else [])]
        sizes = ("gold", "predicted") if arcs else ("gold", "correct_gold")
        row += [str(record[name]) for name in sizes]
        row += [percent(record[name]) for name in scores]
        if options.confidence:
            row += [percent(record.get(name)) for name in ("f1_low", "f1_high")]
        if options.error_reduction:
            row.append(percent(record.get("error_reduction")))
        if options.test:
            difference = record.get("difference")
            row.append("-" if difference is None else f"{difference:+.2f}")
            row += [p_value(record.get(name)) for name in ("p", "p_adjusted")]
        body.append(row)
    return header, body


def _listed(records: list[Record], several: bool) -> tuple[list[str], list[list[str]]]:
    """Records as a table as they are, without what its title says."""
    left_out = {"metric", "confusion"} | (set() if several else {"system"})
    header = [name for name in (records[0] if records else {"none": 0}) if name not in left_out]
    return header, [[_clipped(row[name]) for name in header] for row in records]


def _clipped(value: Any) -> str:
    if isinstance(value, float):
        return percent(value, 1)
    return str(value) if len(str(value)) <= _WIDEST else f"{str(value)[:_WIDEST]} ..."
