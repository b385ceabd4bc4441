"""`depkit eval`: scores predicted trees against gold trees."""

from collections.abc import Sequence
from typing import Annotated

import typer

from depkit.cli import options
from depkit.cli.evaluation_tables import render_records
from depkit.cli.help import ANALYSIS, DATA, OUTPUT, option
from depkit.cli.names import name_options
from depkit.cli.output import print_message, print_output
from depkit.score import conll18, enhanced
from depkit.score.evaluation import Evaluation, find_metric
from depkit.score.evaluators import EVALUATORS, Evaluator, find_evaluator
from depkit.score.records import evaluation_records
from depkit.score.significance import DEFAULT_SEED, Test, small_sample_warnings

NAMES = list(dict.fromkeys(name for evaluator in EVALUATORS for name in evaluator.metrics))

# Parameters that `depkit analyze` and `depkit report` also have
Gold = Annotated[
    str,
    typer.Argument(metavar="GOLD", help="Compare with the annotation of this file; - is stdin."),
]
Preds = Annotated[list[str], typer.Argument(metavar="PRED")]
Confidence = Annotated[
    bool,
    option(
        ANALYSIS,
        "--confidence",
        help="Print 95% confidence intervals, computed from 1,000 bootstrap samples of the"
        " sentences.",
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
    option(
        ANALYSIS,
        metavar="PARAMETERS",
        help="Score bracketed trees with these parameters of EVALB: collins, nk, new, spmrl, or the"
        " name of a parameter file (.prm).",
        show_default="collins",
    ),
]
Subtypes = Annotated[options.Subtypes, option(DATA, help=options.SUBTYPES_HELP)]


def evaluate_command(
    context: typer.Context,
    gold: Gold,
    preds: Preds,
    *,
    punct: options.Punct = "keep",
    subtypes: Annotated[
        options.Subtypes | None,
        option(DATA, help=options.SUBTYPES_HELP, show_default="keep; drop with --align"),
    ] = None,
    align: Annotated[bool, option(DATA, "--align")] = False,
    enhanced: Annotated[bool, option(ANALYSIS, "--enhanced")] = False,
    evalb: EvalbParameters = None,
    predicted: options.Predicted = False,
    relations: Annotated[bool, option(ANALYSIS, "--relations")] = False,
    confidence: Confidence = False,
    test: Annotated[Test | None, option(ANALYSIS)] = None,
    seed: Annotated[int, options.seed_option("--confidence and --test")] = DEFAULT_SEED,
    format: options.Format = None,
    as_json: options.JsonFlag = False,
    metric: Annotated[
        str | None,
        option(
            OUTPUT,
            "-b",
            "--metric",
            metavar="METRIC",
            help=f"Print only this score, one line per PRED: {', '.join(NAMES)}.",
        ),
    ] = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Score parsed files against a gold file. All scores are percentages."""
    layout = options.resolve_format(format, as_json)
    if test and len(preds) < 2:
        raise typer.BadParameter("it compares PRED files, so give two or more", param_hint="--test")
    files = [gold, *preds]
    evaluator = find_evaluator(
        files, align=align, enhanced=enhanced, punct=punct, subtypes=subtypes,
        predicted=predicted, evalb=evalb, encoding=encoding,
    )  # fmt: skip
    evaluator.refuse(relations=relations, test=test)
    if relations and layout == "csv":
        raise typer.BadParameter(
            "CSV has no rows for them; use depkit analyze --by deprel --format csv",
            param_hint="--relations",
        )
    if metric and (format or as_json or relations or confidence or test):
        raise typer.BadParameter(
            "it prints one number per file; leave out --format, --json, --relations, --confidence"
            " and --test",
            param_hint="-b",
        )
    if options.has_seed(context) and not (confidence or test in ("ar", "bootstrap")):
        message = "it needs --confidence, --test ar or --test bootstrap"
        raise typer.BadParameter(message, param_hint="--seed")
    name = _find_metric(metric, evaluator) if metric is not None else ""
    options.check_inputs(files, quiet)
    evaluations = evaluator.evaluate(gold, preds)
    print_warnings(evaluator, evaluations, quiet, verbose, test=test, all_metrics=not name)
    if name:
        print_output("\n".join(f"{evaluation.score(name):.2f}" for evaluation in evaluations))
        return
    records, note = evaluation_records(
        evaluations, relations=relations, confidence=confidence, test=test, seed=seed
    )
    text = render_records(records, layout, evaluator.metrics, note)
    print_output(text, colours=layout == "text")


def print_warnings(
    evaluator: Evaluator,
    evaluations: Sequence[Evaluation],
    quiet: bool,
    verbose: bool,
    *,
    test: str | None = None,
    all_metrics: bool = False,
) -> None:
    """Print warnings on stderr unless `quiet`, and the counts if `verbose`.

    The warnings are about the files, about a test of significance and, if `all_metrics` are
    printed, about those that are left out.
    """
    warnings = [*evaluator.warnings(evaluations), *small_sample_warnings(evaluations, test)]
    warnings += evaluator.metric_warnings(evaluations) if all_metrics else []
    for warning in () if quiet else warnings:
        print_message(f"depkit: warning: {name_options(warning)}")
    for evaluation in evaluations if verbose else ():
        for line in evaluator.details(evaluation):
            print_message(line)


def _find_metric(name: str, evaluator: Evaluator) -> str:
    """Return the usual spelling of a metric; an error says which option a known one needs."""
    known = {metric.lower() for metric in evaluator.metrics}
    for option_name, metrics in (("--align", conll18.METRICS), ("--enhanced", enhanced.METRICS)):
        others = {metric.lower(): metric for metric in metrics}
        if "las" in known and name.lower() in others.keys() - known:
            message = f"{others[name.lower()]} needs {option_name}"
            raise typer.BadParameter(message, param_hint="--metric")
    return find_metric(name, evaluator.metrics)
