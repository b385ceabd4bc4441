"""`depkit check`: reports errors in treebanks, line by line."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Annotated, Any, TextIO

import typer

from depkit.cli.names import ENCODING, name_options
from depkit.cli.options import Encoding, From, Quiet, check_inputs, progress_bars, verbose_flag
from depkit.cli.output import count_noun, print_message
from depkit.cli.tables import Table, render_table
from depkit.files.progress import ProgressBars, reading_bar
from depkit.files.streams import open_output
from depkit.treebank.check import Checker
from depkit.treebank.check_training import TrainingSet
from depkit.treebank.findings import CODES, Finding, severity
from depkit.treebank.output import broken_sentences_warning, escape_unprintable, to_json

SEVERITIES = ("error", "warning", "note")


def check_command(
    files: Annotated[list[str], typer.Argument(metavar="FILE")],
    ud: Annotated[bool, typer.Option("--ud")] = False,
    train: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    limit: Annotated[int | None, typer.Option("--max", min=1, show_default="20")] = None,
    everything: Annotated[bool, typer.Option("--all")] = False,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    source: From = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[bool, verbose_flag("Explain each code in the table of counts.")] = False,
) -> int:
    """Find errors in CoNLL-U, CoNLL-X and CoNLL-09 files.

    The format, the trees, the labels, the text and the comments are checked. Each finding is
    printed on a line, as FILE:LINE: severity: sent_id: description, with a code in brackets at the
    end. The last lines are a table of counts by code. With --quiet, only errors are printed.

    An error means that a sentence cannot be read, or that its tree or its text is not well-formed.
    depkit train and depkit eval accept sentences whose tree is not well-formed, but print a note.
    A warning means that UD validation would reject the file (levels 1 and 2, and the rules of level
    3 on the relation root); --ud turns these warnings into errors. Other warnings never become
    errors: an empty part in MISC, a multiword range of one word, and what --train finds. A note is
    only a hint. The exit status is 1 if there are errors.

    Example: depkit check --train train.conllu dev.conllu test.conllu
    """
    if everything and limit is not None:
        raise typer.BadParameter("it contradicts --max; give one of the two", param_hint="--all")
    check_inputs([*files, train or ""], quiet)
    limit = None if everything else limit or 20
    counts: Counter[str] = Counter()
    training = TrainingSet(train, encoding) if train else None
    if train and training and training.num_broken and not quiet:
        print_message(broken_sentences_warning(train, training.num_broken, training.num_sentences))
    checker = Checker(ud, training)
    findings = _count_findings(checker, files, encoding=encoding, counts=counts, format=source)
    lines = (
        _json_lines(findings, checker, counts) if as_json else _text_lines(findings, limit, quiet)
    )
    bars = progress_bars(quiet, files)
    with open_output("-", colours=True) as stream:
        with reading_bar(bars, "checking", files, lambda: f"{checker.sentences:,} sentences"):
            _write_lines(lines, stream, bars)
        if not (as_json or quiet):
            stream.write(_summary(checker, counts, verbose))
    return int(_count_by_severity(counts, ud)["error"] > 0)


def _count_findings(
    checker: Checker,
    files: Iterable[str],
    *,
    encoding: str,
    counts: Counter[str],
    format: str | None,
) -> Iterator[Finding]:
    for file in files:
        for finding in checker.check(file, encoding, format):
            counts[finding.code] += 1
            yield replace(finding, message=name_options(finding.message, ENCODING))


def _text_lines(findings: Iterable[Finding], limit: int | None, quiet: bool) -> Iterator[str]:
    """Yield lines: the first `limit` findings of each kind and file, and the number of others."""
    file = ""
    code_counts: Counter[str] = Counter()
    for finding in findings:
        if finding.file != file:
            yield from _omission_lines(file, code_counts, limit)
            file, code_counts = finding.file, Counter()
        if quiet and finding.severity != "error":
            continue
        code_counts[finding.code] += 1
        if limit is None or code_counts[finding.code] <= limit:
            yield f"{finding}\n"
    yield from _omission_lines(file, code_counts, limit)


def _write_lines(lines: Iterable[str], stream: TextIO, bars: ProgressBars) -> None:
    """Write lines; on a terminal, hide the progress bars while a line is written."""
    if not (bars.is_interactive and sys.stdout.isatty()):
        stream.writelines(lines)
        return
    for line in lines:
        with bars.hidden():
            stream.write(line)
            stream.flush()


def _omission_lines(file: str, code_counts: Counter[str], limit: int | None) -> Iterator[str]:
    for code, count in code_counts.items():
        if limit is not None and count > limit:
            message = f"{count - limit:,} more [{code}]; --all prints them"
            yield f"{escape_unprintable(file)}: {message}\n"


def _count_by_severity(counts: Counter[str], ud: bool) -> dict[str, int]:
    sums = dict.fromkeys(SEVERITIES, 0)
    for code, count in counts.items():
        sums[severity(code, ud)] += count
    return sums


def _sort_kinds(counts: Counter[str], ud: bool) -> list[tuple[str, str, int]]:
    """Return severity, code and count of each kind of finding, errors first."""
    kinds = [(severity(code, ud), code, count) for code, count in counts.items()]
    return sorted(kinds, key=lambda kind: (SEVERITIES.index(kind[0]), -kind[2], kind[1]))


def _summary(checker: Checker, counts: Counter[str], verbose: bool) -> str:
    sums = _count_by_severity(counts, checker.ud)
    sizes = {"sentence": checker.sentences, "word": checker.words}
    total = f"{_counts_text(sizes)}: {_counts_text(sums)}\n"
    if not counts:
        return total
    rows = [
        [name, code, str(count), *([CODES[code]] if verbose else [])]
        for name, code, count in _sort_kinds(counts, checker.ud)
    ]
    header = ["severity", "code", "count", *(["meaning"] if verbose else [])]
    return f"\n{render_table(Table('', header, rows))}\n{total}"


def _counts_text(counts: dict[str, int]) -> str:
    """Return numbers with their nouns: "2 sentences, 1 word"."""
    return ", ".join(count_noun(count, noun) for noun, count in counts.items())


def _json_lines(
    findings: Iterable[Finding], checker: Checker, counts: Counter[str]
) -> Iterator[str]:
    """Yield one JSON object, in pieces, so that findings are written as soon as they are known."""
    separator = '{"findings": [\n'
    for finding in findings:
        yield separator + to_json(asdict(finding))
        separator = ",\n"
    record: dict[str, Any] = {
        "sentences": checker.sentences,
        "words": checker.words,
        **{f"{name}s": count for name, count in _count_by_severity(counts, checker.ud).items()},
        "counts": {code: count for _, code, count in _sort_kinds(counts, checker.ud)},
    }
    yield ('{"findings": [' if not counts else "\n") + "],\n"
    yield to_json(record, indent=2)[2:] + "\n"
