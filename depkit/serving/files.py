"""Parsing and tagging of files, as `depkit parse` and `depkit tag` do."""

import gc
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, product, tee
from threading import Lock
from typing import Any, Literal, TextIO, cast

from depkit.convert.dependencies import add_dependencies
from depkit.convert.formats import ConversionReport, convert
from depkit.corpus.blocks import Part
from depkit.corpus.files import (
    PathLike,
    get_format,
    open_output,
    watch_reading,
    write,
    write_trees,
)
from depkit.corpus.formats import (
    CONLLU,
    FORMATS,
    PARQUET,
    PTB,
    Format,
    format_from_filename,
    is_bracketed,
)
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.parquet import import_pyarrow
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import ParagraphCounter
from depkit.drawing.progress import ProgressBars, total_file_size
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration, Mean
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family
from depkit.parsers.model_directory import find_model, load, load_tokenizer, read_ensemble
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.ensemble import TaggerEnsemble
from depkit.serving.input_warnings import NUM_CHECKED, find_input_warnings
from depkit.serving.parts import find_kind, find_part, is_done, mark_done, parse_shard

GC_THRESHOLD = 10_000  # number of new objects after which Python looks for reference cycles
# The command-line option of each entry of `Job.options`.
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
    shard: str = ""
    workers: int = 1
    skip_done: bool = False


@dataclass
class Totals:
    """The numbers of sentences and words that a job has processed, and the time it took."""

    sentences: int = 0
    words: int = 0
    seconds: float = 0.0  # without loading the models, unless worker processes load them


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
    if not job.format and format_from_filename(job.output) is PARQUET:
        job = replace(job, format=PARQUET.name)
    if job.format == PARQUET.name:
        import_pyarrow()
    get_output_paths(job)  # Report errors before the models are loaded, which takes time.
    if job.workers > 1:
        from depkit.serving.workers import annotate_with_workers

        return annotate_with_workers(job, note, bars or ProgressBars(quiet=True))
    run = Run.start(job, note)
    began = time.monotonic()
    with _show_progress(bars or ProgressBars(quiet=True), run.parser, job) as count_read:
        run.count_read = count_read
        if job.output_dir:
            for index, path in enumerate(get_output_paths(job, run.output_format)):
                part = find_part(job, index)
                if not (job.skip_done and is_done(job, index, path)):
                    run.write([index], path, part)
                    mark_done(job, index, path)
        else:
            run.write(range(len(job.files)), job.output)
    run.totals.seconds = time.monotonic() - began
    run.finish()
    return run.totals


