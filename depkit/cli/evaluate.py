"""`depkit eval`: scores of predicted trees against gold trees."""

import json
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from depkit.cli.options import Encoding, Quiet, Verbose
from depkit.score.attachment import METRICS, Evaluation, evaluate_systems
from depkit.score.punctuation import policy
from depkit.score.table import csv_table, latex_table, markdown_table, text_table

Format = Literal["text", "json", "latex", "markdown", "csv"]
Subtypes = Literal["keep", "drop"]

_TABLES = {"text": text_table, "markdown": markdown_table, "latex": latex_table}


def evaluate_command(
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="The annotated file; - is standard input.")
    ],
    preds: Annotated[
        list[str], typer.Argument(metavar="PRED", help="Parsed files with the same words.")
    ],
    punct: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help="Which gold words to leave out: keep (none), ptb (XPOS `` '' : , .), ptb7 (also"
            " -LRB- -RRB-), ctb (XPOS PU), unicode (forms all punctuation, as the CoNLL scripts),"
            " upos (PUNCT), deprel (punct), or tags:A,B,... of XPOS.",
        ),
    ] = "keep",
    subtypes: Annotated[
        Subtypes, typer.Option(help="drop cuts relations at the first colon: nsubj:pass, nsubj.")
    ] = "keep",
    format: Annotated[
        Format | None, typer.Option("--format", help="How to print.", show_default="text")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    metric: Annotated[
        str | None,
        typer.Option(
            "-b",
            "--metric",
            metavar="METRIC",
            help=f"Print this number alone, a line a system: {', '.join(METRICS)}.",
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Score parsed files against a gold file: UAS, LAS, LA, UEM and LEM in percent.

    Files are CoNLL-U, CoNLL-X or CoNLL-09, in any mix, also .gz and .xz.
    Punctuation is decided on the gold words.
    The last line, a signature, says which choices made the numbers.

    Example: depkit eval --punct ptb gold.conllx baseline.conllx new.conllx
    """
    layout = _layout(format, as_json, metric)
    name = _metric(metric)
    _check(gold, preds, punct)
    evaluations = evaluate_systems(gold, preds, punct, subtypes, encoding)
    if not quiet:
        for warning in _warnings(evaluations):
            typer.echo(f"depkit: warning: {warning}", err=True)
    if verbose:
        typer.echo("\n".join(map(_counts, evaluations)), err=True)
    if name:
        typer.echo("\n".join(f"{evaluation.scores[name]:.2f}" for evaluation in evaluations))
    else:
        typer.echo(_rendered(evaluations, layout))


def _layout(format: Format | None, as_json: bool, metric: str | None) -> Format:
    if as_json and format not in (None, "json"):
        raise typer.BadParameter(f"contradicts --format {format}", param_hint="--json")
    if metric is not None and (as_json or format):
        raise typer.BadParameter("prints one number; leave out --format and --json",
                                 param_hint="-b")  # fmt: skip
    return "json" if as_json else format or "text"


def _metric(name: str | None) -> str | None:
    if name is not None and name.upper() not in METRICS:
        raise typer.BadParameter(
            f"no metric {name!r}; there are {', '.join(METRICS)}", param_hint="-b"
        )
    return name and name.upper()


def _check(gold: str, preds: Sequence[str], punct: str) -> None:
    """What is wrong with the command line itself, before a file is opened."""
    if [gold, *preds].count("-") > 1:
        raise typer.BadParameter("only one file can be standard input", param_hint="-")
    try:
        policy(punct)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--punct") from None


def _warnings(evaluations: Sequence[Evaluation]) -> list[str]:
    warnings = [
        f"{evaluation.system}: {headless} of {evaluation.words} words have no head, so are wrong"
        for evaluation in evaluations
        if (headless := evaluation.totals["headless"])
    ]
    first = evaluations[0]
    if first.punct != "keep" and first.scored == first.words:
        warnings.append(f"--punct {first.punct} leaves out no word of the gold file")
    return warnings


def _counts(evaluation: Evaluation) -> str:
    """The counts as the shared tasks' scripts report them: correct / of."""
    parts = [
        f"{metric} {evaluation.totals[part]} / {evaluation.totals[whole]}"
        for metric, (part, whole) in METRICS.items()
    ]
    return f"{evaluation.system}: {', '.join(parts)}"


def _rendered(evaluations: Sequence[Evaluation], layout: Format) -> str:
    """All that goes to standard output, but for the last line's end."""
    if layout == "json":
        records = [evaluation.as_dict() for evaluation in evaluations]
        return json.dumps(records[0] if len(records) == 1 else records, indent=2)
    if layout == "csv":
        records = [evaluation.as_dict() for evaluation in evaluations]
        return csv_table(list(records[0]), [list(map(str, row.values())) for row in records])
    rows = [
        [
            evaluation.system,
            *(f"{evaluation.scores[metric]:.2f}" for metric in METRICS),
            str(evaluation.scored),
        ]
        for evaluation in evaluations
    ]
    return _TABLES[layout](["system", *METRICS, "scored"], rows, evaluations[0].signature)
