"""`depkit stats`: how much of what there is in treebanks."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Annotated

import typer

from depkit.cli.options import Encoding, Quiet, check_inputs, progress_bars
from depkit.cli.tables import Table, rendered
from depkit.corpus.errors import FormatError
from depkit.corpus.files import open_output
from depkit.drawing.progress import reading_bar
from depkit.score.bins import parse_bins
from depkit.score.table import percent, short_names
from depkit.treebank.output import broken_sentences, json_text, printable
from depkit.treebank.statistics import LABELS, Statistics, statistics

TOP = 20  # labels in the tables

TITLES = {"upos": "UPOS", "xpos": "XPOS", "deprel": "relation"}
# The bins in the tables, in the notation of `depkit analyze --bins`.
BINS = {
    "length": "1-5,6-10,11-15,16-20,21-30,31-40,41-50,51-100,101-200,201-",
    "distance": "1,2,3-6,7-10,11-20,21-",
    "depth": "0,1,2,3,4,5,6-10,11-",
}


def stats_command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Files to count, - for stdin.")
    ],
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON: an object, a list of them for several files."),
    ] = False,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Put all labels into the tables.")
    ] = False,
) -> None:
    """Count what is in CoNLL-U, CoNLL-X and CoNLL-09 files: words, labels, shapes of trees.

    Words are syntactic words; tokens take a multiword token as one. A sentence is non-projective
    if two of its arcs cross, that of the root included; an arc, if not all words below it descend
    from its head. Distance is from head to dependent, depth from the root's dependent down.
    Several files have a total, too. The tables have the 20 most frequent labels, JSON has all.

    Example: depkit stats train.conllu dev.conllu
    """
    check_inputs(files, quiet)
    found = []
    with reading_bar(progress_bars(quiet, files), "counting", files):
        for file in files:
            counted = statistics(file, encoding)
            if not counted.sentences:
                raise FormatError(file, 0, "", "no sentence in the file")
            if counted.broken and not quiet:
                typer.echo(broken_sentences(file, counted.broken, counted.sentences), err=True)
            found.append(counted)
    if len(found) > 1:
        found.append(reduce(add, found))
    with open_output("-") as stream:
        if as_json:
            records = [counted.as_dict() for counted in found]
            whole = records[0] if len(records) == 1 else records
            stream.write(json_text(whole, indent=2) + "\n")
        else:
            stream.write("\n\n".join(_tables(found, None if verbose else TOP)) + "\n")


def _tables(found: Sequence[Statistics], top: int | None) -> list[str]:
    """All tables, a column a file."""
    names = short_names([counted.file for counted in found[: len(found) - (len(found) > 1)]])
    names += ["total"] * (len(found) > 1)
    tables = [_figures(found, names)]
    tables += [_labels(found, names, column, top) for column in LABELS]
    tables += [_histogram(found, names, name) for name in BINS]
    return [table for table in tables if table]


def _figures(found: Sequence[Statistics], names: Sequence[str]) -> str:
    columns = [counted.figures() for counted in found]
    rows = []
    for name in columns[0]:
        values = [column[name] for column in columns]
        whole = not any(isinstance(value, float) for value in values)
        if whole and not any(values) and name != "non-projective sentences":
            continue  # rare things that are not there
        rows.append([name, *(percent(value, 0 if whole else 2) for value in values)])
    return rendered(Table("", ["", *names], rows))


def _header(title: str, names: Sequence[str]) -> list[str]:
    return [title, *(cell for name in names for cell in (name, "%"))]


def _shares(label: str, counts: Sequence[int], totals: Sequence[int]) -> list[str]:
    """A row: each file's count and its share."""
    cells = [label]
    for count, total in zip(counts, totals, strict=True):
        cells += [str(count), percent(100.0 * count / total if total else None)]
    return cells


def _labels(found: Sequence[Statistics], names: Sequence[str], column: str, top: int | None) -> str:
    """The most frequent labels, then all others together."""
    counts = [counted.labels(column) for counted in found]
    order = list(counts[-1])  # of the total
    if not order:
        return ""
    totals = [sum(each.values()) for each in counts]
    cut = top if top and len(order) > top + 1 else len(order)
    rows = [
        _shares(printable(name), [each.get(name, 0) for each in counts], totals)
        for name in order[:cut]
    ]
    if order[cut:]:
        rest = [sum(each.get(name, 0) for name in order[cut:]) for each in counts]
        rows.append(_shares(f"{len(order) - cut} others", rest, totals))
    return rendered(Table("", _header(TITLES[column], names), rows))


def _histogram(found: Sequence[Statistics], names: Sequence[str], name: str) -> str:
    bins = parse_bins(BINS[name])
    counts: list[Counter[int]] = [getattr(counted, name) for counted in found]
    totals = [each.total() for each in counts]
    rows = []
    for label, (low, high) in zip(bins.names, bins.ends, strict=True):
        inside = [sum(n for value, n in each.items() if low <= value <= high) for each in counts]
        if any(inside):
            rows.append(_shares(label, inside, totals))
    return rendered(Table("", _header(name, names), rows)) if rows else ""
