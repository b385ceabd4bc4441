"""`depkit search`: finds the sentences of treebanks that match a pattern."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TextIO

import typer

from depkit.cli.help import DATA, OUTPUT, option
from depkit.cli.options import (
    Encoding,
    From,
    Quiet,
    check_inputs,
    note_printer,
    progress_bars,
    verbose_flag,
)
from depkit.cli.output import needs_colour, print_message
from depkit.cli.tables import Table, render_table
from depkit.corpus.formats import PTB, format_from_filename
from depkit.corpus.io import write
from depkit.drawing.report.matches import render_matches
from depkit.files.atomic import check_writable
from depkit.files.encodings import BOM
from depkit.files.progress import reading_bar
from depkit.files.storage import check_overwriting, is_stdout
from depkit.files.streams import open_lines, open_output
from depkit.score.table import csv_table
from depkit.score.words import Where
from depkit.treebank.output import escape_unprintable, to_json
from depkit.treebank.search.graph import Graph
from depkit.treebank.search.keys import UNDEFINED, Key, parse_field, parse_key
from depkit.treebank.search.matcher import Found
from depkit.treebank.search.output import make_record, mark_words, with_match_comments
from depkit.treebank.search.pattern import PatternError
from depkit.treebank.search.pattern_parser import parse_pattern
from depkit.treebank.search.search import Search

Layout = Literal["text", "conllu", "tsv", "json", "html"]
_SUFFIXES: dict[str, Layout] = {
    ".tsv": "tsv", ".json": "json", ".jsonl": "json", ".html": "html", ".htm": "html",
}  # fmt: skip
Results = Iterator[tuple[Graph, list[Found]]]


def search_command(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", show_default=False)],
    files: Annotated[list[str], typer.Argument(metavar="FILE")],
    *,
    count: Annotated[bool, option(OUTPUT, "--count", "-c")] = False,
    by: Annotated[list[str] | None, option(OUTPUT, metavar="KEY")] = None,
    fields: Annotated[str, option(OUTPUT, metavar="FIELD,...")] = "",
    layout: Annotated[Layout | None, option(OUTPUT, "--format", show_default="text")] = None,
    enhanced: Annotated[bool, option(DATA, "--enhanced")] = False,
    output: Annotated[str, option(OUTPUT, "--output", "-o", metavar="FILE")] = "-",
    source: From = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag("Print on stderr how many matches and matching sentences there are.")
    ] = False,
) -> None:
    """Find the sentences of treebanks that match a pattern of the query language Grew."""
    chosen = _choose_layout(layout, output, bool(fields), count or bool(by))
    note = note_printer(quiet)
    search = prepare_search(pattern, enhanced, name="PATTERN", note=note)
    with _pattern_errors("--by"):
        keys = {text: parse_key(text, search) for text in by or []}
    with _pattern_errors("--fields"):
        columns = {text: parse_field(text, search) for text in _split_fields(fields)}
    check_overwriting([pattern, *files], [output])
    check_inputs(files, quiet)
    check_writable(output)
    totals: Counter[str] = Counter()  # the matches of each file
    sentences = 0

    def results() -> Results:
        nonlocal sentences
        for file in files:
            totals[file] += 0
            for graph, found in search.read(file, source, encoding):
                sentences += 1
                totals[file] += len(found)
                yield graph, found

    with reading_bar(progress_bars(quiet, files, output), "searching", files):
        if count or by:
            clusters, sentences = _count(search, files, (source, encoding), (keys, totals))
            with open_output(output, colours=chosen == "text") as stream:
                if by:
                    stream.write(_format_clusters(list(keys), clusters, chosen) + "\n")
                else:
                    stream.write(_format_counts(totals, chosen) + "\n")
        elif chosen == "conllu":
            found_sentences = (with_match_comments(search, *result) for result in results())
            write(found_sentences, output, encoding)
        elif chosen == "html":
            with open_output(output) as stream:
                stream.writelines(render_matches(search, read_pattern(pattern, ""), results()))
        else:
            colour = is_stdout(output) and needs_colour("auto")
            with open_output(output, colours=chosen == "text") as stream:
                _write_matches(search, results(), stream, (chosen, columns, colour))
    if verbose and not quiet:
        print_message(f"{totals.total():,} matches in {sentences:,} sentences")


def _count(
    search: Search,
    files: list[str],
    reading: tuple[str | None, str],
    counting: tuple[dict[str, Key], Counter[str]],
) -> tuple[Counter[tuple[str, ...]], int]:
    """Count the matches of files by keys; return the counts and the number of sentences.

    reading: the format and the encoding of the files; counting: the keys, and the matches of each
    file, which are counted, too.
    """
    keys, totals = counting
    clusters: Counter[tuple[str, ...]] = Counter()
    sentences = 0
    last: Graph | None = None
    for file in files:
        totals[file] += 0

        def visit(graph: Graph, found: Found, file: str = file) -> None:
            nonlocal last, sentences
            totals[file] += 1
            sentences += graph is not last
            last = graph
            if keys:
                clusters[tuple(key(graph, found) or UNDEFINED for key in keys.values())] += 1

        search.visit(file, visit, *reading)
    return clusters, sentences


def prepare_search(
    pattern: str, enhanced: bool | None, *, name: str, note: Callable[[str], None]
) -> Search:
    """Parse a pattern, or the file that contains it; a wrong one is a mistake in the usage.

    enhanced: whether enhanced dependencies are searched as well; None if the pattern decides, which
    then names such relations or not. name: the name of the argument or option with the pattern.
    note: prints the notes on the pattern.
    """
    text = read_pattern(pattern, name)
    with _pattern_errors(name):
        parsed = parse_pattern(text)
        search = Search(parsed, parsed.names_enhanced if enhanced is None else enhanced)
    for note_text in parsed.notes:
        note(note_text)
    return search


def make_where(pattern: str, note: Callable[[str], None]) -> Where | None:
    """Return which sentences --where selects; None if the pattern is "". note: prints notes."""
    if not pattern:
        return None
    search = prepare_search(pattern, None, name="--where", note=note)
    return Where(" ".join(pattern.split()), search.accepts)


def read_pattern(text: str, name: str) -> str:
    """Return a text with a brace, or the content of the file with this name."""
    if "{" in text:
        return text
    if not text.strip():
        raise typer.BadParameter("it is empty", param_hint=name)
    try:
        with open_lines(text) as lines:
            return lines.read().removeprefix(BOM)
    except FileNotFoundError:
        message = f"{text!r} has no {{, so it is the name of a file, but there is no such file"
        raise typer.BadParameter(message, param_hint=name) from None


_PAIRS = (("(", ")"), ("[", "]"))


def _split_fields(text: str) -> list[str]:
    """Split fields at commas, but not those of delta(X,Y) and [gap=5, min=0]."""
    fields: list[str] = []
    for part in text.split(",") if text else ():
        if fields and any(
            fields[-1].count(left) > fields[-1].count(right) for left, right in _PAIRS
        ):
            fields[-1] += f",{part}"
        else:
            fields.append(part)
    return fields


@contextmanager
def _pattern_errors(name: str) -> Iterator[None]:
    """Within the block, an error of a pattern is a mistake in the usage of this parameter."""
    try:
        yield
    except PatternError as error:
        raise typer.BadParameter(str(error), param_hint=name) from None


def _choose_layout(layout: Layout | None, output: str, has_fields: bool, is_table: bool) -> Layout:
    """Return the layout of the output; raise BadParameter for contradicting options."""
    by_name: Layout = "conllu" if format_from_filename(output) else "text"
    by_name = _SUFFIXES.get(os.path.splitext(output.lower())[1], by_name)
    chosen = layout or ("tsv" if has_fields and by_name == "text" else by_name)
    if chosen == "conllu" and format_from_filename(output) is PTB:
        message = "sentences that are found are written in CoNLL formats, not as bracketed trees"
        raise typer.BadParameter(f"{message}; name a file without .mrg or .ptb", param_hint="-o")
    if has_fields and is_table:
        raise typer.BadParameter("it contradicts --count and --by", param_hint="--fields")
    if has_fields and chosen not in ("tsv", "json"):
        raise typer.BadParameter("it needs --format tsv or json", param_hint="--fields")
    if is_table and chosen in ("conllu", "html"):
        message = "counts are text, tsv or json"
        raise typer.BadParameter(message, param_hint="--format")
    return chosen


def _write_matches(
    search: Search, results: Results, stream: TextIO, style: tuple[Layout, dict[str, Key], bool]
) -> None:
    """Write the matches, one on each line. style: the layout, the fields, whether in colour."""
    layout, fields, colour = style
    if layout == "tsv" and not fields:
        fields = {text: parse_field(text, search) for text in ("file", "line", "sent_id")}
        fields |= {name: parse_field(name, search) for name in search.matcher.nodes}
    if layout == "tsv":
        stream.write(csv_table([name.strip() for name in fields], [], "\t") + "\n")
    write_line: dict[Layout, Callable[[Graph, Found], str]] = {
        "text": lambda graph, found: mark_words(search, graph, found, colour),
        "tsv": lambda graph, found: _row([key(graph, found) for key in fields.values()]),
        "json": lambda graph, found: to_json(
            make_record(search, graph, found)
            | (
                {"fields": {name: key(graph, found) for name, key in fields.items()}}
                if fields
                else {}
            )
        ),
    }
    for graph, matches in results:
        for found in matches:
            stream.write(write_line[layout](graph, found) + "\n")


def _row(cells: list[str | None]) -> str:
    return csv_table(["_" if cell is None else cell for cell in cells], [], "\t")


def _format_clusters(names: list[str], clusters: Counter[Any], layout: Layout) -> str:
    """Return the table of the values of the keys, the most frequent ones first."""
    ordered = sorted(clusters.items(), key=lambda item: (-item[1], item[0]))
    total = clusters.total()
    if layout == "json":
        records = [
            {"values": dict(zip(names, values, strict=True)), "count": n} for values, n in ordered
        ]
        return to_json(records, indent=1)
    columns = [*names, "matches"]
    if layout == "tsv":
        return csv_table(columns, [[*values, str(n)] for values, n in ordered], "\t")
    rows = [
        [*map(escape_unprintable, values), str(n), f"{100 * n / total:.2f}"]
        for values, n in ordered
    ]
    rows.append(["total", *[""] * (len(names) - 1), str(total), "100.00" if total else "-"])
    return render_table(Table("", [*columns, "%"], rows))


def _format_counts(totals: Counter[str], layout: Layout) -> str:
    """Return the number of matches; with several files also that of each file."""
    if layout == "json":
        return to_json({"matches": totals.total(), "files": dict(totals)})
    if len(totals) == 1:
        return str(totals.total())
    rows = [
        [file if layout == "tsv" else escape_unprintable(file), str(n)]
        for file, n in totals.items()
    ]
    return csv_table(rows[0], [*rows[1:], ["total", str(totals.total())]], "\t")
