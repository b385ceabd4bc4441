"""A model over files: what `depkit parse` and `depkit tag` do."""

import gc
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice, product, tee
from threading import Lock
from typing import Any, Literal

from depkit.convert.formats import Account, convert
from depkit.corpus.files import PathLike, named_format, open_output, watch_reading, write
from depkit.corpus.formats import CONLLU, Format, by_name
from depkit.corpus.json_lines import json_lines
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import Numbers
from depkit.drawing.progress import ProgressBars, size_of
from depkit.parsers.base import Parser
from depkit.parsers.config import Calibration, Mean
from depkit.parsers.ensembles import combine
from depkit.parsers.model_directory import load
from depkit.parsers.settings import ConfigError
from depkit.serving.doubts import FIRST, doubts

SELDOM = 10_000  # new objects until Python looks for garbage that refers to itself


@dataclass(frozen=True)
class Job:
    """Files, the models to go over them with, and how they are read and written.

    action: the parser's method; options: those of `Parser.options`, for `parse`. The others are
    the options of `depkit parse` of the same names.
    """

    files: Sequence[str]
    models: Sequence[PathLike]
    action: Literal["parse", "tag"] = "parse"
    tags: str = "missing"
    options: dict[str, Any] = field(default_factory=dict)
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


@dataclass
class Totals:
    """What a job has done so far; seconds: without the loading of models."""

    sentences: int = 0
    words: int = 0
    seconds: float = 0.0


