"""`depkit diff`: what differs between two versions of a treebank, or two annotations of it."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import typer

from depkit.cli.help import OUTPUT, option
from depkit.cli.options import Encoding, From, Output, Quiet, check_inputs, progress_bars
from depkit.cli.output import print_message
from depkit.cli.tables import Table, render_table
from depkit.corpus.io import read
from depkit.files.atomic import check_writable
from depkit.files.progress import reading_bar
from depkit.files.storage import check_overwriting
from depkit.files.streams import open_output
from depkit.files.suggestion import describe_unknown
from depkit.score.differences import COLUMNS, Agreement, Difference, pair_by_id
from depkit.score.table import csv_table, format_percent
from depkit.treebank.output import escape_unprintable, to_json

TOP = 20  # the most frequent differences, which the tables contain
Layout = Literal["text", "tsv", "json"]
NAMES = {
    "head": "HEAD (UAS)", "arc": "HEAD and DEPREL (LAS)", "comments": "comments",
    "tokens": "multiword tokens and empty nodes",
}  # fmt: skip
_FIELDS = ("file", "line", "sent_id", "word", "form", "column", "a", "b")


def diff_command(
    first: Annotated[str, typer.Argument(metavar="A", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", show_default=False)],
    *,
    layout: Annotated[Layout, option(OUTPUT, "--format")] = "text",
    columns: Annotated[str, option(OUTPUT, metavar="COLUMN,...")] = "",
    output: Output = "-",
    source: From = None,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
) -> int:
    """Show what differs between two versions of a treebank, or between two annotators."""
    chosen = _parse_columns(columns)
    check_overwriting([first, second], [output])
    check_inputs([first, second], quiet)
    check_writable(output)
    agreement = Agreement()
    found = 0

    def differences() -> Iterator[Difference]:
        nonlocal found
        pairs = pair_by_id(read(first, source, encoding), read(second, source, encoding))
        for pair in pairs:
            for difference in agreement.compare(*pair):
                if not chosen or difference.column in chosen:
                    found += 1
                    yield difference

    files = [first, second]
    with (
        reading_bar(progress_bars(quiet, files, output), "comparing", files),
        open_output(output, colours=layout == "text") as stream,
    ):
        if layout == "tsv":
            stream.write(csv_table(_FIELDS, [], "\t") + "\n")
            for difference in differences():
                cells = [str(value) for value in _record(difference).values()]
                stream.write(csv_table(cells, [], "\t") + "\n")
        elif layout == "json":
            records = list(map(_record, differences()))
            stream.write(to_json(_summary(agreement) | {"differences": records}, 1) + "\n")
        else:
            deque(differences(), maxlen=0)
            stream.write("\n\n".join(_tables(agreement, chosen)) + "\n")
    if not found and not quiet:
        print_message(f"depkit: note: {first} and {second} do not differ")
    return int(found > 0)


def _parse_columns(text: str) -> list[str]:
    names = [name.strip().lower() for name in text.split(",")] if text else []
    known = (*COLUMNS, "words", "comments", "tokens", "sentence")
    for name in names:
        if name not in known or name == "arc":
            message = describe_unknown("column", name, known, [x for x in known if x != "arc"])
            raise typer.BadParameter(message, param_hint="--columns")
    return names


def _record(difference: Difference) -> dict[str, Any]:
    """Return a difference as a record, in the order of its fields."""
    sentence = difference.sentence
    file, line, sent_id = sentence.location(max(difference.word - 1, 0))
    if not difference.word:
        line = sentence.line
    values = (
        file, line, sent_id, difference.word, difference.form, difference.column,
        difference.first, difference.second,
    )  # fmt: skip
    return dict(zip(_FIELDS, values, strict=True))


def _summary(agreement: Agreement) -> dict[str, Any]:
    """Return the counts of a comparison, for JSON."""
    columns = {
        name: {
            "compared": agreement.compared[name],
            "same": agreement.same[name],
            "percent": agreement.share(name),
            "kappa": agreement.kappa(name),
        }
        for name in (*COLUMNS, "comments", "tokens")
        if agreement.compared[name]
    }
    relations = {
        name: dict(zip(("words", "other_head", "other_relation"), counts, strict=True))
        for name, counts in sorted(agreement.relations.items())
    }
    return {
        "sentences": agreement.sentences,
        "identical_sentences": agreement.identical,
        "sentences_only_in": agreement.only,
        "words": agreement.words,
        "words_only_in": agreement.other_words,
        "columns": columns,
        "relations": relations,
    }


def _tables(agreement: Agreement, chosen: Sequence[str]) -> list[str]:
    """Return the tables of the counts, those of the chosen columns if there are any."""
    rows = [
        ["sentences in both", str(agreement.sentences)],
        ["identical sentences", str(agreement.identical)],
        ["sentences only in A", str(agreement.only[0])],
        ["sentences only in B", str(agreement.only[1])],
        ["words in both", str(agreement.words)],
        ["words only in A", str(agreement.other_words[0])],
        ["words only in B", str(agreement.other_words[1])],
    ]
    tables = [render_table(Table("", ["", "number"], rows))]
    names = [name for name in (*COLUMNS, "comments", "tokens") if agreement.compared[name]]
    rows = [
        [
            NAMES.get(name, name.upper()),
            str(agreement.compared[name]),
            str(agreement.compared[name] - agreement.same[name]),
            format_percent(agreement.share(name)),
            "-" if (kappa := agreement.kappa(name)) is None else f"{kappa:.4f}",
        ]
        for name in names
        if not chosen or name in chosen
    ]
    if rows:
        header = ["column", "compared", "differ", "agreement %", "kappa"]
        tables.append(render_table(Table("", header, rows)))
    tables += [_relations_table(agreement)] if _is_chosen(chosen, "head", "deprel") else []
    tables += [
        _pairs_table(agreement, name)
        for name in ("upos", "xpos", "feats", "deprel")
        if _is_chosen(chosen, name)
    ]
    return [table for table in tables if table]


def _is_chosen(chosen: Sequence[str], *names: str) -> bool:
    return not chosen or any(name in chosen for name in names)


def _relations_table(agreement: Agreement) -> str:
    """Return the table of the relations of A whose words differ most often."""
    ordered = sorted(agreement.relations.items(), key=lambda item: (-sum(item[1][1:]), item[0]))
    rows = [
        [
            escape_unprintable(name), str(words), str(heads), format_percent(100 * heads / words),
            str(relations), format_percent(100 * relations / words),
        ]
        for name, (words, heads, relations) in ordered[:TOP]
        if heads or relations
    ]  # fmt: skip
    header = ["relation in A", "words", "other head", "%", "other relation", "%"]
    return render_table(Table("", header, rows)) if rows else ""


def _pairs_table(agreement: Agreement, name: str) -> str:
    """Return the table of the most frequent differences of a column."""
    pairs = [
        (pair, count) for pair, count in agreement.pairs.get(name, {}).items() if pair[0] != pair[1]
    ]
    ordered = sorted(pairs, key=lambda item: (-item[1], item[0]))
    rows = [[*map(escape_unprintable, pair), str(count)] for pair, count in ordered[:TOP]]
    title = NAMES.get(name, name.upper())
    return (
        render_table(Table("", [f"{title} in A", f"{title} in B", "words"], rows)) if rows else ""
    )
