"""`depkit convert`: treebanks from one format to another."""

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Literal

import typer

from depkit.cli.options import Encoding, Quiet, Verbose, check_inputs, progress_bars
from depkit.convert.formats import Account, convert, with_predicted
from depkit.convert.merge import merge, retag
from depkit.corpus.errors import FormatError
from depkit.corpus.files import (
    PathLike,
    named_format,
    open_bytes,
    read,
    read_opening,
    read_stream,
    write,
)
from depkit.corpus.formats import Format, by_name
from depkit.corpus.sentence import Sentence
from depkit.drawing.progress import reading_bar

SHOWN = 20  # broken sentences
PTB_SUFFIXES = (".mrg", ".ptb")


def convert_command(
    files: Annotated[
        list[str], typer.Argument(metavar="IN", help="Files, one after another; - for stdin.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write, - for stdout; in UTF-8."
        ),
    ] = "-",
    source: Annotated[
        Literal["ptb", "conllx", "conll09", "conllu"] | None,
        typer.Option("--from", help="The files' format.", show_default="by name, else content"),
    ] = None,
    target: Annotated[
        Literal["conllx", "conll09", "conllu"] | None,
        typer.Option("--to", help="The format to write.", show_default="by the output's name"),
    ] = None,
    dependencies: Annotated[
        Literal["sd", "ud"] | None,
        typer.Option(
            help="What Penn trees become: Stanford or Universal Dependencies.", show_default="sd"
        ),
    ] = None,
    tags: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A CoNLL file of the same words whose XPOS are to be IN's; Penn trees are"
            " converted by their own tags.",
        ),
    ] = "",
    predicted: Annotated[
        bool,
        typer.Option(
            "--predicted",
            help="CoNLL-09's P columns are meant: read (PLEMMA, ...) instead of LEMMA, POS, FEAT,"
            " HEAD and DEPREL, or written where another format becomes CoNLL-09.",
        ),
    ] = False,
    original: Annotated[
        str,
        typer.Option(
            "--merge", metavar="ORIGINAL", help="Put the trees of IN into the rows of this file."
        ),
    ] = "",
    merge_tags: Annotated[
        bool,
        typer.Option(
            "--merge-tags",
            help="With --merge, IN's lemmas, tags and features too, where it has any.",
        ),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first broken sentence.")
    ] = False,
    encoding: Encoding = "utf-8",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert treebanks: Penn trees to dependencies, and CoNLL formats to one another.

    UPOS is CoNLL-X's CPOSTAG; XPOS its POSTAG and CoNLL-09's POS; FORM, LEMMA, FEATS, HEAD and
    DEPREL are the same in all. CoNLL-U's comments, ranges, empty nodes, DEPS and MISC, CoNLL-X's
    PHEAD and PDEPREL, CoNLL-09's P columns, predicates and arguments have no place in another
    format: a note tells how many were left out. Within one format all is kept.

    With --dependencies ud each sentence gets a sent_id, made of the file's name and a number, and
    a text. Penn trees do not record the original spaces; the text has those of usual writing.

    --merge brings trees back to a file that became CoNLL-X and was parsed: depkit convert
    parsed.conllx --merge en.conllu -o parsed.conllu. The words must be the same; all else of
    ORIGINAL is kept, but that DEPS becomes _ where the tree is another.

    A broken sentence is reported and left out, and the exit status is 1. --encoding is IN's; the
    files of --merge and --tags, and what is written, are UTF-8.

    Example: depkit convert en.conllu -o en.conllx
    """
    kinds = {source or _named(path) for path in files}
    inputs = [*files, *filter(None, [original, tags])]
    if os.path.isfile(output):
        if any(os.path.samefile(path, output) for path in inputs if os.path.isfile(path)):
            raise typer.BadParameter("the file to write is one of those to read", param_hint="-o")
    if merge_tags and not original:
        raise typer.BadParameter("goes with --merge", param_hint="--merge-tags")
    if dependencies and not kinds & {"ptb", None}:
        raise typer.BadParameter("is for Penn trees", param_hint="--dependencies")
    penn = "conllu" if dependencies == "ud" else "conllx"
    format = named_format(target) if target else by_name(output)
    if not (format or original or kinds == {"ptb"}):
        raise typer.BadParameter(
            "choose conllx, conll09 or conllu, or an -o whose name tells the format",
            param_hint="--to",
        )
    check_inputs(inputs, quiet)

    problems = Problems(strict)
    numbers: Counter[str] = Counter()
    sentences = chain.from_iterable(
        _read(path, source, encoding, problems, penn, _sent_ids(path, numbers)) for path in files
    )
    account = None if quiet else Account()
    given: Iterator[Sentence] = sentences
    if predicted:
        rewrite = not format or format.repeats or bool(original or tags)
        given = (with_predicted(sentence, rewrite) for sentence in sentences)
    if tags:
        given = retag(given, read(tags, strict=False))
    if original:
        given = merge(read(original, strict=False), given, merge_tags, predicted, account)
    with reading_bar(progress_bars(quiet, inputs, output), "converting", inputs):
        count = write(_converted(given, format, predicted, account, problems, files[0]), output)
    for note in account.notes(format.name if format else "") if account else []:
        say(f"depkit: note: {note}")
    if verbose and not quiet:
        say(f"{count} sentences")
    if problems.finish():
        raise typer.Exit(1)


def say(message: str) -> None:
    """A line on stderr; that nobody reads it is no reason to stop."""
    with suppress(BrokenPipeError):
        typer.echo(message, err=True)


@dataclass
class Problems:
    """What is broken is reported, at most SHOWN times, and counted, or the end if `strict`."""

    strict: bool
    count: int = 0

    def report(self, error: FormatError) -> None:
        if self.strict:
            raise error
        self.count += 1
        if self.count <= SHOWN:
            message = " ".join(str(error).split())  # a sentence's id can hold control characters
            say(f"depkit: error: {message}; left out")

    def finish(self) -> bool:
        """Whether there were any; tells how many were not shown."""
        if self.count > SHOWN:
            say(f"depkit: error: {self.count - SHOWN} more sentences left out; see depkit check")
        return self.count > 0


def _named(path: str) -> str | None:
    """The format that a file's name tells, "ptb" for Penn trees."""
    name = path.lower().removesuffix(".gz").removesuffix(".xz")
    if name.endswith(PTB_SUFFIXES):
        return "ptb"
    format = by_name(path)
    return format.name if format else None


