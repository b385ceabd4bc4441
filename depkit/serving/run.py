"""A job whose models are loaded: reading, parsing or tagging, and writing in one process.

All files are annotated by the same models, unless the job leaves the choice to depkit. Then files
after each other that have the same model are annotated together.
"""

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, islice, tee
from pathlib import Path
from typing import Any, TextIO

from depkit.convert.dependencies import add_dependencies, convert_sentence
from depkit.convert.enhance.rules import enhance_sentence
from depkit.convert.formats import ConversionReport, convert
from depkit.corpus.blocks import Part
from depkit.corpus.formats import CONLLU, FORMATS, PARQUET, PTB, Format
from depkit.corpus.io import (
    PathLike,
    bracketed_trees,
    check_suffix,
    get_format,
    keeps_trees,
    write,
    write_trees,
)
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.sentence import Sentence
from depkit.corpus.text import ParagraphCounter
from depkit.files.storage import is_rereadable
from depkit.files.streams import is_written_directly, open_output
from depkit.parsers.base import Parser
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family
from depkit.parsers.loading import choose_common_engine, choose_engine, load
from depkit.parsers.model_directory import BUNDLED, CONFIG, find_model, read_ensemble
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.tokenizer_file import load_tokenizer
from depkit.serving.input_warnings import InputCheck
from depkit.serving.job import Job, Totals
from depkit.serving.plan import FilePlan, Plan

GC_THRESHOLD = 10_000  # number of new objects after which Python looks for reference cycles


Models = tuple[PathLike, ...]  # the names of models that annotate a file together