@dataclass
class Run:
    """A job with its loaded models, and the counts so far."""

    job: Job
    parser: Parser
    output_format: str | None  # None for that of the input
    note: Callable[[str], None]
    totals: Totals = field(default_factory=Totals)
    report: ConversionReport = field(default_factory=ConversionReport)
    first_sentences: list[Sentence] = field(default_factory=list)  # for warnings about the input
    # Counts the words of a stream of sentences as they are read
    count_read: Callable[[Iterable[Sentence]], Iterable[Sentence]] = lambda sentences: sentences

    @staticmethod
    def start(job: Job, note: Callable[[str], None]) -> "Run":
        """Load the models; the errors are those of `annotate_files`."""
        # Thousands of sentences are created and freed. With its default threshold, Python would
        # spend as much time on looking for reference cycles as on creating them.
        gc.set_threshold(GC_THRESHOLD)
        parser = _load_parser(job)
        run = Run(job, parser, _choose_format(job, parser), note)
        get_output_paths(job, run.output_format)
        calibration = getattr(parser.config, "calibration", None)
        if run.has_probabilities and calibration == Calibration():  # the default
            subject = "this combination of models" if len(job.models) > 1 else "this model"
            note(f"{subject} is not calibrated; the probabilities may be too high or too low")
        return run

    @property
    def has_probabilities(self) -> bool:
        """Whether probabilities are written."""
        return bool(self.job.options.get("probabilities"))

    @property
    def target_format(self) -> Format | None:
        """The CoNLL format to convert to; None for JSON, bracketed trees, or the input format."""
        if self.output_format == PARQUET.name:
            return CONLLU
        return get_format(self.output_format) if self.output_format in FORMATS else None

    def finish(self) -> None:
        """Print notes on the conversion, and on the input if they have not been printed yet."""
        if len(self.first_sentences) < NUM_CHECKED:
            self._note_input_warnings()
        if self.target_format:
            for conversion_note in self.report.notes(self.target_format.name):
                self.note(conversion_note)

    def write(
        self, file_indices: Sequence[int], path: PathLike | TextIO, part: Part | None = None
    ) -> None:
        """Annotate some of the job's files, or a part of one file, and write the result.

        path: a path or a text stream.
        """
        job, sentences = self.job, self.annotate(file_indices, part)
        if self.output_format == "json":
            start = part.start.character if part else 0
            lines = to_json_lines(sentences, self.has_probabilities, start)
            is_path = isinstance(path, str | os.PathLike)
            with open_output(cast(str, path)) if is_path else nullcontext(path) as stream:
                cast(TextIO, stream).writelines(lines)
            return
        if self.output_format == PARQUET.name:
            write(sentences, path, parquet=True)
            return
        first_sentence = list(islice(sentences, 1))
        # Treebanks are written in their encoding, and text in UTF-8. Sentences of raw text have no
        # line number.
        is_treebank = first_sentence and first_sentence[0].line
        encoding = job.encoding if is_treebank else "utf-8"
        sentences = chain(first_sentence, sentences)
        if self.output_format == PTB.name:
            trees = (sentence.constituents for sentence in sentences)
            write_trees((tree for tree in trees if tree), path, encoding)
        else:
            write(sentences, path, encoding)

    def annotate(self, file_indices: Sequence[int], part: Part | None = None) -> Iterator[Sentence]:
        """Yield the annotated sentences of some of the job's files, or of a part of one file."""
        job, parser = self.job, self.parser
        first_format: Format | None = None
        sentences, vectors = _read_sentences(parser, job, file_indices, part)
        sentences = self.count_read(self._collect_first(sentences))
        if self.has_probabilities and self.output_format:
            # Only CoNLL-U has the column MISC, which contains the probabilities.
            sentences = (convert(sentence, CONLLU, report=self.report) for sentence in sentences)
        method = getattr(parser, job.action)
        if job.out_of_fold:
            # This imports the training modules, which takes time and is needed only here.
            from depkit.ensemble.out_of_fold import annotate_out_of_fold

            assert isinstance(parser, TaggerEnsemble)
            config = read_ensemble(find_model(job.models[0]))
            method = partial(annotate_out_of_fold, parser, config, job.action)
        annotated = method(sentences, job.tags, job.batch_tokens, context=vectors, **job.options)
        for sentence in annotated:
            if job.dependencies:
                sentence = add_dependencies(sentence, job.dependencies)
            if self.target_format:
                sentence = convert(sentence, self.target_format, report=self.report)
            first_format = first_format or sentence.format
            if first_format != sentence.format and self.output_format not in ("json", PTB.name):
                raise ValueError(
                    f"{sentence.file} is in the format {sentence.format.name}, but the files before"
                    f" it are in {first_format.name}; choose one --format for all, or write them"
                    " separately with --output-dir"
                )
            self.totals.words += len(sentence)
            self.totals.sentences += 1
            yield sentence

    def _collect_first(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            yield sentence
            if len(self.first_sentences) < NUM_CHECKED:
                self.first_sentences.append(sentence)
                if len(self.first_sentences) == NUM_CHECKED:
                    self._note_input_warnings()

    def _note_input_warnings(self) -> None:
        for warning in find_input_warnings(self.parser, self.first_sentences):
            self.note(warning)


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
        # A batch may be padded with copies of a sentence.
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
    """Return the output format; None for the input format.

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
    if job.format in FORMATS or job.format == PARQUET.name:
        raise ConfigError(
            f"the model predicts constituency trees; for --format {job.format}, choose a conversion"
            " to dependencies with --dependencies sd or --dependencies ud"
        )
    return job.format or PTB.name


def _read_sentences(
    parser: Parser, job: Job, file_indices: Sequence[int], part: Part | None = None
) -> tuple[Iterable[Sentence], Iterable[Any] | None]:
    """Return the sentences of some of a job's files, and their ELMo vectors or None.

    Args:
        parser: The model.
        job: The job. Its option `features` names the files with ELMo vectors, if there are any.
        file_indices: Indices into the job's files.
        part: If there is only one file, the part of it to read; None for all of it.
    """
    counter = ParagraphCounter(part.start.paragraph if part else 0)
    kind = find_kind(job, file_indices[0]) if part else job.input
    files = (parser.read(job.files[i], kind, job.encoding, counter, part) for i in file_indices)
    if not job.features:
        return chain.from_iterable(files), None
    attached = (
        parser.attach_features(sentences, job.features[i])
        for sentences, i in zip(files, file_indices, strict=True)
    )
    pairs, pairs_again = tee(chain.from_iterable(attached))
    return (sentence for sentence, _ in pairs), (vectors for _, vectors in pairs_again)


def get_output_paths(job: Job, format: str | None = None) -> list[str]:
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
    if (job.shard or job.skip_done) and not job.output_dir:
        option = "--shard" if job.shard else "--skip-done"
        raise ConfigError(f"{option} needs --output-dir, where each input file has its own output")
    names = [output_name(file, format or job.format) for file in job.files]
    if job.shard:
        names = list(map(parse_shard(job.shard).name, names))
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
    suffixes = r"(\.(txt|conllu|conllx|conll09|conll2009|mrg|ptb|parquet))?(\.gz|\.xz)?$"
    stem = re.sub(suffixes, "", name, flags=re.I)
    return f"{stem}.{format or 'conllu'}"
