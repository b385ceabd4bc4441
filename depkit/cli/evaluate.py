"""`depkit eval`: scores predicted trees against gold trees."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import typer

from depkit.cli import options
from depkit.cli.help import ANALYSIS
from depkit.cli.output import print_message, print_output
from depkit.cli.tables import Table, best_systems, render_table
from depkit.corpus.io import is_bracketed_file
from depkit.files.errors import FormatError
from depkit.score import attachment, conll18, evalb
from depkit.score.evalb_parameters import Parameters, get_parameters
from depkit.score.evalb_report import format_report
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.records import evaluation_records
from depkit.score.significance import DEFAULT_SEED
from depkit.score.table import (
    csv_table,
    flatten_record,
    format_p_value,
    format_percent,
    short_names,
)

Test = Literal["ar", "bootstrap", "mcnemar"]
NAMES = list(dict.fromkeys([*attachment.METRICS, *conll18.METRICS, *evalb.METRICS]))
# Why options cannot be used with bracketed trees
NO_PUNCT = "the parameters of EVALB say which words count; see --evalb"
NO_SUBTYPES = "constituents have no subtypes"
_MAX_LISTED = 10  # numbers of trees that a warning lists


# Parameters that `depkit analyze` also has
Gold = Annotated[
    str,
    typer.Argument(metavar="GOLD", help="Compare with the annotation of this file; - is stdin."),
]
Confidence = Annotated[
    bool,
    typer.Option(
        "--confidence",
        help="Print 95% confidence intervals, computed from 1,000 bootstrap samples of the"
        " sentences.",
        rich_help_panel=ANALYSIS,
    ),
]
Verbose = Annotated[
    bool,
    options.verbose_flag(
        "Print the counts behind the scores on stderr: UAS 9 / 10 means that 9 of 10 words have the"
        " correct head."
    ),
]
EvalbParameters = Annotated[
    str | None,
    typer.Option(
        "--evalb",
        metavar="PARAMETERS",
        help="Score bracketed trees with these parameters of EVALB: collins, nk, new, spmrl, or the"
        " name of a parameter file (.prm).",
        show_default="collins",
        rich_help_panel=ANALYSIS,
    ),
]


def evaluate_command(
    gold: Gold,
    preds: Annotated[
        list[str],
        typer.Argument(
            metavar="PRED",
            help="Score these parsed files, which have the same words as GOLD, except with --align."
            " The first one is the baseline of comparisons.",
        ),
    ],
    punct: options.Punct = "keep",
    subtypes: Annotated[
        options.Subtypes | None,
        typer.Option(
            help=options.SUBTYPES_HELP,
            show_default="keep; drop with --align",
            rich_help_panel=options.DATA,
        ),
    ] = None,
    align: Annotated[
        bool,
        typer.Option(
            "--align",
            help="Score as the evaluation script of CoNLL 2018 does, which aligns files that split"
            " the same text into different tokens, words or sentences. The metrics are then those"
            " of the script: Tokens, Sentences, Words, UPOS ... MLAS, BLEX.",
            rich_help_panel=options.DATA,
        ),
    ] = False,
    evalb_parameters: EvalbParameters = None,
    predicted: options.Predicted = False,
    relations: Annotated[
        bool,
        typer.Option(
            "--relations",
            help="Also print precision, recall and F1 of each dependency relation.",
            rich_help_panel=ANALYSIS,
        ),
    ] = False,
    confidence: Confidence = False,
    test: Annotated[
        Test | None,
        typer.Option(
            help="Test whether the difference between the first PRED and each other PRED is"
            " significant: by paired approximate randomisation (ar) or the paired bootstrap over"
            " sentences, with 10,000 trials, or by McNemar's test over words. p values are adjusted"
            " for multiple comparisons by Holm's method.",
            rich_help_panel=ANALYSIS,
        ),
    ] = None,
    seed: Annotated[int, options.seed_option("--confidence and --test")] = DEFAULT_SEED,
    format: options.Format = None,
    as_json: options.JsonFlag = False,
    metric: Annotated[
        str | None,
        typer.Option(
            "-b",
            "--metric",
            metavar="METRIC",
            help=f"Print only this score, one line per PRED: {', '.join(NAMES)}.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Score parsed files against a gold file. All scores are percentages.

    The files can be in CoNLL-U, CoNLL-X or CoNLL-09, in any combination, or all of them can be
    bracketed trees. Files whose names end in .gz or .xz are decompressed.

    UAS is the share of words with the correct head, LA the share with the correct relation, and
    LAS the share with both. UEM is the share of sentences in which all heads are correct; for LEM,
    all relations must be correct as well. RA is the share of sentences with the correct root. CLAS
    is the F1 score of the content words of UD. All these metrics leave out the words that are
    punctuation according to --punct.

    UPOS, XPOS, FEATS and Lemmas are computed over all words. The table shows each of them only
    if it is below 100 for at least one PRED.

    Bracketed trees, as in the Penn Treebank, are scored as by EVALB (--evalb). LP, LR and LF1 are
    labelled precision, recall and F1 of the constituents. EM is the share of trees whose
    constituents are all correct, and Tags the share of words with the correct tag. Crossing is the
    average number of predicted constituents that cross a gold constituent. NoCrossing and
    TwoCrossing are the shares of trees with none of them, and with at most two. The outer
    bracket of each tree of the Penn Treebank, which has no label, is scored as if its label were
    TOP, which the built-in parameters ignore; EVALB would count it as a constituent. Trees with
    other words than the gold tree count in no score; a warning lists them. With -v, the report of
    EVALB is printed on stderr.

    The last line is a signature of all choices that influence the scores; report it with the
    scores.

    Example: depkit eval --punct ptb --test ar gold.conllx baseline.conllx new.conllx
    """
    layout = options.resolve_format(format, as_json)
    options.check_punct(punct)
    if align and punct != "keep":
        raise typer.BadParameter("it counts all words; leave out --punct", param_hint="--align")
    if test and len(preds) < 2:
        raise typer.BadParameter("it compares PRED files, so give two or more", param_hint="--test")
    is_bracketed = are_bracketed([gold, *preds], evalb_parameters, encoding)
    if is_bracketed:
        refuse_options(
            {
                "--punct": punct != "keep" and NO_PUNCT,
                "--subtypes": subtypes and NO_SUBTYPES,
                "--predicted": predicted and options.NO_PREDICTED,
                "--align": align and "bracketed trees must have the same words",
                "--relations": relations and "bracketed trees have no dependency relations",
                "--test": test == "mcnemar"
                and "mcnemar is for words; for trees, choose ar or bootstrap",
            }
        )
    metrics = evalb.METRICS if is_bracketed else conll18.METRICS if align else attachment.METRICS
    name = _check_options(metric, metrics, format or as_json, relations, confidence, test)
    parameters = find_parameters(evalb_parameters or "collins") if is_bracketed else None
    options.check_inputs([gold, *preds], quiet)
    evaluations: Sequence[Evaluation]
    if parameters:
        evaluations = evalb.evaluate_trees(gold, preds, parameters, encoding)
        _print_tree_warnings(evaluations, quiet, verbose)
    elif align:
        evaluations = conll18.evaluate_aligned(gold, preds, subtypes or "drop", encoding, predicted)
        print_warnings(evaluations, quiet, verbose)
    else:
        evaluations = attachment.evaluate_systems(
            gold, preds, punct, subtypes or "keep", encoding, predicted
        )
        print_warnings(evaluations, quiet, verbose)
    if name:
        print_output("\n".join(_score_text(evaluation, name) for evaluation in evaluations))
        return
    records, note = evaluation_records(evaluations, relations, confidence, test, seed)
    print_output(_render(records, layout, metrics, note), colours=layout == "text")


