"""Conversion of files: Penn trees to dependencies, and treebanks from one format to another."""

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Literal

from depkit.convert.dependencies import Kind, convert_sentence, convert_trees, make_sent_ids
from depkit.convert.enhance.conventions import Conventions
from depkit.convert.enhance.rules import enhance_sentence
from depkit.convert.formats import ConversionReport, convert, with_global_columns, with_predicted
from depkit.convert.merge import merge, retag
from depkit.corpus.detection import begins_with_bracket
from depkit.corpus.enhanced import collapse, expand, read_graph, write_graph
from depkit.corpus.formats import (
    CONLLU,
    CONLLUP,
    INPUT_FORMATS,
    PARQUET,
    PTB,
    Format,
    format_from_filename,
    get_format,
)
from depkit.corpus.io import read, read_stream, read_trees, write
from depkit.corpus.parquet.files import is_parquet
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree
from depkit.files.errors import ArgumentError, FormatError
from depkit.files.limits import limit_stream
from depkit.files.storage import is_rereadable
from depkit.files.streams import open_bytes, open_output, read_opening

EmptyNodes = Literal["collapse", "expand"]
MAX_REPORTED = 20  # broken sentences that are reported one by one


@dataclass(frozen=True)
class Conversion:
    """Files, and what they are converted to.

    The fields without a comment are the options of `depkit convert` of the same names.
    """

    files: Sequence[str]
    _: KW_ONLY
    output: str = "-"
    source: str | None = None  # the format of the files; None to recognise it
    format: Format | None = None  # of the output; None for that of each sentence
    dependencies: Kind = "sd"
    tags: str = ""
    predicted: bool = False
    original: str = ""  # the option --merge
    merge_tags: bool = False
    conventions: Conventions | None = None  # how enhanced dependencies are added; None to add none
    empty_nodes: EmptyNodes | None = None
    encoding: str = "utf-8"

    @property
    def target(self) -> Format | None:
        """The format of the converted sentences; None for that of each sentence."""
        return CONLLU if self.format is PARQUET else self.format


def convert_files(
    job: Conversion, problems: "Problems", report: ConversionReport | None = None
) -> int:
    """Convert files and write the result; return the number of sentences.

    report: where omitted columns and lines are counted.

    Raises:
        FormatError: A file cannot be read, or there is no sentence to write.
        OSError: A file cannot be read or written.
    """
    converted = convert_sentences(job, problems, report)
    if job.format is PARQUET:
        return write(converted, job.output, parquet=True)
    # The format was chosen, whatever the suffix is; `write` would refuse another suffix.
    with open_output(job.output) as stream:
        return write(converted, stream)


def convert_sentences(
    job: Conversion,
    problems: "Problems",
    report: ConversionReport | None = None,
    sentences: Iterable[Sentence] | None = None,
) -> Iterator[Sentence]:
    """Yield the converted sentences of a job's files, or those of given sentences.

    The other arguments and the errors are those of `convert_files`.
    """
    numbers: Counter[str] = Counter()
    if sentences is None:
        sentences = chain.from_iterable(
            _read(job, path, problems, make_sent_ids(path, numbers)) for path in job.files
        )
    else:
        sentences = _convert_constituents(sentences, job, numbers)
    if report:
        sentences = report.observe(sentences)
    if job.predicted:
        is_rewritten = not job.target or job.target.has_argument_columns
        rewrite = is_rewritten or bool(job.original or job.tags)
        sentences = (with_predicted(sentence, rewrite) for sentence in sentences)
    if job.tags:
        sentences = retag(sentences, read(job.tags, strict=False), (job.files[0], job.tags))
    if job.original:
        original = read(job.original, strict=False)
        if report:
            original = report.observe(original)
        sentences = merge(
            original, sentences, names=(job.original, job.files[0]), tags=job.merge_tags,
            predicted=job.predicted, report=report,
        )  # fmt: skip
    return _change_format(sentences, job, report, problems)