def annotate_files(
    job: Job,
    note: Callable[[str], None] = lambda text: None,
    bars: ProgressBars | None = None,
) -> Totals:
    """Read the files, have a model parse or tag their sentences, write them.

    note: called with each message to the user, for example on what the output format cannot hold.
    bars: where to show progress; None for nowhere. Raises ConfigError for files that cannot be read
    and written as the job says, and for options that the model does not have; else what reading,
    parsing and writing raise.
    """
    targets = _targets(job)
    # Sentences come and go by the thousand; looking for reference cycles as often as Python does
    # by itself takes as long as making them.
    gc.set_threshold(SELDOM)
    parser = _load(job)
    probabilities = bool(job.options.get("probabilities"))
    calibration = getattr(parser.config, "calibration", None)
    if probabilities and calibration == Calibration():
        which = "these models together are" if len(job.models) > 1 else "this model is"
        note(f"{which} not calibrated; probabilities are as they come")
    target_format = named_format(job.format) if job.format and job.format != "json" else None
    account = Account()
    totals = Totals()
    first: list[Sentence] = []

    def keep_first(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            yield sentence
            if len(first) < FIRST:
                first.append(sentence)
                if len(first) == FIRST:
                    note_doubts()

    def note_doubts() -> None:
        for doubt in doubts(parser, first):
            note(doubt)

    def annotated(chosen: Sequence[int]) -> Iterator[Sentence]:
        kind: Format | None = None
        sentences, vectors = _read(parser, job, chosen)
        sentences = counted(keep_first(sentences))
        if probabilities and job.format:  # they stand in MISC, which CoNLL-U alone has
            sentences = (convert(each, CONLLU, account=account) for each in sentences)
        act = getattr(parser, job.action)
        for sentence in act(sentences, job.tags, job.batch_tokens, context=vectors, **job.options):
            if target_format:
                sentence = convert(sentence, target_format, account=account)
            kind = kind or sentence.format
            if kind != sentence.format and job.format != "json":
                raise ValueError(
                    f"{sentence.file} is {sentence.format.name}, what came before {kind.name};"
                    " choose one --format, or write into an --output-dir"
                )
            totals.words += len(sentence)
            totals.sentences += 1
            yield sentence

    def put(chosen: Sequence[int], target: PathLike) -> None:
        sentences = annotated(chosen)
        if job.format == "json":
            with open_output(target) as stream:
                stream.writelines(json_lines(sentences, probabilities))
            return
        some = list(islice(sentences, 1))
        read_as_is = some and some[0].line  # made of text, a sentence has no line, and is UTF-8
        write(chain(some, sentences), target, job.encoding if read_as_is else "utf-8")

    began = time.monotonic()
    with _shown(bars or ProgressBars(quiet=True), parser, job) as counted:
        if job.output_dir:
            for number, target in enumerate(targets):
                put([number], target)
        else:
            put(range(len(job.files)), job.output)
    totals.seconds = time.monotonic() - began
    if len(first) < FIRST:
        note_doubts()
    if target_format:
        for lost in account.notes(target_format.name):
            note(lost)
    return totals


@contextmanager
def _shown(
    bars: ProgressBars, parser: Parser, job: Job
) -> Iterator[Callable[[Iterable[Sentence]], Iterable[Sentence]]]:
    """Show in a progress bar how much of the job's input the model has parsed.

    Gives a function through which the sentences that are read must pass, to be counted. As files
    are read far ahead of the model, progress is the number of bytes read, times the share of the
    words read that the model has parsed.
    """
    if not bars.live:
        yield lambda sentences: sentences
        return
    began, total, lock = time.monotonic(), size_of(job.files), Lock()
    read, done = Totals(), Totals()
    bytes_read = 0

    def count_bytes(count: int) -> None:
        nonlocal bytes_read
        bytes_read += count

    def count_read(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            read.words += len(sentence)
            yield sentence

    def count_done(batch: Sequence[Sentence]) -> None:
        # A batch may be filled up with sentences that it has already.
        distinct = {id(sentence): sentence for sentence in batch}.values()
        with lock:  # batches are computed on several threads
            done.sentences += len(distinct)
            done.words += sum(map(len, distinct))
            if bars.due():
                speed = done.words / (time.monotonic() - began)
                text = f"{speed:,.0f} words/s  {done.sentences:,} sentences"
                show(bytes_read * done.words / read.words, total, text)

    with bars.bar("parsing" if job.action == "parse" else "tagging") as show:
        parser.computed = count_done
        with watch_reading(count_bytes):
            yield count_read


def _load(job: Job) -> Parser:
    """The model of a job. Raises ConfigError for options that its family has not."""
    models = [
        load(model, job.device, threads=job.threads, settings=job.settings) for model in job.models
    ]
    parser = combine(models, job.mean)
    for name in sorted(job.options.keys() - parser.options):
        raise ConfigError(f"models of the family {parser.config.family} have no {name}")
    return parser


def _read(
    parser: Parser, job: Job, chosen: Sequence[int]
) -> tuple[Iterable[Sentence], Iterable[Any] | None]:
    """The sentences of some of the files, and their ELMo vectors if there are files of them."""
    numbers = Numbers()
    read = (parser.read(job.files[i], job.input, job.encoding, numbers) for i in chosen)
    if not job.features:
        return chain.from_iterable(read), None
    pairs = zip(read, chosen, strict=True)
    attached = (parser.attach_features(each, job.features[i]) for each, i in pairs)
    one, other = tee(chain.from_iterable(attached))
    return (pair[0] for pair in one), (pair[1] for pair in other)


def _targets(job: Job) -> list[str]:
    """The files to write: one for each of those to read where there is an output directory."""
    if job.output_dir and job.output != "-":
        raise ConfigError("--output and --output-dir exclude each other")
    if job.files.count("-") > 1:
        raise ConfigError("only one file can be standard input")
    if job.output_dir and "-" in job.files:
        raise ConfigError("--output-dir wants files, not stdin")
    names = [output_name(file, job.format) for file in job.files]
    if job.output_dir and len(set(names)) < len(names):
        raise ConfigError("--output-dir would write two files under the same name")
    if job.features and len(job.features) != len(job.files):
        raise ConfigError(f"--features names {len(job.features)} files for {len(job.files)}")
    targets = [job.output]
    if job.output_dir:
        targets = [os.path.join(job.output_dir, name) for name in names]
    check_overwriting(job.files, targets)
    return targets


def check_overwriting(sources: Iterable[str], targets: Iterable[str]) -> None:
    """Raises ConfigError if a file to write is one of those to read."""
    both = product(filter(os.path.isfile, targets), filter(os.path.isfile, sources))
    if any(os.path.samefile(target, source) for target, source in both):
        raise ConfigError("a file to write is one of those to read")


def output_name(source: str, format: str | None) -> str:
    """The name of a file's parse: its own if it tells the format, else with another suffix."""
    name = os.path.basename(source)
    known = by_name(name)
    if known and format in (None, known.name):
        return name
    stem = re.sub(r"(\.(txt|conllu|conllx|conll09|conll2009))?(\.gz|\.xz)?$", "", name, flags=re.I)
    return f"{stem}.{format or 'conllu'}"
