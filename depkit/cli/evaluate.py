"""`depkit eval`: scores of predicted trees against gold trees."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from depkit.cli import options
from depkit.cli.help import ANALYSIS
from depkit.cli.tables import Table, best_systems, rendered
from depkit.score import attachment, conll18
from depkit.score.evaluation import Evaluation
from depkit.score.significance import (
    DEFAULT_SEED,
    TRIALS,
    choices,
    compare_systems,
    intervals,
    sentence,
)
from depkit.score.table import csv_table, flat, p_value, percent, short_names

Test = Literal["ar", "bootstrap", "mcnemar"]
NAMES = list(dict.fromkeys([*attachment.METRICS, *conll18.METRICS]))


# What `depkit analyze` takes as well.
Gold = Annotated[
    str, typer.Argument(metavar="GOLD", help="The annotated file; - is standard input.")
]
Preds = Annotated[
    list[str], typer.Argument(metavar="PRED", help="Parsed files; the first is the baseline.")
]
Confidence = Annotated[
    bool,
    typer.Option(
        "--confidence",
        help="95% intervals: 1,000 bootstrap samples of sentences.",
        rich_help_panel=ANALYSIS,
    ),
]


def evaluate_command(
    gold: Gold,
    preds: Preds,
    punct: options.Punct = "keep",
    subtypes: Annotated[
        options.Subtypes | None,
        typer.Option(
            help="drop cuts relations at the first colon: nsubj:pass, nsubj.",
            show_default="keep; drop with --align",
        ),
    ] = None,
    align: Annotated[
        bool,
        typer.Option(
            "--align",
            help="The CoNLL 2018 evaluation, for other tokens, words and sentences of the same"
            " text: Tokens, Sentences, Words, UPOS ... MLAS, BLEX.",
        ),
    ] = False,
    relations: Annotated[
        bool, typer.Option("--relations", help="Also precision, recall and F1 of each relation.")
    ] = False,
    confidence: Confidence = False,
    test: Annotated[
        Test | None,
        typer.Option(
            help="Test each later PRED against the first: paired approximate randomisation or"
            " bootstrap over sentences (10,000 trials), or McNemar's test over words; p values"
            " are adjusted by Holm's method."
        ),
    ] = None,
    seed: options.Seed = DEFAULT_SEED,
    format: options.Format = None,
    as_json: options.JsonFlag = False,
    metric: Annotated[
        str | None,
        typer.Option(
            "-b",
            "--metric",
            metavar="METRIC",
            help=f"Print this number alone, a line a system: {', '.join(NAMES)}.",
        ),
    ] = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Score parsed files against a gold file: attachment, exact matches, tags; in percent.

    Files are CoNLL-U, CoNLL-X or CoNLL-09, in any mix, also .gz and .xz.
    UAS, LAS, LA, UEM and LEM leave out punctuation as --punct says, decided on the gold words;
    so do RA, the sentences with the right roots, and CLAS, the F1 of UD's content words.
    UPOS, XPOS, FEATS and Lemmas are of all words; the table has them where they are not all right.
    The last line, a signature, says which choices made the numbers.

    Example: depkit eval --punct ptb --test ar gold.conllx baseline.conllx new.conllx
    """
    layout = options.chosen_format(format, as_json)
    name = _checked(metric, align, format or as_json, relations, confidence, test)
    options.check_punct(punct)
    if align and punct != "keep":
        raise typer.BadParameter("does not go with --punct: all words count", param_hint="--align")
    if test and len(preds) < 2:
        raise typer.BadParameter("compares two PREDs or more", param_hint="--test")
    options.check_inputs([gold, *preds], quiet)
    if align:
        found = conll18.evaluate_aligned(gold, preds, subtypes or "drop", encoding)
    else:
        found = attachment.evaluate_systems(gold, preds, punct, subtypes or "keep", encoding)
    tell(found, quiet, verbose)
    if name:
        typer.echo("\n".join(_number(evaluation, name) for evaluation in found))
        return
    records, note = _records(found, relations, confidence, test, seed)
    typer.echo(_rendered(records, layout, align, note))


