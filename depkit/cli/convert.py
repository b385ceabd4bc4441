"""`depkit convert`: converts treebanks from one format to another."""

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Literal

import typer

from depkit.cli.options import Encoding, From, Quiet, check_inputs, progress_bars, verbose_flag
from depkit.cli.output import print_message, print_output
from depkit.convert.dependencies import Kind
from depkit.convert.formats import ConversionReport, convert, with_predicted
from depkit.convert.merge import merge, retag
from depkit.corpus.formats import (
    CONLLU,
    NON_TABULAR,
    PARQUET,
    PTB,
    Format,
    format_from_filename,
    is_bracketed,
)
from depkit.corpus.io import (
    PathLike,
    get_format,
    is_parquet,
    read,
    read_stream,
    read_trees,
    write,
)
from depkit.corpus.parquet import import_pyarrow
from depkit.corpus.sentence import Sentence
from depkit.files.errors import FormatError
from depkit.files.limits import limit_stream
from depkit.files.progress import reading_bar
from depkit.files.storage import file_identity, is_rereadable
from depkit.files.streams import open_bytes, read_opening

MAX_REPORTED = 20  # broken sentences that are reported one by one


def _print_rules(value: bool) -> None:
    """Print the tables of rules on stdout and exit, if --rules is given."""
    if value:
        from depkit.convert.converter import TABLES, read_table

        print_output("\n".join(map(read_table, TABLES)).rstrip())
        raise typer.Exit


