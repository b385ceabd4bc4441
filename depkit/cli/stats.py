"""`depkit stats`: counts the words, labels and tree shapes of treebanks."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Annotated

import typer

from depkit.cli.options import Encoding, From, Quiet, check_inputs, progress_bars, verbose_flag
from depkit.cli.output import print_message
from depkit.cli.tables import Table, render_table
from depkit.files.errors import FormatError
from depkit.files.progress import reading_bar
from depkit.files.streams import open_output
from depkit.score.bins import parse_bins
from depkit.score.table import format_percent, short_names
from depkit.treebank.output import broken_sentences_warning, escape_unprintable, to_json
from depkit.treebank.statistics import LABELS, Statistics, compute_statistics

TOP = 20  # the most frequent labels, which the tables contain

TITLES = {
    "upos": "UPOS", "xpos": "XPOS", "deprel": "relation", "enhancement": "enhancement",
    "constituent": "constituent",
}  # fmt: skip
# The bins in the tables, in the notation of `depkit analyze --bins`.
BINS = {
    "length": "1-5,6-10,11-15,16-20,21-30,31-40,41-50,51-100,101-200,201-",
    "distance": "1,2,3-6,7-10,11-20,21-",
    "depth": "0,1,2,3,4,5,6-10,11-",
}


def stats_command(
    files: Annotated[list[str], typer.Argument(metavar="FILE")],
    as_json: Annotated[bool, typer.Option("--json")] = False,
    source: From = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag(f"Print all labels in the tables, not only the {TOP} most frequent.")
    ] = False,
) -> None:
    """Count words, tags, relations and tree shapes in CoNLL-U, CoNLL-X and CoNLL-09 files.

    In bracketed trees, constituents are counted by their labels without functions.

    The relations in the column DEPS are counted by their type of enhancement: basic (as in the
    tree), case (as in the tree, but the label names the case, the preposition or the conjunction),
    conj (the head of a coordination as the head of its other conjuncts), shared (a dependent that
    all conjuncts share), xsubj (subjects of controlled and raised predicates), relcl (the
    antecedent in the relative clause, and ref), empty (paths through empty nodes) and other.

    Words are syntactic words. Tokens are surface tokens, so that a multiword token counts once. An
    arc is non-projective if a word between its two ends is not a descendant of its head. A sentence
    is non-projective if two of its arcs cross, the arc of the root included; the percentage is that
    of the sentences in which all words have a head. The distance of an arc is the difference
    between the positions of its head and its dependent. The depth of a word is the number of arcs
    between it and the root of the sentence. If there are several files, their total is also
    printed. The tables contain the 20 most frequent labels, JSON contains all labels.

    Example: depkit stats train.conllu dev.conllu
    """
    check_inputs(files, quiet)
    results = []
    with reading_bar(progress_bars(quiet, files), "counting", files):
        for file in files:
            result = compute_statistics(file, encoding, source)
            if not result.sentences:
                raise FormatError(file, 0, "", "there is no sentence in the file")
            if result.broken and not quiet:
                number = result.sentences + result.wordless
                print_message(broken_sentences_warning(file, result.broken, number))
            results.append(result)
    if len(results) > 1:
        results.append(reduce(add, results))
    with open_output("-", colours=True) as stream:
        if as_json:
            records = [result.as_dict() for result in results]
            stream.write(to_json(records[0] if len(records) == 1 else records, indent=2) + "\n")
        else:
            stream.write("\n\n".join(_tables(results, None if verbose else TOP)) + "\n")


def _tables(results: Sequence[Statistics], top: int | None) -> list[str]:
    """Return all tables, with one column per file and one for the total of several files."""
    has_total = len(results) > 1
    names = short_names([result.file for result in results[: len(results) - has_total]])
    names += ["total"] * has_total
    tables = [_figures_table(results, names)]
    tables += [_labels_table(results, names, column, top) for column in LABELS]
    tables += [_histogram_table(results, names, name) for name in BINS]
    return [table for table in tables if table]


def _figures_table(results: Sequence[Statistics], names: Sequence[str]) -> str:
    columns = [result.figures() for result in results]
    rows = []
    for name in columns[0]:
        values = [column[name] for column in columns]
        whole_numbers = not any(isinstance(value, float) for value in values)
        if whole_numbers and not any(values) and name != "non-projective sentences":
            continue  # the table omits rare phenomena that do not occur
        rows.append([name, *(format_percent(value, 0 if whole_numbers else 2) for value in values)])
    return render_table(Table("", ["", *names], rows))


def _header(title: str, names: Sequence[str]) -> list[str]:
    return [title, *(cell for name in names for cell in (name, "%"))]


def _row_with_shares(label: str, counts: Sequence[int], totals: Sequence[int]) -> list[str]:
    """Return a row of a table: for each file a count and its percentage of the total."""
    cells = [label]
    for count, total in zip(counts, totals, strict=True):
        cells += [str(count), format_percent(100.0 * count / total if total else None)]
    return cells


def _labels_table(
    results: Sequence[Statistics], names: Sequence[str], column: str, top: int | None
) -> str:
    """Return the table of the most frequent labels; its last row is the sum of the other labels."""
    counts = [result.labels(column) for result in results]
    labels = list(counts[-1])  # in the order of the total
    if not labels:
        return ""
    totals = [sum(file_counts.values()) for file_counts in counts]
    num_listed = top if top and len(labels) > top + 1 else len(labels)
    rows = [
        _row_with_shares(
            escape_unprintable(name), [file_counts.get(name, 0) for file_counts in counts], totals
        )
        for name in labels[:num_listed]
    ]
    if others := labels[num_listed:]:
        sums = [sum(file_counts.get(name, 0) for name in others) for file_counts in counts]
        rows.append(_row_with_shares(f"{len(others)} others", sums, totals))
    return render_table(Table("", _header(TITLES[column], names), rows))


def _histogram_table(results: Sequence[Statistics], names: Sequence[str], name: str) -> str:
    bins = parse_bins(BINS[name])
    histograms: list[Counter[int]] = [getattr(result, name) for result in results]
    totals = [histogram.total() for histogram in histograms]
    rows = []
    for label, (low, high) in zip(bins.names, bins.ends, strict=True):
        counts = [
            sum(count for value, count in histogram.items() if low <= value <= high)
            for histogram in histograms
        ]
        if any(counts):
            rows.append(_row_with_shares(label, counts, totals))
    return render_table(Table("", _header(name, names), rows)) if rows else ""
