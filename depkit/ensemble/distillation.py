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
from depkit.parsers.graph.config import BiaffineConfig
from depkit.parsers.inputs.dataset import Dataset, layout
from depkit.parsers.inputs.parts import reads_dictionary
from depkit.parsers.inputs.tables import Table
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary, build_vocabulary
from depkit.parsers.model_directory import find_model, load
from depkit.parsers.settings import ConfigError
from depkit.training import run
from depkit.training.data import digest_of_sentences, read_data
from depkit.training.loop import Feed
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe

TREEBANK = "train"  # the rows of the treebank are written to train.safetensors


def distill(
    teachers: Sequence[PathLike],
    train: Sequence[PathLike],
    output: PathLike,
    text: Sequence[str] = (),
    dev: PathLike = "",
    dev_split: float | None = None,
    recipe: str = "small",
    config: str = "",
    settings: Sequence[str] = (),
    input: str | None = None,
    seed: int = 1,
    epochs: int | None = None,
    patience: int | None = None,
    max_time: str = "",
    resume: bool = False,
    device: str = "auto",
    batch_tokens: int | None = None,
    threads: int | None = None,
    encoding: str = "utf-8",
    quiet: bool = False,
    verbose: bool = False,
    keep_state: bool = False,
    punct: str = "",
) -> Path:
    """Train a student, as `depkit distill` does, and return its model directory.

    Raises what `training.run.train` raises, TeacherError if the student cannot learn from this kind
    of teacher, and CombinationError if several teachers cannot be combined.

    Args:
        teachers: Names or directories of one or more models. Several teach the mean of their
            probabilities.
        train: Treebank files to train the student on.
        output: Model directory to write.
        text: Files without gold trees. The teacher parses them for the student.
        dev: As for `training.run.train`.
        dev_split: As for `training.run.train`.
        recipe: The student's recipe.
        config: As for `training.run.train`.
        settings: As for `training.run.train`.
        input: Format of the text files, as for `Parser.read`.
        seed: As for `training.run.train`.
        epochs: As for `training.run.train`.
        patience: As for `training.run.train`.
        max_time: As for `training.run.train`.
        resume: Resume an interrupted run, with the targets that the teacher has computed so far.
        device: Device for teacher and student.
        batch_tokens: Maximum number of tokens in a batch of the teacher.
        threads: As for `training.run.train`.
        encoding: Character encoding of the treebank and text files.
        quiet: As for `training.run.train`.
        verbose: As for `training.run.train`.
        keep_state: As for `training.run.train`.
        punct: As for `training.run.train`.
    """
    limit = run.parse_duration(max_time)
    student_recipe = make_recipe(
        recipe, config or None, run.combine_settings(settings, epochs, patience, punct)
    )
    check_student(student_recipe)
    used_device = run.set_up_device(device, threads)
    with run.reserve_output(output, resume) as directory:
        data = read_data(student_recipe.parser, train, dev, dev_split, encoding)
        parser = check_teacher(
            combine([load(teacher, device, threads=threads) for teacher in teachers])
        )
        for file in text:  # report an empty file now, not after hours of work
            if not any(True for _ in parser.read(file, input, encoding)):
                raise DataError(f"{file}: the file contains no sentences")
        progress = Progress(directory, quiet)
        prepared = run.prepare(student_recipe, data, used_device, say=progress.say)
        if verbose:
            progress.say(run.describe_settings(prepared.recipe, used_device))
        remove_abandoned(directory / "text")
        limit -= run.provide_tokenizer(
            directory, prepared, used_device, seed, limit, progress.say, parser, teachers[0]
        )
        compute_rows = make_row_function(parser, batch_tokens)
        key = digest(*(digest_model(find_model(teacher)) for teacher in teachers))
        provenance = f"Distilled from {' and '.join(map(str, teachers))} on the treebank"
        treebank_rows = provide_treebank_rows(
            compute_rows, prepared.train, directory, key, progress
        )
        shards: list[Shard] = []
        if text:
            with reading_bar(progress.bars, "teacher", text):
                silver = annotate_text(
                    parser, compute_rows, text, directory / "text", key, input, encoding, progress
                )
            omitted = [f"{count:,} {reason}" for reason, count in silver.omitted.items()]
            size = f"{silver.num_sentences:,} sentences ({silver.num_words:,} words)"
            progress.say(f"text: {size}" + (f"; omitted: {', '.join(omitted)}" if omitted else ""))
            names = ", ".join(Path(file).name for file in text)
            ratio = prepared.recipe.distillation.text
            provenance += f" and on {size} of {names}; in each epoch, the student reads"
            provenance += f" {ratio:g} times as many words of this text as of the treebank"
            shards, key = silver.shards, key + silver.key
        distillation_data = make_distillation_data(
            prepared.recipe, prepared.train, treebank_rows, shards, parser,
            prepared.sources.lexicon,
        )  # fmt: skip
        del parser, compute_rows  # free the teacher's memory for the training of the student
        feed = make_feed(distillation_data, key, prepared.sources.transformer)
        run.train_model(
            prepared, directory, used_device, seed, resume, limit, progress,
            vocabulary=distillation_data.student, feed=feed, teacher=provenance,
            keep_state=keep_state,
        )  # fmt: skip
        run.report_model(directory, student_recipe.parser, progress.say)
        return directory