@dataclass
class Run:
    """A job with its loaded models, and the counts so far."""

    plan: Plan
    parsers: dict[Models, Parser]
    note: Callable[[str], None]
    totals: Totals = field(default_factory=Totals)
    report: ConversionReport = field(default_factory=ConversionReport)
    # Give warnings about the input of each parser
    input_checks: dict[Models, InputCheck] = field(default_factory=dict)
    checks_input: bool = True  # whether what is read next is checked
    # The files of bracketed trees that have been read, whose sentences `depkit convert` would make
    # from their new trees alone; those of text and tables keep their forms, comments and columns.
    bracketed_files: set[str] = field(default_factory=set)
    # Counts the words of a stream of sentences as they are read
    count_read: Callable[[Iterable[Sentence]], Iterable[Sentence]] = lambda sentences: sentences

    @staticmethod
    def start(plan: Plan, note: Callable[[str], None]) -> "Run":
        """Load the models; the errors are those of `annotate_files`."""
        # Thousands of sentences are created and freed. With its default threshold, Python would
        # spend as much time on looking for reference cycles as on creating them.
        gc.set_threshold(GC_THRESHOLD)
        distinct = dict.fromkeys(file.models for file in plan.files)
        run = Run(plan, {models: _load_parser(models, plan.job) for models in distinct}, note)
        for name in dict.fromkeys(chain.from_iterable(distinct)):
            if find_model(name).parent == BUNDLED and Path(name, CONFIG).is_file():
                note(f"the model {name} is the bundled one; ./{name} is the model in the directory")
        for models, parser in run.parsers.items():
            subject = "this combination of models" if len(models) > 1 else "this model"
            columns = {name for member in parser.members for name in member.vocabulary.columns}
            missing_columns = sorted(columns - set(parser.vocabulary.columns))
            if missing_columns and plan.job.action == "parse" and not plan.job.conventions:
                names = ", ".join(map(str.upper, missing_columns))
                note(f"{subject} does not predict {names}; only its members by themselves do")
            if run.has_probabilities and not parser.is_calibrated:
                note(f"{subject} is not calibrated; the probabilities may be too high or too low")
        return run

    @property
    def has_probabilities(self) -> bool:
        return bool(self.plan.job.options.get("probabilities"))

    @property
    def target_format(self) -> Format | None:
        """The CoNLL format to convert to; None for JSON, bracketed trees, or the input format."""
        if self.plan.format == PARQUET.name:
            return CONLLU
        return get_format(self.plan.format) if self.plan.format in FORMATS else None

    def finish(self) -> None:
        """Print notes on the conversion, and on the input if they have not been printed yet."""
        for check in self.input_checks.values():
            check.finish()
        for report_note in self.report.notes(self.target_format.name if self.target_format else ""):
            self.note(report_note)

    def write(
        self, file_indices: Sequence[int], path: PathLike | TextIO, part: Part | None = None
    ) -> None:
        """Annotate some of the job's files, or a part of one file, and write the result.

        path: a path or a text stream.
        """
        job, sentences = self.plan.job, self.annotate(file_indices, part)
        if self.plan.format == "json":
            start = part.start.character if part else 0
            lines = to_json_lines(sentences, self.has_probabilities, start)
            with self._open(path, "utf-8") as stream:
                stream.writelines(lines)
            return
        if self.plan.format == PARQUET.name:
            write(sentences, path, parquet=True)
            return
        first_sentence = list(islice(sentences, 1))
        # Treebanks are written in their encoding, and text in UTF-8. Sentences of raw text have no
        # line number.
        is_treebank = first_sentence and first_sentence[0].line
        encoding = job.encoding if is_treebank else "utf-8"
        sentences = chain(first_sentence, sentences)
        output = self.plan.files[file_indices[0]].output
        if self.plan.format == PTB.name or any(self._keeps_tree(x, output) for x in first_sentence):
            with self._open(path, encoding) as stream:
                write_trees(bracketed_trees(sentences), stream)
        else:
            for sentence in first_sentence if not job.format else ():
                check_suffix(sentence, output)
            with self._open(path, encoding) as stream:
                write(sentences, stream)

    @contextmanager
    def _open(self, path: PathLike | TextIO, encoding: str) -> Iterator[TextIO]:
        """Open the output, and write what is in its buffer whenever the input waits."""
        if not isinstance(path, str | os.PathLike):
            yield path
            return
        with open_output(path, encoding) as stream:
            if is_written_directly(path):
                for parser in self.parsers.values():
                    parser.on_wait = stream.flush
            yield stream

    def annotate(self, file_indices: Sequence[int], part: Part | None = None) -> Iterator[Sentence]:
        """Yield the annotated sentences of some of the job's files, or of a part of one file."""
        job, files = self.plan.job, self.plan.files
        first_format: Format | None = None
        numbers: Counter[str] = Counter()  # of the sentences converted from bracketed files
        # The numbers in the `# sent_id` of text continue from file to file.
        counter = ParagraphCounter(part.start.paragraph if part else 0)
        groups = groupby(file_indices, lambda index: files[index].models)
        annotated = (self._predict(list(indices), part, counter) for _, indices in groups)
        for sentence in chain.from_iterable(annotated):
            if job.dependencies and sentence.file in self.bracketed_files:
                sentence = convert_sentence(sentence, job.dependencies, numbers)
            elif job.dependencies:
                sentence = add_dependencies(sentence, job.dependencies)
            if self.target_format:
                sentence = convert(sentence, self.target_format, report=self.report)
            if job.conventions:
                sentence = enhance_sentence(sentence, job.conventions)
            output = files[file_indices[0]].output
            format = PTB if self._keeps_tree(sentence, output) else sentence.format
            first_format = first_format or format
            if first_format != format and self.plan.format not in ("json", PTB.name):
                raise ValueError(
                    f"{sentence.file} is in the format {format.name}, but the files before"
                    f" it are in {first_format.name}; choose one `format` for all, or write"
                    " them separately with `output_dir`"
                )
            self.totals.words += len(sentence)
            self.totals.sentences += 1
            yield sentence

    def _predict(
        self, file_indices: Sequence[int], part: Part | None, counter: ParagraphCounter
    ) -> Iterator[Sentence]:
        """Yield the sentences of files that have the same models, with the models' predictions."""
        job, files = self.plan.job, [self.plan.files[index] for index in file_indices]
        models = files[0].models
        parser = self.parsers[models]
        sentences, vectors = _read_sentences(parser, files, job.encoding, part, counter=counter)
        sentences = self.count_read(self._check_input(sentences, models))
        if job.dependencies:
            sentences = self._find_bracketed_files(sentences)
        if job.action == "parse":
            sentences = self._count_cleared(sentences, models)
        if self.has_probabilities and self.plan.format:
            # Only CoNLL-U has the column MISC, which contains the probabilities.
            sentences = (convert(sentence, CONLLU, report=self.report) for sentence in sentences)
        method = getattr(parser, job.action)
        if job.out_of_fold:
            # This imports the training modules, which takes time and is needed only here.
            from depkit.ensemble.out_of_fold import annotate_out_of_fold

            config = read_ensemble(find_model(models[0]))
            method = partial(annotate_out_of_fold, parser, config, job.action)
        # Pipes and terminals can be slow; the sentences of other files are read in large parts.
        stream = False if all(is_rereadable(file.path) for file in files) else None
        yield from method(
            sentences, job.tags, batch_tokens=job.batch_tokens, context=vectors, stream=stream,
            **job.options,
        )  # fmt: skip

    def _find_bracketed_files(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in sentences:
            if sentence.constituents is not None:
                self.bracketed_files.add(sentence.file)
            yield sentence

    def _keeps_tree(self, sentence: Sentence, output: str) -> bool:
        """Whether a tagged sentence is written as the bracketed tree that it was read from."""
        is_tagged = self.plan.job.action == "tag" and not self.plan.format
        return is_tagged and keeps_trees(sentence, output)

    def _check_input(self, sentences: Iterable[Sentence], models: Models) -> Iterable[Sentence]:
        if not self.checks_input:
            return sentences
        has_several_files = len(self.plan.files) > 1
        check = InputCheck(self.parsers[models], models[0], has_several_files, self.note)
        return self.input_checks.setdefault(models, check).watch(sentences)

    def _count_cleared(self, sentences: Iterable[Sentence], models: Models) -> Iterator[Sentence]:
        """Count what the new trees will remove from sentences that keep their format.

        A conversion to another format is noted by itself. Sentences of raw text, which have no line
        number, have nothing to remove.
        """
        job, replaced = self.plan.job, set(self.parsers[models].vocabulary.columns)
        if job.conventions:
            replaced.add("deps")
        keeps_trees = job.options.get("heads") == "keep"
        for sentence in sentences:
            if (
                sentence.line
                and self.plan.format in (None, PARQUET.name, sentence.format.name)
                and not (keeps_trees and sentence.is_annotated)
            ):
                self.report.count_cleared(sentence, replaced)
            yield sentence


def _load_parser(names: Models, job: Job) -> Parser:
    """Load models of a job; raise ConfigError for options that their family does not have."""
    engine = job.engine
    if len(names) > 1 and choose_engine(engine) == "auto":
        engine = choose_common_engine(names, job.device, job.precision, job.settings)
    models = [
        load(
            model,
            job.device,
            job.precision,
            threads=job.threads,
            settings=job.settings,
            engine=engine,
        )
        for model in names
    ]
    parser = combine(models, job.mean)
    if job.out_of_fold and (len(models) > 1 or not parser.members):
        raise ConfigError("`out_of_fold` needs an ensemble, trained by depkit ensemble")
    if job.mean and not parser.members:
        raise ConfigError("`mean` needs an ensemble or several models")
    # The whole ensemble annotates only dev sentences that were split off from the training files.
    if job.mean and job.out_of_fold and not read_ensemble(find_model(names[0])).jackknife.dev_split:
        raise ConfigError(
            "with `out_of_fold`, one parser annotates each sentence; leave `mean` out"
        )
    default_tokenizer = get_family(parser.config).default_tokenizer
    if name := job.tokenizer or ("" if parser.tokenizer else default_tokenizer):
        parser = replace(parser, tokenizer=load_tokenizer(name, parser.torch_device))
    parser.check_options(job.options)
    return parser


def _read_sentences(
    parser: Parser,
    files: Sequence[FilePlan],
    encoding: str,
    part: Part | None,
    *,
    counter: ParagraphCounter,
) -> tuple[Iterable[Sentence], Iterable[Any] | None]:
    """Return the sentences of some files, and their ELMo vectors or None.

    part: if there is only one file, the part of it to read; None for all of it.
    """
    readers = (
        parser.read(file.path, file.kind, encoding, counter=counter, part=part, stream=file.stream)
        for file in files
    )
    if not files[0].elmo:
        return chain.from_iterable(readers), None
    attached = (
        parser.attach_features(sentences, file.elmo)
        for sentences, file in zip(readers, files, strict=True)
    )
    pairs, pairs_again = tee(chain.from_iterable(attached))
    return (sentence for sentence, _ in pairs), (vectors for _, vectors in pairs_again)