def are_bracketed(files: Sequence[str], parameters: str | None, encoding: str) -> bool:
    """Return whether the files are bracketed trees. Raises FormatError if only some of them are.

    parameters: --evalb, with which all files must be bracketed trees.
    """
    kinds = {file: is_bracketed_file(file, encoding) for file in files}
    tables = [file for file, kind in kinds.items() if kind is False]
    bracketed = [file for file, kind in kinds.items() if kind]
    if tables and parameters is not None:
        message = f"it is for bracketed trees, but {tables[0]} has none"
        raise typer.BadParameter(message, param_hint="--evalb")
    if tables and bracketed:
        message = f"the file has no bracketed trees, but {bracketed[0]} has; both must have them"
        raise FormatError(tables[0], 0, "", message)
    return bool(bracketed) or parameters is not None


def refuse_options(problems: Mapping[str, object]) -> None:
    """Raise BadParameter for the first option that has a problem, a text that is not empty."""
    for option, problem in problems.items():
        if problem:
            raise typer.BadParameter(str(problem), param_hint=option)


def find_parameters(name: str) -> Parameters:
    """Return the parameters of --evalb. Raises BadParameter if there are none of this name."""
    try:
        return get_parameters(name)
    except FormatError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--evalb") from None


def _print_tree_warnings(
    evaluations: Sequence[evalb.TreeEvaluation], quiet: bool, verbose: bool
) -> None:
    """Print warnings about trees that are not scored, and the report of EVALB if `verbose`."""
    if not quiet:
        for warning in describe_tree_warnings(evaluations):
            print_message(f"depkit: warning: {warning}")
    if verbose:
        for evaluation in evaluations:
            for line in (f"{evaluation.system}:", *format_report(evaluation).split("\n")):
                print_message(line)


