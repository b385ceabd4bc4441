"""Parsing and tagging of files, as `depkit parse` and `depkit tag` do."""

import gc
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, product, tee
from threading import Lock
from typing import Any, Literal

from depkit.convert.dependencies import add_dependencies
from depkit.convert.formats import ConversionReport, convert
from depkit.corpus.files import (
    PathLike,
    get_format,
    open_output,
    watch_reading,
    write,
    write_trees,
)
from depkit.corpus.formats import CONLLU, FORMATS, PTB, Format, format_from_filename, is_bracketed
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import SentenceCounter
from depkit.drawing.progress import ProgressBars, total_file_size
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration, Mean
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family
from depkit.parsers.model_directory import find_model, load, load_tokenizer, read_ensemble
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.ensemble import TaggerEnsemble
from depkit.serving.input_warnings import NUM_CHECKED, find_input_warnings

GC_THRESHOLD = 10_000  # number of new objects after which Python looks for reference cycles
# The names on the command line of the entries of `Job.options`.
OPTIONS = {
    "algorithm": "--decode", "root": "--root", "probabilities": "--prob", "passes": "--passes"
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """Files, the models to parse or tag them with, and how to read and write them.

    The fields without a comment are the options of `depkit parse` of the same names.
    """

    files: Sequence[str]
    models: Sequence[PathLike]
    action: Literal["parse", "tag"] = "parse"  # the method of `Parser` to call
    tags: str = "missing"
    options: dict[str, Any] = field(default_factory=dict)  # see `Parser.options`
    mean: Mean | None = None
    input: str | None = None
    format: str | None = None
    output: str = "-"
    output_dir: str = ""
    features: Sequence[str] = ()
    settings: Sequence[str] = ()
    device: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None
    encoding: str = "utf-8"
    dependencies: Literal["sd", "ud"] | None = None
    tokenizer: str = ""
    out_of_fold: bool = False


@dataclass
class Totals:
    """Numbers of sentences and words that a job has processed."""

    sentences: int = 0
    words: int = 0
    seconds: float = 0.0  # without the loading of models


def annotate_files(
    job: Job,
    note: Callable[[str], None] = lambda text: None,
    bars: ProgressBars | None = None,
) -> Totals:
    """Read files, parse or tag their sentences, and write the results.

    Args:
        job: The files, models and options.
        note: Called with each message to the user, for example on columns that the output format
            cannot represent.
        bars: Shows the progress.

    Raises:
        ConfigError: For options that exclude each other, output files that would overwrite the
            input, or options that the model does not have. Reading, parsing and writing may raise
            further exceptions.
    """
    # Thousands of sentences are created and freed. With its default threshold, Python would spend
    # as much time on looking for reference cycles as on creating them.
    gc.set_threshold(GC_THRESHOLD)
    _output_paths(job, job.format)  # Report mistakes before models are loaded, which takes time.
    parser = _load_parser(job)
    output_format = _choose_format(job, parser)
    paths = _output_paths(job, output_format)
    probabilities = bool(job.options.get("probabilities"))
    calibration = getattr(parser.config, "calibration", None)
    if probabilities and calibration == Calibration():  # The temperatures have not been changed.
        subject = "this combination of models" if len(job.models) > 1 else "this model"
        note(f"{subject} is not calibrated; the probabilities may be too high or too low")
    target_format = get_format(output_format) if output_format in FORMATS else None
    report = ConversionReport()
    totals = Totals()
    first_sentences: list[Sentence] = []

    def collect_first(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            yield sentence
            if len(first_sentences) < NUM_CHECKED:
                first_sentences.append(sentence)
                if len(first_sentences) == NUM_CHECKED:
                    note_input_warnings()

    def note_input_warnings() -> None:
        for warning in find_input_warnings(parser, first_sentences):
            note(warning)

    def annotate(file_indices: Sequence[int]) -> Iterator[Sentence]:
        first_format: Format | None = None
        sentences, vectors = _read_sentences(parser, job, file_indices)
        sentences = count_read(collect_first(sentences))
        if probabilities and output_format:  # Only CoNLL-U has the column MISC for them.
            sentences = (convert(sentence, CONLLU, report=report) for sentence in sentences)
        method = getattr(parser, job.action)
        if job.out_of_fold:
            # Other parses need not wait for the import of the modules that train parsers.
            from depkit.ensemble.out_of_fold import annotate_out_of_fold

            assert isinstance(parser, TaggerEnsemble)
            config = read_ensemble(find_model(job.models[0]))
            method = partial(annotate_out_of_fold, parser, config, job.action)
        annotated = method(sentences, job.tags, job.batch_tokens, context=vectors, **job.options)
        for sentence in annotated:
            if job.dependencies:
                sentence = add_dependencies(sentence, job.dependencies)
            if target_format:
                sentence = convert(sentence, target_format, report=report)
            first_format = first_format or sentence.format
            if first_format != sentence.format and output_format not in ("json", PTB.name):
                raise ValueError(
                    f"{sentence.file} is in the format {sentence.format.name}, but the files before"
                    f" it are in {first_format.name}; choose one --format for all, or write them"
                    " separately with --output-dir"
                )
            totals.words += len(sentence)
            totals.sentences += 1
            yield sentence

    def write_output(file_indices: Sequence[int], path: PathLike) -> None:
        sentences = annotate(file_indices)
        if output_format == "json":
            with open_output(path) as stream:
                stream.writelines(to_json_lines(sentences, probabilities))
            return
        first_sentence = list(islice(sentences, 1))
        # Treebanks are written in their encoding, and text in UTF-8. Sentences of raw text have no
        # line number.
        is_treebank = first_sentence and first_sentence[0].line
        encoding = job.encoding if is_treebank else "utf-8"
        sentences = chain(first_sentence, sentences)
        if output_format == PTB.name:
            trees = (sentence.constituents for sentence in sentences)
            write_trees((tree for tree in trees if tree), path, encoding)
        else:
            write(sentences, path, encoding)

    began = time.monotonic()
    with _show_progress(bars or ProgressBars(quiet=True), parser, job) as count_read:
        if job.output_dir:
            for i, path in enumerate(paths):
                write_output([i], path)
        else:
            write_output(range(len(job.files)), job.output)
    totals.seconds = time.monotonic() - began
    if len(first_sentences) < NUM_CHECKED:
        note_input_warnings()
    if target_format:
        for conversion_note in report.notes(target_format.name):
            note(conversion_note)
    return totals


@contextmanager
def _show_progress(
    bars: ProgressBars, parser: Parser, job: Job
) -> Iterator[Callable[[Iterable[Sentence]], Iterable[Sentence]]]:
    """Show in a progress bar how much of the job's input the model has parsed.

    The context manager returns a function that must be applied to the stream of input sentences, to
    count their words. As files are read far ahead of the model, the progress is the number of bytes
    that have been read, times the proportion of their words that have been parsed.

    Args:
        bars: Shows the progress bar.
        parser: The model.
        job: The job.
    """
    if not bars.is_interactive:
        yield lambda sentences: sentences
        return
    began, total, lock = time.monotonic(), total_file_size(job.files), Lock()
    read_totals, parsed_totals = Totals(), Totals()
    bytes_read = 0

    def count_bytes(count: int) -> None:
        nonlocal bytes_read
        bytes_read += count

    def count_read(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            read_totals.words += len(sentence)
            yield sentence

    def count_parsed(batch: Sequence[Sentence]) -> None:
        # Copies of a sentence may fill up a batch.
        distinct = {id(sentence): sentence for sentence in batch}.values()
        with lock:  # batches are computed on several threads
            parsed_totals.sentences += len(distinct)
            parsed_totals.words += sum(map(len, distinct))
            if bars.is_due():
                speed = parsed_totals.words / (time.monotonic() - began)
                text = f"{speed:,.0f} words/s  {parsed_totals.sentences:,} sentences"
                update_bar(bytes_read * parsed_totals.words / read_totals.words, total, text)

    with bars.bar("parsing" if job.action == "parse" else "tagging") as update_bar:
        parser.on_batch_computed = count_parsed
        with watch_reading(count_bytes):
            yield count_read


def _load_parser(job: Job) -> Parser:
    """Load the models of a job; raise ConfigError for options that their family does not have."""
    models = [
        load(model, job.device, threads=job.threads, settings=job.settings) for model in job.models
    ]
    parser = combine(models, job.mean)
    if job.out_of_fold and (len(models) > 1 or not isinstance(parser, TaggerEnsemble)):
        raise ConfigError("--out-of-fold needs an ensemble, trained by depkit ensemble")
    default_tokenizer = get_family(parser.config).default_tokenizer
    if name := job.tokenizer or ("" if parser.tokenizer else default_tokenizer):
        parser = replace(parser, tokenizer=load_tokenizer(name, parser.device))
    for name in sorted(job.options.keys() - parser.options):
        option = OPTIONS.get(name, name)
        raise ConfigError(f"models of the family {parser.config.family} do not support {option}")
    return parser


def _choose_format(job: Job, parser: Parser) -> str | None:
    """Return the format of the output, None for that of the input.

    Raises ConfigError if the parser does not predict what the format contains.
    """
    if job.action == "tag":
        if job.format == PTB.name:
            raise ConfigError("depkit tag predicts no trees; choose another --format")
        return job.format
    if not parser.has_constituents:
        option = "--dependencies" if job.dependencies else "--format ptb"
        if job.dependencies or job.format == PTB.name:
            raise ConfigError(f"the model predicts no constituency trees; leave {option} out")
        return job.format
    if job.dependencies:
        if job.format == PTB.name:
            raise ConfigError("--dependencies and --format ptb exclude each other")
        return job.format or CONLLU.name
    if job.format in FORMATS:
        raise ConfigError(
            f"the model predicts constituency trees; for --format {job.format}, choose a conversion"
            " to dependencies with --dependencies sd or --dependencies ud"
        )
    return job.format or PTB.name


def _read_sentences(
    parser: Parser, job: Job, file_indices: Sequence[int]
) -> tuple[Iterable[Sentence], Iterable[Any] | None]:
    """Return the sentences of some of a job's files, and their ELMo vectors or None.

    Args:
        parser: The model.
        job: The job. Its option `features` names the files with ELMo vectors, if there are any.
        file_indices: Indices into the job's files.
    """
    sentence_counter = SentenceCounter()
    files = (
        parser.read(job.files[i], job.input, job.encoding, sentence_counter) for i in file_indices
    )
    if not job.features:
        return chain.from_iterable(files), None
    attached = (
        parser.attach_features(sentences, job.features[i])
        for sentences, i in zip(files, file_indices, strict=True)
    )
    pairs, pairs_again = tee(chain.from_iterable(attached))
    return (sentence for sentence, _ in pairs), (vectors for _, vectors in pairs_again)


def _output_paths(job: Job, format: str | None) -> list[str]:
    """Return the paths to write: one per input file if there is an output directory.

    format: the format of the output, None for that of the input.

    Raises ConfigError if the job's files or options contradict each other.
    """
    if job.output_dir and job.output != "-":
        raise ConfigError("--output and --output-dir exclude each other; give only one of them")
    if job.files.count("-") > 1:
        raise ConfigError("only one file can be standard input; give - only once")
    if job.output_dir and job.out_of_fold:
        raise ConfigError("--out-of-fold writes one file; give --output instead of --output-dir")
    if job.output_dir and "-" in job.files:
        raise ConfigError("--output-dir cannot be used with standard input; name files")
    names = [output_name(file, format) for file in job.files]
    if job.output_dir and len(set(names)) < len(names):
        raise ConfigError(
            "two files in --output-dir would have the same name; rename one of the input files"
        )
    if job.features and len(job.features) != len(job.files):
        raise ConfigError(
            f"--features names {len(job.features)} files, but there are {len(job.files)} files to"
            " read; give --features once per file"
        )
    paths = [job.output]
    if job.output_dir:
        paths = [os.path.join(job.output_dir, name) for name in names]
    check_overwriting(job.files, paths)
    return paths


def check_overwriting(sources: Iterable[str], targets: Iterable[str]) -> None:
    """Raise ConfigError if a file to write is also a file to read."""
    pairs = product(filter(os.path.isfile, targets), filter(os.path.isfile, sources))
    for target, source in pairs:
        if os.path.samefile(target, source):
            raise ConfigError(f"{target} is one of the files to read; write to another file")


def output_name(source: str, format: str | None) -> str:
    """Return the name of the output file for an input file.

    If the suffix of the input file indicates the output format, the name is the same. Otherwise the
    suffix is replaced.

    Args:
        source: The path of the input file.
        format: The output format; None for the format of the input file, or CoNLL-U for text.
    """
    name = os.path.basename(source)
    source_format = PTB if is_bracketed(name) else format_from_filename(name)
    if source_format and format in (None, source_format.name):
        return name
    suffixes = r"(\.(txt|conllu|conllx|conll09|conll2009|mrg|ptb))?(\.gz|\.xz)?$"
    stem = re.sub(suffixes, "", name, flags=re.I)
    return f"{stem}.{format or 'conllu'}"
