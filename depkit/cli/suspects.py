"""`depkit suspects`: lists annotations of a treebank that are probably wrong."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from depkit.cli import options
from depkit.cli.help import MODEL, OUTPUT
from depkit.cli.output import print_message
from depkit.corpus.pairing import Source, make_source, pair_sentences
from depkit.corpus.sentence import Sentence
from depkit.drawing.report.contents import LIMIT
from depkit.drawing.report.page import render_page
from depkit.drawing.report.suspects import make_contents
from depkit.files.atomic import check_writable
from depkit.files.errors import FormatError
from depkit.files.progress import reading_bar
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
    treebank: Annotated[
        str,
        typer.Argument(metavar="TREEBANK", help="Find suspects in this CoNLL file; - is stdin."),
    ],
    parses: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Compare the treebank with these parses of its sentences, by a parser that was not"
            " trained on them. The option can be given several times.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Compare each sentence with the parse by the member of this ensemble that was not"
            " trained on it. The ensemble must have been trained on the treebank. The environment"
            " variable DEPKIT_MODEL has no effect here.",
            rich_help_panel=MODEL,
        ),
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Write only this many suspects, those with the highest scores.",
            show_default=f"all; {LIMIT:,} in a page",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file; - is stdout. If the name ends in .html, write an HTML page"
            " that draws the sentences of the suspects.",
            rich_help_panel=OUTPUT,
        ),
    ] = "-",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Write one JSON object with all suspects instead of a table.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
    encoding: options.Encoding = "utf-8",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool, options.verbose_flag("Print on stderr how many suspects of each kind there are.")
    ] = False,
) -> None:
    """List annotations of a treebank that are probably wrong, the most suspicious first.

    The output is a table with tab-separated values. It can be opened in a spreadsheet; a text that
    begins with = + - or @ gets an apostrophe before it. Each row has an annotation of a word in
    the treebank (gold) and the one that is proposed (alternative). The kind is head, deprel (only
    the relation is suspect), upos, xpos or feats. A head is written as number:relation.

    With -o FILE.html, the output is a single HTML page, which a browser shows without network
    access. The page draws the sentence of each suspect; suspects can be searched by kind, source,
    relation or tag, and by the words of the sentence.

    There are two sources of suspects, parser and variation. The source parser needs --parses or
    --model: a parser that has not seen the sentence disagrees with the treebank. Several parses are
    averaged. The probability of a head is the ArcProb of depkit parse --prob, that of a
    relation is the LabelProb. Relations are compared only where the head is the same. The
    probability of a tag, and of heads and relations if the parses have no probabilities, is how
    often the parse and the treebank agree on words to which the parse gives the same tag or
    relation.

    The source variation needs no parser: the same words are annotated differently elsewhere in the
    treebank (variation n-grams of Dickinson and Meurers). They are a single word, for tags, or a
    head and its dependent with all words between them. At least one word on each side must also be
    the same. The less frequent annotation is suspect. The probability of an annotation is its share
    of all occurrences, multiplied by 0.75, 0.94, 0.98 or 0.996 if one, two, three or four words on
    each side are the same.

    The table is sorted by the score, which is the probability of the alternative minus that of the
    treebank's own annotation (gold_probability). If both sources propose the same, the source is
    both, and the probability is 1 - (1 - p)(1 - q). A suspect is not always an error: read the
    sentence before you change it.

    Example: depkit suspects train.conllu --model en.ensemble -o suspects.tsv

    Example: depkit parse dev.conllu --tags predict --prob -o parsed.conllu

    Example: depkit suspects dev.conllu --parses parsed.conllu --limit 500 -o suspects.html
    """
    as_page = output.lower().endswith((".html", ".htm"))
    if as_page and as_json:
        message = "it cannot be used with an HTML page; leave it out, or name another file"
        raise typer.BadParameter(message, param_hint="--json")
    files = [treebank, *(parses or [])]
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
    if as_page:
        text = render_page(make_contents(treebank, sentences, ranked, limit or LIMIT))
    else:
        records = list(describe_suspects(ranked[:limit], sentences))
        text = _json_text(sentences, len(ranked), records) if as_json else _table(records)
    with open_output(output) as stream:
        stream.write(text)
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