def _sent_ids(path: str, numbers: Counter[str]) -> Iterator[str]:
    """Endless sent_ids, a file's name and a number each.

    numbers: the last number by file name, so that files of the same name are numbered on.
    """
    name = os.path.basename(path).removesuffix(".gz").removesuffix(".xz")
    stem = "" if path == "-" else os.path.splitext(name)[0] + "-"
    stem = "".join(x if x.isprintable() and x != " " else "_" for x in stem)
    while True:
        numbers[stem] += 1
        yield f"{stem}{numbers[stem]}"


def _read(
    path: str,
    source: str | None,
    encoding: str,
    problems: Problems,
    penn: str,
    sent_ids: Iterator[str],
) -> Iterator[Sentence]:
    """The sentences of a file, broken ones with their `problem`; its format told if need be."""
    kind = source or _named(path)
    if kind == "ptb":
        yield from _penn(path, encoding, problems, penn, sent_ids)
        return
    with open_bytes(path) as binary:
        if kind is None:
            opening, binary = read_opening(binary, encoding)
            if "".join(opening).lstrip().startswith("("):
                lines = io.TextIOWrapper(binary, encoding, "surrogateescape", newline="\n")
                trees = path if os.path.isfile(path) else lines
                yield from _penn(trees, encoding, problems, penn, sent_ids)
                return
        format = named_format(kind) if kind else None
        yield from read_stream(binary, format, encoding, path, strict=False)


def _penn(
    source: PathLike | Iterable[str],
    encoding: str,
    problems: Problems,
    penn: str,
    sent_ids: Iterator[str],
) -> Iterator[Sentence]:
    """Penn trees, of a path or of lines: Stanford in CoNLL-X, or UD in CoNLL-U."""
    from depkit.convert import stanford, universal
    from depkit.corpus.brackets import read_trees

    trees = read_trees(source, encoding, problems.strict, problems.report)
    yield from universal.convert(trees, sent_ids) if penn == "conllu" else stanford.convert(trees)


def _converted(
    sentences: Iterable[Sentence],
    format: Format | None,
    predicted: bool,
    account: Account | None,
    problems: Problems,
    file: str,
) -> Iterator[Sentence]:
    """The sentences as they are written; FormatError if there is none, so that nothing is."""
    found = False
    for sentence in sentences:
        try:
            converted = convert(sentence, format or sentence.format, predicted, account)
        except FormatError as error:
            problems.report(error)
        else:
            found = True
            yield converted
    if not found:
        problems.finish()
        raise FormatError(file, 0, "", "no sentence to write; the output is left as it was")