def check_student(recipe: Recipe) -> None:
    """Check that the recipe's model can be a student.

    Raises ConfigError if it does not predict dependency trees, or reads input that raw text does
    not have.
    """
    inputs, context = recipe.parser.inputs, recipe.parser.inputs.context
    if not isinstance(recipe.parser, BiaffineConfig):
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


def provide_treebank_rows(
    compute_rows: RowFunction,
    sentences: Sequence[Sentence],
    directory: Path,
    key: str,
    progress: Progress,
) -> np.ndarray:
    """Return the teacher's rows of a treebank's words, [words, width] uint16.

    Label distributions are those at the gold heads. The rows are computed only if a model
    directory does not contain them yet.

    Args:
        compute_rows: The teacher, see `make_row_function`.
        sentences: The treebank.
        directory: The student's model directory, where the rows are stored.
        key: Digest of the teacher.
        progress: Receives messages on the progress.

    Raises:
        DataError: If the stored rows are of another teacher or treebank.
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

    Args:
        recipe: The student's recipe.
        treebank: The treebank to train on.
        shards: The shards of text to train on.
        teacher: The vocabulary of the teacher.
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

    Args:
        rows: [words, width] uint16, see `soft_targets.pack`.
        columns: The columns whose distributions the rows contain, "head" first.
        teacher: The vocabulary of the teacher.
        student: The vocabulary of the student.
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


@dataclass(frozen=True)
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
        """Return an epoch's Dataset: the treebank, and sentences of text without gold targets.

        Args:
            epoch: Index of the epoch, from 0.
            transformer: The transformer that the student reads, if any.
        """
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
        soft = soft_arrays(soft_rows, self.row_columns)
        shared = dataset.shared | {WEIGHT: self.recipe.distillation.weight}
        return replace(dataset, words={**dataset.words, **soft}, shared=shared)


def _word_mask(dataset: Dataset) -> np.ndarray:
    """Return which entries are words, and not padding or w0, [total] bool."""
    mask = np.ones(len(dataset.form), dtype=bool)
    mask[0] = False
    mask[dataset.starts] = False
    return mask


def make_feed(data: DistillationData, key: str, transformer: Transformer | None = None) -> Feed:
    """Return what `loop.train` is to train on in each epoch.

    Args:
        data: The treebank and the text.
        key: Digest of the teacher and the text.
        transformer: The transformer that the student reads, if any.
    """
    if not data.shards:
        treebank = data.make_dataset(0, transformer)
        return Feed(lambda epoch: treebank.sizes, lambda epoch: treebank, key)
    return Feed(data.epoch_sizes, lambda epoch: data.make_dataset(epoch, transformer), key)


def make_distillation_data(
    recipe: Recipe, treebank: Sequence[Sentence], treebank_rows: np.ndarray,
    shards: Sequence[Shard], teacher: Parser, lexicon: Sequence[Sentence] = (),
) -> DistillationData:  # fmt: skip
    """Return the data that a student is trained on, with the student's vocabulary.

    Args:
        recipe: The student's recipe, without "auto" settings.
        treebank: The treebank.
        treebank_rows: The teacher's rows of the treebank's words, [words, width] uint16.
        shards: The shards of text.
        teacher: The teacher.
        lexicon: Further sentences for the student's lemma dictionary.
    """
    student = build_student_vocabulary(recipe, treebank, shards, teacher.vocabulary)
    shards = interleave(shards)
    return DistillationData(
        recipe, treebank, treebank_rows, shards, [shard.lengths() for shard in shards],
        row_columns(teacher), teacher.vocabulary,
        student.with_lemmas([*treebank, *lexicon], reads_dictionary(recipe.parser.inputs)),
    )  # fmt: skip
