"""Train a student model on the distributions that a teacher predicts for treebank and raw text.

This is knowledge distillation (Hinton et al. 2015), applied to parsers as by Kuncoro et al. (2016)
and by Anderson and Gómez-Rodríguez (2020).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path

import numpy as np

from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence
from depkit.ensemble.silver import (
    SHARD_WORDS,
    Shard,
    annotate_text,
    is_complete,
    split_into_chunks,
    write_rows,
)
from depkit.ensemble.teacher import (
    RowFunction,
    check_teacher,
    digest_model,
    make_row_function,
    row_columns,
)
from depkit.files.digest import digest
from depkit.files.errors import DataError
from depkit.files.lock import remove_abandoned
from depkit.files.progress import reading_bar
from depkit.parsers.base import Parser
from depkit.parsers.columns.soft_targets import WEIGHT, column_slices, soft_arrays
from depkit.parsers.ensembles import combine
from depkit.parsers.families import get_family
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.dataset import Dataset, layout
from depkit.parsers.inputs.tables import Table
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.treebank import treebank_name
from depkit.parsers.inputs.vocabulary import Vocabulary, build_vocabulary
from depkit.parsers.model_directory import find_model
from depkit.parsers.settings import ConfigError
from depkit.parsers.torch_loading import load_on_torch
from depkit.training import run
from depkit.training.data import digest_of_sentences, read_data
from depkit.training.job import BaseJob
from depkit.training.plan import Feed, Plan
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe
from depkit.training.start import complete_vocabulary

TREEBANK = "train"  # the rows of the treebank are written to train.safetensors


@dataclass(frozen=True, kw_only=True)
class DistillationJob(BaseJob):
    """The training of a student, as by `depkit distill`."""

    teachers: Sequence[PathLike]  # one or more models; several teach the mean of their outputs
    text: Sequence[str] = ()  # files without gold trees, which the teacher parses for the student
    input: str | None = None  # the format of the text files, as for `Parser.read`
    recipe: str = "small"  # the student's
    batch_tokens: int | None = None  # the maximum number of tokens in a batch of the teacher


def distill(job: DistillationJob) -> Path:
    """Train a student and return its model directory.

    A run that is resumed keeps the targets that the teacher has computed so far. Raises what
    `training.run.train` raises, TeacherError if the student cannot learn from this kind of teacher,
    and CombinationError if several teachers cannot be combined.
    """
    recipe = job.make_recipe()
    check_student(recipe)
    device = run.set_up_device(job.device, job.threads)
    with run.reserve_output(job.output, job.resume) as directory:
        data = read_data(recipe.parser, job)
        teacher = check_teacher(
            combine(
                [load_on_torch(model, job.device, threads=job.threads) for model in job.teachers]
            )
        )
        for file in job.text:  # report an empty file now, not after hours of work
            if not any(True for _ in teacher.read(file, job.input, job.encoding)):
                raise DataError(f"{file}: the file contains no sentences")
        progress = Progress(directory, job.quiet)
        plan = replace(
            run.prepare(recipe, data, directory, device, say=progress.say), seed=job.seed,
            resume=job.resume, max_time=job.seconds, keep_state=job.keep_state, progress=progress,
        )  # fmt: skip
        check_treebank(plan)
        if job.verbose:
            progress.say(run.describe_settings(plan.recipe, device))
        remove_abandoned(directory / "text")
        seconds = run.provide_tokenizer(plan, job.teachers[0], teacher, job.settings)
        plan = _learn_from(teacher, job, replace(plan, max_time=plan.max_time - seconds))
        del teacher  # free its memory for the training of the student
        run.train_model(plan)
        run.export_trained(directory, recipe.parser, plan.train, progress.say)
        run.report_model(directory, recipe.parser, progress.say)
        return directory


def _learn_from(teacher: GraphParser, job: DistillationJob, plan: Plan) -> Plan:
    """Return the plan with what the teacher predicts for the treebank and the text as its feed."""
    progress, directory = plan.reporter, plan.directory
    compute_rows = make_row_function(teacher, job.batch_tokens)
    key = digest(*(digest_model(find_model(model)) for model in job.teachers))
    provenance = f"Distilled from {' and '.join(map(str, job.teachers))} on the treebank"
    treebank_rows = provide_treebank_rows(
        compute_rows, plan.train, directory, key, progress=progress
    )
    shards: list[Shard] = []
    if job.text:
        with reading_bar(progress.bars, "teacher", job.text):
            silver = annotate_text(
                teacher, compute_rows, job.text, directory / "text", key=key,
                treebank=plan.recipe.tokenizer.treebank, input=job.input, encoding=job.encoding,
                progress=progress,
            )  # fmt: skip
        omitted = [f"{count:,} {reason}" for reason, count in silver.omitted.items()]
        size = f"{silver.num_sentences:,} sentences ({silver.num_words:,} words)"
        progress.say(f"text: {size}" + (f"; omitted: {', '.join(omitted)}" if omitted else ""))
        names = ", ".join(Path(file).name for file in job.text)
        ratio = plan.recipe.distillation.text
        provenance += f" and on {size} of {names}; in each epoch, the student reads"
        provenance += f" {ratio:g} times as many words of this text as of the treebank"
        shards, key = silver.shards, key + silver.key
    data = make_distillation_data(plan, treebank_rows, shards, teacher)
    feed = make_feed(data, key, plan.sources.transformer)
    return replace(plan, vocabulary=data.student, feed=feed, teacher=provenance)


def check_student(recipe: Recipe) -> None:
    """Check that the recipe's model can be a student.

    Raises ConfigError if it does not predict dependency trees, or reads input that raw text does
    not have.
    """
    inputs, context = recipe.parser.inputs, recipe.parser.inputs.context
    if not get_family(recipe.parser).can_distill:
        raise ConfigError(
            f"the recipe's family is {recipe.parser.family!r}, but a student learns dependency"
            " trees; name the recipe of a biaffine parser"
        )
    if inputs.tag:
        raise ConfigError(
            "inputs.tag is set, but raw text has no tags that a student could read; set it to 0"
        )
    if context.source != "none" and not context.tune:
        raise ConfigError(
            "a student cannot read frozen contextual vectors; set inputs.context.tune=true, or"
            " name a recipe without contextual vectors"
        )


def check_treebank(plan: Plan) -> None:
    """Raise ConfigError if the text is to be parsed as in a treebank that is not in train."""
    name, names = plan.recipe.tokenizer.treebank, set(map(treebank_name, plan.train))
    if name and name not in names:
        raise ConfigError(
            f"tokenizer.treebank={name!r} is not the name of a treebank of train; these are"
            f" {', '.join(sorted(names))}"
        )


def provide_treebank_rows(
    compute_rows: RowFunction,
    sentences: Sequence[Sentence],
    directory: Path,
    key: str,
    *,
    progress: Progress,
) -> np.ndarray:
    """Return the teacher's rows of a treebank's words, [words, width] uint16.

    Label distributions are those at the gold heads. The rows are computed only if the student's
    model directory does not contain them yet. key: digest of the teacher.

    Raises DataError if the stored rows are of another teacher or treebank.
    """
    shard = Shard(directory / TREEBANK)
    key += digest_of_sentences(sentences)
    if not is_complete(shard, key):
        began = time.monotonic()
        parts = []
        with progress.bars.bar("teacher") as show:
            for chunk in split_into_chunks(sentences, SHARD_WORDS):
                parts.append(compute_rows(chunk, True))
                num_words = sum(map(len, parts))
                show(num_words, sum(map(len, sentences)), f"{num_words:,} words of the treebank")
        rows = np.concatenate(parts)
        write_rows(shard, [len(sentence) for sentence in sentences], rows, key)
        speed = len(rows) / (time.monotonic() - began)
        progress.say(
            f"the teacher has parsed {len(rows):,} words of the treebank ({speed:,.0f} words/s)"
        )
    return shard.rows()


def build_student_vocabulary(
    recipe: Recipe, treebank: Sequence[Sentence], shards: Sequence[Shard], teacher: Vocabulary
) -> Vocabulary:
    """Build the vocabulary of a student.

    Words and characters are those of treebank and text. Deprels and tags are those of the treebank,
    followed by the teacher's remaining ones.
    """
    text = chain.from_iterable(shard.sentences() for shard in shards)
    family = get_family(recipe.parser)
    vocabulary = build_vocabulary(chain(treebank, text), recipe.parser.inputs, [], family.symbols)
    gold = family.vocabulary(treebank, recipe.parser)
    columns = {}
    for name, table in gold.columns.items():
        teacher_symbols = teacher.columns[name].symbols if name in teacher.columns else []
        columns[name] = Table(list(dict.fromkeys([*table.symbols, *teacher_symbols])))
    of_text = {name: vocabulary.tables[name] for name in ("words", "characters")}
    return Vocabulary(gold.tables | of_text, columns)


def translate_rows(
    rows: np.ndarray, columns: Sequence[str], teacher: Vocabulary, student: Vocabulary
) -> np.ndarray:
    """Return packed rows with the teacher's symbol indices replaced by the student's.

    A symbol that the student does not have gets the probability 0.

    rows: [words, width] uint16, see `teacher.pack`; columns: those whose distributions the rows
    contain, "head" first.
    """
    rows = rows.copy()
    for i, name in enumerate(columns):
        if name == "head" or name not in student.columns:
            continue
        student_index = student.columns[name].indices
        index_map = [student_index.get(symbol, -1) for symbol in teacher.columns[name].symbols]
        index_slice, probability_slice = column_slices(i)
        indices = np.array(index_map)[rows[:, index_slice]]
        rows[:, probability_slice][indices < 0] = 0
        rows[:, index_slice] = indices.clip(min=0)
    return rows


def select_sentences(lengths: np.ndarray, num_words: int, epoch: int) -> np.ndarray:
    """Return a mask of the sentences of a text that an epoch uses, [sentences] bool.

    Consecutive epochs use consecutive parts of the text, and start again at its beginning when
    they have reached its end. A sentence belongs to the epoch in whose part it begins. If the text
    has fewer words than a part, each epoch uses all of it.

    Args:
        lengths: Number of words of each sentence, [sentences].
        num_words: Number of words of text in an epoch.
        epoch: Index of the epoch, from 0.
    """
    starts = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    return (starts - epoch * num_words) % max(1, total) < num_words


def interleave(shards: Sequence[Shard]) -> list[Shard]:
    """Order shards so that a few consecutive ones are from all parts of the text.

    A text often consists of parts of different kinds. In this order, each epoch has all kinds.
    """
    golden_ratio = (math.sqrt(5) - 1) / 2
    order = sorted(range(len(shards)), key=lambda i: i * golden_ratio % 1)
    return [shards[i] for i in order]


@dataclass(frozen=True, kw_only=True)
class DistillationData:
    """The data that a student is trained on: a treebank with its rows, and shards of text."""

    recipe: Recipe  # of the student, without "auto" settings
    treebank: Sequence[Sentence]
    treebank_rows: np.ndarray  # the teacher's rows of the treebank's words, [words, width]
    shards: Sequence[Shard]
    lengths: Sequence[np.ndarray]  # for each shard, the number of words of its sentences
    row_columns: Sequence[str]  # the columns whose distributions the rows contain
    teacher: Vocabulary
    student: Vocabulary

    def select_sentences(self, epoch: int) -> list[np.ndarray]:
        """Return for each shard a mask of the sentences that an epoch uses, [sentences] bool."""
        if not self.shards:
            return []
        num_words = round(self.recipe.distillation.text * sum(map(len, self.treebank)))
        ends = np.cumsum([len(lengths) for lengths in self.lengths])[:-1]
        return np.split(select_sentences(np.concatenate(self.lengths), num_words, epoch), ends)

    def epoch_sizes(self, epoch: int) -> np.ndarray:
        """Return the sizes of the sentences in an epoch's Dataset; w0 is counted as a word."""
        masks = self.select_sentences(epoch)
        text = [lengths[mask] + 1 for lengths, mask in zip(self.lengths, masks, strict=True)]
        return np.concatenate((layout(self.treebank)[0], *text))

    def make_dataset(self, epoch: int, transformer: Transformer | None = None) -> Dataset:
        """Return an epoch's Dataset: the treebank, and sentences of text without gold targets."""
        sentences, rows = list(self.treebank), [self.treebank_rows]
        masks = self.select_sentences(epoch)
        for shard, lengths, mask in zip(self.shards, self.lengths, masks, strict=True):
            if mask.any():
                sentences += compress(shard.sentences(), mask)
                rows.append(shard.rows()[np.repeat(mask, lengths)])
        config = self.recipe.parser
        family = get_family(config)
        dataset = family.examples(
            sentences, self.student, config, transformer=transformer,
            num_gold=len(self.treebank),
        ).dataset  # fmt: skip
        word_rows = translate_rows(
            np.concatenate(rows), self.row_columns, self.teacher, self.student
        )
        soft_rows = np.zeros((len(dataset.form), word_rows.shape[1]), dtype=np.uint16)
        soft_rows[_word_mask(dataset)] = word_rows
        learned = ["head", "deprel", *self.recipe.distillation.columns]
        soft = soft_arrays(soft_rows, self.row_columns, learned)
        shared = dataset.shared | {WEIGHT: self.recipe.distillation.weight}
        return replace(dataset, words={**dataset.words, **soft}, shared=shared)