def _checked(
    metric: str | None, align: bool, formatted: Any, relations: bool, confidence: bool, test: Any
) -> str | None:
    """The metric of -b under its own name; BadParameter for what does not go together."""
    if align and relations:
        raise typer.BadParameter("does not go with --align", param_hint="--relations")
    if relations and formatted == "csv":
        raise typer.BadParameter(
            "are rows of their own; see depkit analyze --by deprel --format csv",
            param_hint="--relations",
        )
    if align and test == "mcnemar":
        raise typer.BadParameter(
            "mcnemar compares the same words; with --align, ar or bootstrap", param_hint="--test"
        )
    if metric is None:
        return None
    if formatted or relations or confidence or test:
        raise typer.BadParameter(
            "prints one number; leave out --format, --json, --relations, --confidence and --test",
            param_hint="-b",
        )
    known = conll18.METRICS if align else attachment.METRICS
    for name in known:
        if name.lower() == metric.lower():
            return name
    raise typer.BadParameter(f"no metric {metric!r}; there are {', '.join(known)}", param_hint="-b")


def _number(evaluation: Evaluation, name: str) -> str:
    if name not in evaluation.scores:
        raise ValueError(
            f"{evaluation.system}: {name} is not defined: "
            + (
                "the gold's relations are not UD's, or none is a content word's"
                if name == "CLAS"
                else "here or in the gold, the column is _ throughout"
            )
        )
    return f"{evaluation.scores[name]:.2f}"


def tell(evaluations: Sequence[Evaluation], quiet: bool, verbose: bool) -> None:
    """On stderr, what is odd about the files, unless quiet; the counts, if verbose."""
    if not quiet:
        for warning in _warnings(evaluations):
            typer.echo(f"depkit: warning: {warning}", err=True)
    if verbose:
        typer.echo("\n".join(map(_counts, evaluations)), err=True)


def _warnings(evaluations: Sequence[Evaluation]) -> list[str]:
    warnings = []
    for evaluation in evaluations:
        of = evaluation.totals
        if of["headless"]:
            what = f"{of['headless']} of {evaluation.words} words have no head, so are wrong"
            warnings.append(f"{evaluation.system}: {what}")
        for count, what in (("cyclic", "a cycle"), ("many_roots", "several roots")):
            if of[count]:
                some = f"{of[count]} of {evaluation.sentences} trees have {what}"
                warnings.append(f"{evaluation.system}: {some}")
    first = evaluations[0]
    punct = dict(first.choices).get("punct", "keep")
    if punct != "keep" and first.scored == first.words:
        warnings.append(f"--punct {punct} leaves out no word of the gold file")
    return warnings


def _counts(evaluation: Evaluation) -> str:
    """The counts as the shared tasks' scripts report them: correct / of."""
    parts = []
    for name in evaluation.scores:
        correct, gold, predicted = (evaluation.totals[key] for key in evaluation.metrics[name])
        of = f"{gold}" if gold == predicted else f"{gold} gold, {predicted} predicted"
        parts.append(f"{name} {correct} / {of}")
    return f"{evaluation.system}: {', '.join(parts)}"


def _records(
    evaluations: Sequence[Evaluation],
    relations: bool,
    confidence: bool,
    test: Test | None,
    seed: int,
) -> tuple[list[dict[str, Any]], str]:
    """What JSON holds, a record a system; and what was tested, in a sentence."""
    extra = choices(confidence, test, seed)
    records = []
    for evaluation in evaluations:
        record = replace(evaluation, choices=(*evaluation.choices, *extra)).as_dict()
        if confidence:
            found = intervals(evaluation, seed=seed).items()
            record["confidence"] = {name: {"low": low, "high": high} for name, (low, high) in found}
        if relations:
            record["relations"] = evaluation.relation_scores()
        records.append(record)
    if not test:
        return records, ""
    compared = compare_systems(evaluations, test, seed=seed)
    for record, differences in zip(records[1:], compared, strict=True):
        record["test"] = {
            name: {"difference": found.difference, "p": found.p, "p_adjusted": found.adjusted}
            for name, found in differences.items()
        }
    return records, sentence(test, TRIALS, seed, len(evaluations) - 1)