def describe_tree_warnings(evaluations: Sequence[evalb.TreeEvaluation]) -> list[str]:
    """Return warnings about trees that are not scored."""
    warnings = []
    for evaluation in evaluations:
        skipped = np.flatnonzero(evaluation.counts[:, evalb.COUNTS.index("skipped")]) + 1
        for numbers, text in (
            (list(evaluation.problems), "other words than the gold tree"),
            (skipped.tolist(), "no words that are scored"),
        ):
            if numbers:
                verb = "has" if len(numbers) == 1 else "have"
                listed = ", ".join(map(str, numbers[:_MAX_LISTED]))
                listed += ", ..." if len(numbers) > _MAX_LISTED else ""
                warnings.append(
                    f"{evaluation.system}: {len(numbers):,} of {evaluation.sentences:,} trees"
                    f" {verb} {text}: tree {listed}"
                )
    return warnings


def _check_options(
    metric: str | None,
    metrics: Mapping[str, Metric],
    output_format: Any,
    relations: bool,
    confidence: bool,
    test: Any,
) -> str | None:
    """Return the usual spelling of the metric of -b, one of `metrics`.

    Raises BadParameter if there is no such metric or if options exclude each other.
    """
    align = metrics is conll18.METRICS
    if align and relations:
        raise typer.BadParameter("it cannot be combined with --align", param_hint="--relations")
    if relations and output_format == "csv":
        raise typer.BadParameter(
            "CSV has no rows for them; use depkit analyze --by deprel --format csv",
            param_hint="--relations",
        )
    if align and test == "mcnemar":
        raise typer.BadParameter(
            "mcnemar needs files with the same words; with --align, choose ar or bootstrap",
            param_hint="--test",
        )
    if metric is None:
        return None
    if output_format or relations or confidence or test:
        raise typer.BadParameter(
            "it prints one number per file; leave out --format, --json, --relations, --confidence"
            " and --test",
            param_hint="-b",
        )
    for name in metrics:
        if name.lower() == metric.lower():
            return name
    raise typer.BadParameter(
        f"there is no metric {metric!r}; choose from {', '.join(metrics)}", param_hint="-b"
    )


def _score_text(evaluation: Evaluation, name: str) -> str:
    if name not in evaluation.scores:
        raise ValueError(
            f"{evaluation.system}: {name} is not defined: "
            + (
                "the gold file has no relations of UD for content words"
                if name == "CLAS"
                else "the column is _ for all words of this file or of the gold file"
            )
        )
    return f"{evaluation.scores[name]:.2f}"


def print_warnings(evaluations: Sequence[Evaluation], quiet: bool, verbose: bool) -> None:
    """Print warnings about the files on stderr unless `quiet`, and the counts if `verbose`."""
    if not quiet:
        for warning in describe_warnings(evaluations):
            print_message(f"depkit: warning: {warning}")
    if verbose:
        for evaluation in evaluations:
            print_message(_counts_text(evaluation))