def _word_mask(dataset: Dataset) -> np.ndarray:
    """Return which entries are words, and not padding or w0, [total] bool."""
    mask = np.ones(len(dataset.form), dtype=bool)
    mask[0] = False
    mask[dataset.starts] = False
    return mask


def make_feed(data: DistillationData, key: str, transformer: Transformer | None = None) -> Feed:
    """Return what to train on in each epoch; key: digest of the teacher and the text."""
    if not data.shards:
        treebank = data.make_dataset(0, transformer)
        return Feed(lambda epoch: treebank.sizes, lambda epoch: treebank, key)
    return Feed(data.epoch_sizes, lambda epoch: data.make_dataset(epoch, transformer), key)


def make_distillation_data(
    plan: Plan, treebank_rows: np.ndarray, shards: Sequence[Shard], teacher: Parser
) -> DistillationData:
    """Return the data that a student is trained on, with the student's vocabulary.

    treebank_rows: the teacher's rows of the treebank's words, [words, width] uint16.
    """
    student = build_student_vocabulary(plan.recipe, plan.train, shards, teacher.vocabulary)
    shards = interleave(shards)
    return DistillationData(
        recipe=plan.recipe, treebank=plan.train, treebank_rows=treebank_rows, shards=shards,
        lengths=[shard.lengths() for shard in shards], row_columns=row_columns(teacher),
        teacher=teacher.vocabulary, student=complete_vocabulary(replace(plan, vocabulary=student)),
    )  # fmt: skip