def _rendered(records: list[dict[str, Any]], layout: str, align: bool, note: str) -> str:
    """All that goes to standard output, but for the last line's end."""
    if layout == "json":
        return json.dumps(records[0] if len(records) == 1 else records, indent=2)
    if layout == "csv":
        rows = [flat(record) for record in records]
        header = list(dict.fromkeys(key for row in rows for key in row))
        return csv_table(header, [[str(row.get(key, "")) for key in header] for row in rows])
    short = short_names([record["system"] for record in records])
    records = [record | {"system": name} for record, name in zip(records, short, strict=True)]
    names = _shown(records, align)
    below = "\n".join(filter(None, [note, records[0]["signature"]]))
    rows_of = _long if align or "confidence" in records[0] or note else _wide
    main = _table(*rows_of(records, names), names, layout, below)
    if "relations" not in records[0]:
        return main
    return f"{_table(*_by_relation(records), [], layout)}\n\n{main}"


def _table(
    columns: list[str], rows: list[list[str]], names: list[str], layout: str, note: str = ""
) -> str:
    best = best_systems(columns, rows, {"score", "precision", "recall", "F1", *names})
    return rendered(Table("", columns, rows, note, best), layout)


def _shown(records: list[dict[str, Any]], align: bool) -> list[str]:
    """The metrics in a table: those defined for some system, tags only if not all right."""
    if align:
        return list(conll18.METRICS)
    names = []
    for name in attachment.METRICS:
        values = [record[name] for record in records]
        copied = name in attachment.TAGS and set(values) <= {100.0, None}
        if not copied and values != [None] * len(values):
            names.append(name)
    return names


def _wide(records: list[dict[str, Any]], names: list[str]) -> tuple[list[str], list[list[str]]]:
    """A row a system."""
    rows = [
        [record["system"], *(percent(record[name]) for name in names), str(record["scored"])]
        for record in records
    ]
    return ["system", *names, "scored"], rows


def _long(records: list[dict[str, Any]], names: list[str]) -> tuple[list[str], list[list[str]]]:
    """A row a metric and system, with all that is known about the number."""
    several = len(records) > 1
    rows = []
    for name in names:
        for record in records:
            value = record[name]
            row = [name, *([record["system"]] if several else [])]
            if isinstance(value, dict):
                row += [percent(value[key]) for key in ("precision", "recall", "f1")]
            else:
                row.append(percent(value))
            if "confidence" in record:
                interval = record["confidence"].get(name, {})
                row += [percent(interval.get(end)) for end in ("low", "high")]
            if "test" in records[-1]:
                found = record.get("test", {}).get(name, {})
                difference = found.get("difference")
                row.append("-" if difference is None else f"{difference:+.2f}")
                row += [p_value(found.get(key)) for key in ("p", "p_adjusted")]
            rows.append(row)
    header = ["metric", *(["system"] if several else [])]
    header += ["precision", "recall", "F1"] if isinstance(records[0][names[0]], dict) else ["score"]
    header += ["95% from", "to"] if "confidence" in records[0] else []
    header += ["difference", "p", "p (Holm)"] if "test" in records[-1] else []
    return header, rows


def _by_relation(records: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """A row a relation and system."""
    several = len(records) > 1
    names = sorted({name for record in records for name in record["relations"]})
    rows = []
    for name in names:
        for record in records:
            if found := record["relations"].get(name):
                row = [name, *([record["system"]] if several else [])]
                row += [str(found[key]) for key in ("gold", "predicted", "correct")]
                rows.append(row + [percent(found[key]) for key in ("precision", "recall", "f1")])
    header = ["relation", *(["system"] if several else []), "gold", "predicted", "correct"]
    return [*header, "precision", "recall", "F1"], rows