def describe_warnings(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return warnings about headless words, cycles, several roots and the policy --punct."""
    warnings = []
    for evaluation in evaluations:
        totals = evaluation.totals
        for count, total, text in (
            ("headless", f"{evaluation.words:,} words", "no head; such words count as wrong"),
            ("cyclic", f"{evaluation.sentences:,} trees", "a cycle"),
            ("many_roots", f"{evaluation.sentences:,} trees", "several roots"),
        ):
            if number := totals[count]:
                verb = "has" if number == 1 else "have"
                warnings.append(f"{evaluation.system}: {number:,} of {total} {verb} {text}")
        warnings += [f"{evaluation.system}: {warning}" for warning in evaluation.warnings]
    first = evaluations[0]
    punct = dict(first.choices).get("punct", "keep")
    if punct != "keep" and first.scored == first.words:
        warnings.append(f"--punct {punct} leaves out no word of the gold file")
    return warnings


def _counts_text(evaluation: Evaluation) -> str:
    """Return the counts of correct and all words, written as by the scripts of the shared tasks."""
    parts = []
    for name in evaluation.scores:
        correct, gold, predicted = (evaluation.totals[key] for key in evaluation.metrics[name][:3])
        total = f"{gold:,}" if gold == predicted else f"{gold:,} gold, {predicted:,} predicted"
        parts.append(f"{name} {correct:,} / {total}")
    return f"{evaluation.system}: {', '.join(parts)}"


def _render(
    records: list[dict[str, Any]], layout: str, metrics: Mapping[str, Metric], note: str
) -> str:
    """Return the whole text for standard output, without the final line break."""
    if layout == "json":
        return json.dumps(records[0] if len(records) == 1 else records, indent=2)
    if layout == "csv":
        rows = [flatten_record(record) for record in records]
        header = list(dict.fromkeys(key for row in rows for key in row))
        return csv_table(header, [[str(row.get(key, "")) for key in header] for row in rows])
    display_names = short_names([record["system"] for record in records])
    records = [
        record | {"system": name} for record, name in zip(records, display_names, strict=True)
    ]
    names = _metrics_in_table(records, metrics)
    notes = "\n".join(filter(None, [note, records[0]["signature"]]))
    has_details = metrics is conll18.METRICS or "confidence" in records[0] or note
    make_rows = _rows_per_metric if has_details else _rows_per_system
    main = _table(*make_rows(records, names), names, layout, notes)
    if "relations" not in records[0]:
        return main
    return f"{_table(*_rows_per_relation(records), [], layout)}\n\n{main}"


def _table(
    columns: list[str], rows: list[list[str]], names: list[str], layout: str, note: str = ""
) -> str:
    best = {
        (i, j)
        for i, j in best_systems(columns, rows, {"score", "precision", "recall", "F1", *names})
        if not {rows[i][0], columns[j]} & {*evalb.LOWER_IS_BETTER}
    }
    return render_table(Table("", columns, rows, note, best), layout)


def _metrics_in_table(records: list[dict[str, Any]], metrics: Mapping[str, Metric]) -> list[str]:
    """Return the metrics that are defined for a system, without tags that are all correct."""
    if metrics is not attachment.METRICS:
        return list(metrics)
    names = []
    for name in attachment.METRICS:
        values = [record[name] for record in records]
        all_correct = name in attachment.TAGS and set(values) <= {100.0, None}
        if not all_correct and values != [None] * len(values):
            names.append(name)
    return names


def _rows_per_system(
    records: list[dict[str, Any]], names: list[str]
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with one row per system."""
    rows = [
        [record["system"], *(format_percent(record[name]) for name in names), str(record["scored"])]
        for record in records
    ]
    return ["system", *names, "scored"], rows


def _rows_per_metric(
    records: list[dict[str, Any]], names: list[str]
) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with one row per metric and system."""
    several = len(records) > 1
    rows = []
    for name in names:
        for record in records:
            value = record[name]
            row = [name, *([record["system"]] if several else [])]
            if isinstance(value, dict):
                row += [format_percent(value[key]) for key in ("precision", "recall", "f1")]
            else:
                row.append(format_percent(value))
            if "confidence" in record:
                interval = record["confidence"].get(name, {})
                row += [format_percent(interval.get(end)) for end in ("low", "high")]
            if "test" in records[-1]:
                result = record.get("test", {}).get(name, {})
                difference = result.get("difference")
                row.append("-" if difference is None else f"{difference:+.2f}")
                row += [format_p_value(result.get(key)) for key in ("p", "p_adjusted")]
            rows.append(row)
    header = ["metric", *(["system"] if several else [])]
    header += ["precision", "recall", "F1"] if isinstance(records[0][names[0]], dict) else ["score"]
    header += ["95% from", "to"] if "confidence" in records[0] else []
    header += ["difference", "p", "p (Holm)"] if "test" in records[-1] else []
    return header, rows


def _rows_per_relation(records: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows of a table with one row per relation and system."""
    several = len(records) > 1
    names = sorted({name for record in records for name in record["relations"]})
    rows = []
    for name in names:
        for record in records:
            if scores := record["relations"].get(name):
                row = [name, *([record["system"]] if several else [])]
                row += [str(scores[key]) for key in ("gold", "predicted", "correct")]
                rows.append(
                    row + [format_percent(scores[key]) for key in ("precision", "recall", "f1")]
                )
    header = ["relation", *(["system"] if several else []), "gold", "predicted", "correct"]
    return [*header, "precision", "recall", "F1"], rows
