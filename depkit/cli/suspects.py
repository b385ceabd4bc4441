"""`depkit suspects`: lists annotations of a treebank that are probably wrong."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, OUTPUT, option
from depkit.cli.output import print_message
from depkit.cli.search import make_where
from depkit.corpus.pairing import Source, make_source, pair_sentences
from depkit.corpus.sentence import Sentence
from depkit.drawing.report.contents import LIMIT
from depkit.drawing.report.page import render_page
from depkit.drawing.report.suspects import make_contents
from depkit.files.atomic import check_writable
from depkit.files.errors import FormatError
from depkit.files.progress import reading_bar
from depkit.files.storage import check_overwriting
from depkit.files.streams import open_output
from depkit.score.table import csv_table
from depkit.treebank.disagreement import find_disagreements
from depkit.treebank.output import to_json
from depkit.treebank.suspects import describe_suspects, rank_suspects
from depkit.treebank.variation import find_variation

ADVICE = "give parses of the words of the treebank: depkit parse TREEBANK --tags predict --prob"
COLUMNS = (
    "rank", "score", "source", "kind", "form", "gold", "alternative", "gold_head",
    "alternative_head", "probability", "gold_probability", "evidence", "file", "line", "sent_id",
    "word", "context",
)  # fmt: skip


def suspects_command(
    treebank: Annotated[str, typer.Argument(metavar="TREEBANK")],
    parses: Annotated[list[str] | None, option(MODEL, metavar="FILE")] = None,
    model: Annotated[str, option(MODEL, metavar="MODEL")] = "",
    where: options.Where = "",
    limit: Annotated[
        int | None, option(OUTPUT, min=1, show_default=f"all; {LIMIT:,} in a page")
    ] = None,
    output: Annotated[str, option(OUTPUT, "--output", "-o", metavar="FILE")] = "-",
    as_json: Annotated[bool, option(OUTPUT, "--json")] = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, options.verbose_flag("Print on stderr how many suspects of each kind there are.")
    ] = False,
) -> None:
    """List annotations of a treebank that are probably wrong, the most suspicious first."""
    as_page = output.lower().endswith((".html", ".htm"))
    if as_page and as_json:
        message = "it cannot be used with an HTML page; leave it out, or name another file"
        raise typer.BadParameter(message, param_hint="--json")
    selection = make_where(where, options.note_printer(quiet))
    files = [treebank, *(parses or [])]
    check_overwriting([*files, where], [output])
    options.check_inputs(files, quiet)
    check_writable(output)
    sentences: list[Sentence] = []
    with reading_bar(options.progress_bars(quiet, files, output), "comparing", files):
        systems = [make_source(file, encoding) for file in parses or []]
        gold = make_source(treebank, encoding)
        if model:
            gold = Source(gold.name, list(gold.sentences))
            systems.append(_parse_out_of_fold(model, gold, device, threads))

        def keep(sentence: Sentence) -> Sentence:
            sentences.append(sentence)
            return sentence

        pairs = (
            (keep(sentence), predicted)
            for sentence, predicted in pair_sentences(gold, systems, ADVICE)
        )
        suspects = list(find_disagreements(pairs))
        if not sentences:
            raise FormatError(treebank, 0, "", "there are no sentences")
        suspects += find_variation(sentences)
    ranked = rank_suspects(suspects)
    if selection:
        accepted = list(map(selection.accepts, sentences))
        ranked = [suspect for suspect in ranked if accepted[suspect.sentence]]
    if as_page:
        text = render_page(make_contents(treebank, sentences, ranked, limit or LIMIT))
    else:
        records = list(describe_suspects(ranked[:limit], sentences))
        text = _json_text(sentences, len(ranked), records) if as_json else _table(records)
    with open_output(output) as stream:
        stream.write(text)
    if not (ranked or verbose or quiet):
        print_message("depkit: note: no suspects were found")
    if verbose and not quiet:
        counts = Counter(f"{suspect.kind} ({suspect.source})" for suspect in ranked)
        details = ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
        noun = "suspect" if len(ranked) == 1 else "suspects"
        print_message(f"{len(ranked):,} {noun}: {details}" if counts else "no suspects")


def _parse_out_of_fold(model: str, gold: Source, device: str, threads: int | None) -> Source:
    from depkit.ensemble.out_of_fold import parse_out_of_fold

    return Source(model, parse_out_of_fold(model, gold.sentences, device, threads))


def _table(records: Sequence[dict[str, Any]]) -> str:
    rows = [[str(record[name]) for name in COLUMNS] for record in records]
    return csv_table(COLUMNS, rows, "\t") + "\n"


def _json_text(sentences: Sequence[Sentence], found: int, records: Sequence[dict[str, Any]]) -> str:
    record = {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "found": found,
        "suspects": records,
    }
    return to_json(record, indent=1) + "\n"