@dataclass
class Problems:
    """The number of broken sentences so far.

    Args:
        strict: Whether the first broken sentence is an error that ends the conversion.
        say: Called with a message about a broken sentence.
    """

    strict: bool
    say: Callable[[str], None]
    count: int = 0

    def report(self, error: FormatError) -> None:
        """Count a broken sentence, and report the first MAX_REPORTED; raise the error if strict."""
        if self.strict:
            raise error
        self.count += 1
        if self.count <= MAX_REPORTED:
            message = " ".join(str(error).split())  # a sent_id may contain control characters
            self.say(f"{message}; the sentence is left out")

    def finish(self) -> bool:
        """Report the number of the other sentences; return whether any sentence was broken."""
        if self.count > MAX_REPORTED:
            count = self.count - MAX_REPORTED
            self.say(f"{count:,} more broken sentences are left out; depkit check lists all errors")
        return self.count > 0


def name_format(path: str) -> str | None:
    """Return the name of the format of a file by its suffix; None for an unknown suffix."""
    format = format_from_filename(path)
    return format.name if format else None


def _read(
    job: Conversion, path: str, problems: Problems, sent_ids: Iterator[str]
) -> Iterator[Sentence]:
    """Read the sentences of a file; broken sentences carry their `problem`.

    sent_ids: those of the sentences of converted Penn trees.
    """
    encoding, name = job.encoding, job.source or name_format(path)
    if name == PTB.name:
        yield from _convert_trees(
            read_trees(path, encoding, problems.strict, problems.report), job, sent_ids
        )
        return
    with open_bytes(path) as binary:
        if name is None and not is_parquet(binary):
            opening, binary = read_opening(binary, encoding)
            if begins_with_bracket("".join(opening)):
                binary = limit_stream(binary, encoding, path)
                lines = io.TextIOWrapper(binary, encoding, "surrogateescape", newline="\n")
                source = path if is_rereadable(path) else lines
                trees = read_trees(source, encoding, problems.strict, problems.report)
                yield from _convert_trees(trees, job, sent_ids)
                return
        format = get_format(name, INPUT_FORMATS) if name else None
        yield from read_stream(binary, format, encoding, path, strict=False)


def _convert_constituents(
    sentences: Iterable[Sentence], job: Conversion, numbers: Counter[str]
) -> Iterator[Sentence]:
    """Convert the sentences that have a constituency tree and no heads; yield others as they are.

    numbers: as for `make_sent_ids`.
    """
    for sentence in sentences:
        if sentence.constituents and not sentence.problem and max(sentence.head) < 0:
            _check_conventions(job)
            yield convert_sentence(sentence, job.dependencies, numbers)
        else:
            yield sentence


def _convert_trees(
    trees: Iterable[Tree], job: Conversion, sent_ids: Iterator[str]
) -> Iterator[Sentence]:
    _check_conventions(job)
    return convert_trees(trees, job.dependencies, sent_ids)


def _check_conventions(job: Conversion) -> None:
    if job.conventions and job.dependencies == "sd":
        message = "enhanced dependencies are added to UD only, which needs `dependencies` ud or ud2"
        raise ArgumentError("enhance", message)


def _change_format(
    sentences: Iterable[Sentence],
    job: Conversion,
    report: ConversionReport | None,
    problems: Problems,
) -> Iterator[Sentence]:
    """Convert sentences; raise FormatError if there are none, so that no file is written."""
    is_empty = True
    width = 0  # of the first sentence
    for sentence in sentences:
        try:
            converted = convert(sentence, job.target or sentence.format, job.predicted, report)
            converted = _change_graph(converted, job)
            if is_empty and converted.format == CONLLUP and sentence.format != CONLLUP:
                converted = with_global_columns(converted)
        except FormatError as error:
            problems.report(error)
        else:
            # In CoNLL-U Plus, the comment # global.columns at the beginning is for all sentences.
            columns = converted.lines[converted.rows[0]].count("\t") + 1
            width = width or columns
            if converted.format == CONLLUP and columns != width:
                message = f"the sentence has {columns} columns, but the first one has {width};"
                message = f"{message} convert files with different columns separately"
                raise FormatError(*sentence.location(), message)
            is_empty = False
            yield converted
    if is_empty:
        problems.finish()
        raise FormatError(
            job.files[0], 0, "", "there is no sentence to write; the output file is left unchanged"
        )


def _change_graph(sentence: Sentence, job: Conversion) -> Sentence:
    """Add enhanced dependencies, and collapse or make empty nodes, as the job asks for."""
    if job.conventions:
        sentence = enhance_sentence(sentence, job.conventions)
    if job.empty_nodes == "collapse":
        return write_graph(sentence, collapse(read_graph(sentence)))
    return expand(sentence) if job.empty_nodes == "expand" else sentence
