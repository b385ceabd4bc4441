"""`depkit check`: what is wrong with treebanks, line by line."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Annotated, Any, TextIO

import typer

from depkit.cli.options import Encoding, Quiet, check_inputs, progress_bars
from depkit.cli.tables import Table, rendered
from depkit.corpus.files import open_output
from depkit.drawing.progress import ProgressBars, reading_bar
from depkit.treebank.check import Checker
from depkit.treebank.check_training import Training
from depkit.treebank.findings import CODES, Finding, severity
from depkit.treebank.output import broken_sentences, json_text, printable

SEVERITIES = ("error", "warning", "note")


def check_command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Files to check, - for stdin.")
    ],
    ud: Annotated[
        bool,
        typer.Option(
            "--ud",
            help="As a UD release: warnings are errors, tags and relations must be UD's.",
        ),
    ] = False,
    train: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Also report sentences of this training file, and labels that it lacks.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--max", min=1, help="Findings to print of each kind and file.", show_default="20"
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every finding.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with every finding.")
    ] = False,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell what each code means, with the counts.")
    ] = False,
) -> int:
    """Check CoNLL-U, CoNLL-X and CoNLL-09 files: format, trees, labels, text and comments.

    Prints a line for each finding, FILE:LINE: severity: sent_id: what is wrong, with its code in
    brackets; and then the counts.
    An error keeps a file from being read, trained on or scored against. Warnings are what UD
    validation (levels 1 and 2) refuses besides, errors with --ud, and what --train finds; a note
    is good to know. With --quiet, errors only and no counts. The exit status is 1 if there are
    errors.

    Example: depkit check --train train.conllu dev.conllu test.conllu
    """
    if everything and limit is not None:
        raise typer.BadParameter("goes without --max", param_hint="--all")
    check_inputs([*files, train or ""], quiet)
    shown = None if everything else limit or 20
    counts: Counter[str] = Counter()
    training = Training(train, encoding) if train else None
    if train and training and training.broken and not quiet:
        typer.echo(broken_sentences(train, training.broken, training.sentences), err=True)
    checker = Checker(ud, training)
    findings = _counted(checker, files, encoding, counts)
    lines = _json(findings, checker, counts) if as_json else _lines(findings, shown, quiet)
    bars = progress_bars(quiet, files)
    with open_output("-") as stream:
        with reading_bar(bars, "checking", files, lambda: f"{checker.sentences:,} sentences"):
            _write(lines, stream, bars)
        if not (as_json or quiet):
            stream.write(_summary(checker, counts, verbose))
    return int(_by_severity(counts, ud)["error"] > 0)


def _counted(
    checker: Checker, files: Iterable[str], encoding: str, counts: Counter[str]
) -> Iterator[Finding]:
    for file in files:
        for finding in checker.check(file, encoding):
            counts[finding.code] += 1
            yield finding


def _lines(findings: Iterable[Finding], shown: int | None, quiet: bool) -> Iterator[str]:
    """The findings; of each kind and file the first, then how many more there are."""
    file = ""
    seen: Counter[str] = Counter()
    for finding in findings:
        if finding.file != file:
            yield from _more(file, seen, shown)
            file, seen = finding.file, Counter()
        if quiet and finding.severity != "error":
            continue
        seen[finding.code] += 1
        if shown is None or seen[finding.code] <= shown:
            yield f"{finding}\n"
    yield from _more(file, seen, shown)


def _write(lines: Iterable[str], stream: TextIO, bars: ProgressBars) -> None:
    """Write lines; on a terminal one at a time with the bars hidden, so that they do not mix."""
    if not (bars.live and sys.stdout.isatty()):
        stream.writelines(lines)
        return
    for line in lines:
        with bars.hidden():
            stream.write(line)
            stream.flush()


def _more(file: str, seen: Counter[str], shown: int | None) -> Iterator[str]:
    for code, count in seen.items():
        if shown is not None and count > shown:
            yield f"{printable(file)}: {count - shown} more [{code}]; --all prints them\n"


def _by_severity(counts: Counter[str], ud: bool) -> dict[str, int]:
    sums = dict.fromkeys(SEVERITIES, 0)
    for code, count in counts.items():
        sums[severity(code, ud)] += count
    return sums


def _sorted(counts: Counter[str], ud: bool) -> list[tuple[str, str, int]]:
    """Severity, code and count, errors first."""
    found = [(severity(code, ud), code, count) for code, count in counts.items()]
    return sorted(found, key=lambda each: (SEVERITIES.index(each[0]), -each[2], each[1]))


def _summary(checker: Checker, counts: Counter[str], verbose: bool) -> str:
    sums = _by_severity(counts, checker.ud)
    seen = {"sentence": checker.sentences, "word": checker.words}
    total = f"{_numbered(seen)}: {_numbered(sums)}\n"
    if not counts:
        return total
    rows = [
        [name, code, str(count), *([CODES[code]] if verbose else [])]
        for name, code, count in _sorted(counts, checker.ud)
    ]
    header = ["severity", "code", "count", *(["meaning"] if verbose else [])]
    return f"\n{rendered(Table('', header, rows))}\n{total}"


def _numbered(things: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}{'s' * (count != 1)}" for name, count in things.items())


def _json(findings: Iterable[Finding], checker: Checker, counts: Counter[str]) -> Iterator[str]:
    """One object, a finding a line, written as they are found."""
    between = '{"findings": [\n'
    for finding in findings:
        yield between + json_text(asdict(finding))
        between = ",\n"
    record: dict[str, Any] = {
        "sentences": checker.sentences,
        "words": checker.words,
        **{f"{name}s": count for name, count in _by_severity(counts, checker.ud).items()},
        "counts": {code: count for _, code, count in _sorted(counts, checker.ud)},
    }
    yield ('{"findings": [' if not counts else "\n") + "],\n"
    yield json_text(record, indent=2)[2:] + "\n"