def convert_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="IN", help="Convert these files, one after another; - is stdin."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the output to this file, in UTF-8; - is stdout.",
        ),
    ] = "-",
    source: From = None,
    target: Annotated[
        Literal["conllx", "conll09", "conllu", "parquet"] | None,
        typer.Option(
            "--to",
            help="Write the output in this format.",
            show_default="the format of the output file's name; if it has none, that of ORIGINAL"
            " with --merge, and for Penn trees conllx (conllu with --dependencies ud or ud2)",
        ),
    ] = None,
    dependencies: Annotated[
        Literal["sd", "ud", "ud2"] | None,
        typer.Option(
            help="Convert Penn trees to Stanford Dependencies (sd, in CoNLL-X), to Universal"
            " Dependencies as CoreNLP writes them (ud, in CoNLL-U), or to Universal Dependencies as"
            " in UD_English-EWT (ud2, in CoNLL-U).",
            show_default="sd",
        ),
    ] = None,
    rules: Annotated[
        bool,
        typer.Option(
            "--rules",
            help="Print the rules by which Penn trees are converted, with examples, and exit.",
            is_eager=True,
            callback=_print_rules,
        ),
    ] = False,
    tags: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Take XPOS from this CoNLL file, which has the same words as IN. The conversion of"
            " Penn trees still uses the tags of the trees.",
        ),
    ] = "",
    predicted: Annotated[
        bool,
        typer.Option(
            "--predicted",
            help="Use the columns of CoNLL-09 with predicted values (PLEMMA, PPOS, PFEAT, PHEAD and"
            " PDEPREL) instead of LEMMA, POS, FEAT, HEAD and DEPREL: read them from CoNLL-09, or"
            " write them if another format is converted to CoNLL-09.",
        ),
    ] = False,
    original: Annotated[
        str,
        typer.Option(
            "--merge",
            metavar="ORIGINAL",
            help="Write this file with its trees replaced by those of IN.",
        ),
    ] = "",
    merge_tags: Annotated[
        bool,
        typer.Option(
            "--merge-tags",
            help="With --merge, also take the lemmas, tags and FEATS of IN, where IN has them.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop with an error at the first broken sentence.")
    ] = False,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Annotated[
        bool, verbose_flag("Print the number of converted sentences on stderr.")
    ] = False,
) -> None:
    """Convert Penn trees to dependencies, and treebanks between CoNLL formats and Parquet.

    Between CoNLL formats, FORM, LEMMA, FEATS, HEAD and DEPREL are copied. UPOS corresponds to
    CPOSTAG of CoNLL-X; XPOS corresponds to POSTAG of CoNLL-X and POS of CoNLL-09. Comments,
    multiword ranges, empty nodes, DEPS and MISC exist only in CoNLL-U, the projective PHEAD and
    PDEPREL only in CoNLL-X, and the columns of predicted values, the predicates and their arguments
    only in CoNLL-09. They are left out when the format changes, and a note says how many were
    left out. If the format does not change, everything is kept.

    A Parquet file has one row per sentence, with CoNLL-U in columns: sent_id, text and comments;
    the lists tokens, lemmas, upos, xpos, feats, head, deprel, deps and misc; mwt (multiword
    ranges) and empty_nodes; and the lists arc_prob and label_prob, if MISC has probabilities.
    CoNLL-U that is converted to Parquet and back is unchanged. Messages about a sentence in a
    Parquet file give its line in this CoNLL-U.

    With --dependencies ud or ud2, each sentence has two comments: sent_id, which is the file's name
    and a number, and text. Penn trees do not record where the original text has spaces, so spaces
    are inserted as is usual in English. With ud2, FEATS are written as far as they follow from the
    tags, clitics are parts of multiword tokens, and quotation marks are those of running text.
    The trees are converted by rules, which --rules prints; function tags and traces are not needed.

    --merge puts new trees into a file that had to be converted to CoNLL-X before it was parsed:
    depkit convert parsed.conllx --merge en.conllu -o parsed.conllu. Both files must have the same
    words. Everything else of ORIGINAL is kept, but DEPS becomes _ where the tree changes.

    A broken sentence is reported and left out, and the exit status is then 1. --encoding is the
    encoding of IN. The files of --merge and --tags are read, and the output is written, in UTF-8.

    Example: depkit convert en.conllu -o en.conllx
    """
    format_names = {source or _format_name(path) for path in files}
    inputs = [*files, *filter(None, [original, tags])]
    if file_identity(output) in set(map(file_identity, inputs)) - {None}:
        raise typer.BadParameter(
            "this file is also an input; name another file to write", param_hint="-o"
        )
    if merge_tags and not original:
        raise typer.BadParameter("it needs --merge as well", param_hint="--merge-tags")
    if dependencies and not format_names & {"ptb", None}:
        raise typer.BadParameter("it needs Penn trees as input", param_hint="--dependencies")
    format = PARQUET if target == PARQUET.name else get_format(target) if target else None
    format = format or format_from_filename(output)
    is_parquet_output = format is PARQUET
    if is_parquet_output:
        import_pyarrow()
        format = CONLLU
    if not (format or original or format_names == {"ptb"}):
        raise typer.BadParameter(
            "choose conllx, conll09, conllu or parquet, or give -o a file name with one of these"
            " endings",
            param_hint="--to",
        )
    check_inputs(inputs, quiet)

    problems = Problems(strict)
    numbers: Counter[str] = Counter()
    sentences = chain.from_iterable(
        _read(path, source, encoding, problems, dependencies or "sd", _sent_ids(path, numbers))
        for path in files
    )
    report = None if quiet else ConversionReport()
    merged: Iterator[Sentence] = sentences
    if predicted:
        rewrite = not format or format.has_argument_columns or bool(original or tags)
        merged = (with_predicted(sentence, rewrite) for sentence in sentences)
    if tags:
        merged = retag(merged, read(tags, strict=False))
    if original:
        merged = merge(read(original, strict=False), merged, merge_tags, predicted, report)
    with reading_bar(progress_bars(quiet, inputs, output), "converting", inputs):
        converted = _convert(merged, format, predicted, report, problems, files[0])
        count = write(converted, output, parquet=is_parquet_output)
    for note in report.notes(format.name if format else "") if report else []:
        print_message(f"depkit: note: {note}")
    if verbose and not quiet:
        print_message(f"{count:,} sentences")
    if problems.finish():
        raise typer.Exit(1)


@dataclass
class Problems:
    """The number of broken sentences so far.

    strict: whether the first broken sentence is an error that ends the command.
    """

    strict: bool
    count: int = 0

    def report(self, error: FormatError) -> None:
        """Count a broken sentence, and print the first MAX_REPORTED; raise the error if strict."""
        if self.strict:
            raise error
        self.count += 1
        if self.count <= MAX_REPORTED:
            message = " ".join(str(error).split())  # a sent_id may contain control characters
            print_message(f"depkit: error: {message}; the sentence is left out")

    def finish(self) -> bool:
        """Print the number of unreported sentences; return whether any sentence was broken."""
        if self.count > MAX_REPORTED:
            count = self.count - MAX_REPORTED
            print_message(
                f"depkit: error: {count:,} more broken sentences are left out; depkit check lists"
                " all errors"
            )
        return self.count > 0


def _format_name(path: str) -> str | None:
    """Return the format of a file by its name: "ptb" for Penn trees, None for an unknown ending."""
    format = PTB if is_bracketed(path) else format_from_filename(path)
    return format.name if format else None


def _sent_ids(path: str, numbers: Counter[str]) -> Iterator[str]:
    """Yield endless sent_ids that consist of a file's name and a number.

    numbers: the last number by file name; files of the same name continue it.
    """
    name = os.path.basename(path).removesuffix(".gz").removesuffix(".xz")
    stem = "" if path == "-" else os.path.splitext(name)[0] + "-"
    stem = "".join(c if c.isprintable() and c != " " else "_" for c in stem)
    while True:
        numbers[stem] += 1
        yield f"{stem}{numbers[stem]}"


def _read(
    path: str,
    source: str | None,
    encoding: str,
    problems: Problems,
    dependencies: Kind,
    sent_ids: Iterator[str],
) -> Iterator[Sentence]:
    """Read the sentences of a file; broken sentences carry their `problem`.

    Args:
        path: The file.
        source: The name of its format, or None if it is to be recognised.
        encoding: The text encoding of the file.
        problems: Where broken Penn trees are reported.
        dependencies: What Penn trees are converted to.
        sent_ids: The sent_ids for the sentences of converted Penn trees.
    """
    format_name = source or _format_name(path)
    if format_name == "ptb":
        yield from _read_penn_trees(path, encoding, problems, dependencies, sent_ids)
        return
    with open_bytes(path) as binary:
        if format_name is None and not is_parquet(binary):
            opening, binary = read_opening(binary, encoding)
            if "".join(opening).lstrip().startswith("("):
                binary = limit_stream(binary, encoding, path)
                lines = io.TextIOWrapper(binary, encoding, "surrogateescape", newline="\n")
                trees = path if is_rereadable(path) else lines
                yield from _read_penn_trees(trees, encoding, problems, dependencies, sent_ids)
                return
        format = NON_TABULAR.get(format_name or "")
        if format_name and not format:
            format = get_format(format_name)
        yield from read_stream(binary, format, encoding, path, strict=False)


def _read_penn_trees(
    source: PathLike | Iterable[str],
    encoding: str,
    problems: Problems,
    dependencies: Kind,
    sent_ids: Iterator[str],
) -> Iterator[Sentence]:
    """Convert Penn trees from a file or from lines to dependencies; see `_read`."""
    from depkit.convert import stanford, ud2, universal

    trees = read_trees(source, encoding, problems.strict, problems.report)
    if dependencies == "sd":
        yield from stanford.convert(trees)
    else:
        module = ud2 if dependencies == "ud2" else universal
        yield from module.convert(trees, sent_ids)


def _convert(
    sentences: Iterable[Sentence],
    format: Format | None,
    predicted: bool,
    report: ConversionReport | None,
    problems: Problems,
    file: str,
) -> Iterator[Sentence]:
    """Convert sentences; raise FormatError if there are none, so that no file is written.

    Args:
        sentences: The sentences.
        format: The format of the output; None keeps the format of each sentence.
        predicted: Whether the columns of predicted values of CoNLL-09 are written.
        report: Where omitted columns and lines are counted, None if there will be no notes.
        problems: Where broken sentences are reported.
        file: The file that the error names.
    """
    is_empty = True
    for sentence in sentences:
        try:
            converted = convert(sentence, format or sentence.format, predicted, report)
        except FormatError as error:
            problems.report(error)
        else:
            is_empty = False
            yield converted
    if is_empty:
        problems.finish()
        raise FormatError(
            file, 0, "", "there is no sentence to write; the output file is left unchanged"
        )
