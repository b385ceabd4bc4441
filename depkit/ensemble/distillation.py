"""Knowledge distillation (Hinton et al. 2015; of parsers Kuncoro et al. 2016, Anderson and
Gómez-Rodríguez 2020): a student learns a teacher's distributions, on the treebank and on text."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.errors import DataError
from depkit.corpus.files import PathLike
from depkit.corpus.sentence import Sentence
from depkit.drawing.progress import reading_bar
from depkit.ensemble.silver import SHARD_WORDS, Shard, annotate, is_there, windows, write_rows
from depkit.ensemble.teacher import (
    Teach,
    check_teacher,
    columns_of,
    digest_of_model,
    make_teach,
)
from depkit.parsers.base import Parser
from depkit.parsers.config import BiaffineConfig
from depkit.parsers.families import family_of
from depkit.parsers.inputs.batches import IGNORED, Dataset, layout
from depkit.parsers.inputs.soft_targets import SoftTargets, places
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Table, Vocabulary, build_vocabulary
from depkit.parsers.model_directory import find_model, load
from depkit.parsers.settings import ConfigError
from depkit.training import run
from depkit.training.checkpoint import sweep
from depkit.training.data import digest_of_sentences
from depkit.training.loop import Feed
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe

TREEBANK = "train"  # its rows are train.safetensors


def distill(
    teacher: PathLike,
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
) -> Path:
    """Train a student, as `depkit distill` does; returns its model directory.

    teacher: a model; text: files that it parses for the student; input: how they are read, as by
    `Parser.read`; batch_tokens: of the teacher. The rest is as for `training.run.train`. Raises as
    that, and TeacherError for a parser that cannot be learned from.
    """
    limit = run.parse_duration(max_time)
    directory = run.new_directory(output, resume)
    chosen = make_recipe(recipe, config or None, run.all_settings(settings, epochs, patience))
    check_student(chosen)
    used_device = run.set_up(device, threads)
    data = run.read_data(chosen.parser, train, dev, dev_split, encoding)
    parser = load(teacher, device, threads=threads)
    parser = check_teacher(parser)
    for file in text:
        if not any(True for _ in parser.read(file, input, encoding)):  # told before hours of work
            raise DataError(f"{file}: no sentences")
    progress = Progress(directory, quiet)
    prepared = run.prepare(chosen, data, used_device, say=progress.say)
    if verbose:
        progress.say(run.describe_settings(prepared.recipe, used_device))
    directory.mkdir(parents=True, exist_ok=True)
    sweep(directory)
    sweep(directory / "text")
    limit -= run.provide_tokenizer(
        directory, prepared, used_device, seed, limit, progress.say, parser, teacher
    )
    teach = make_teach(parser, batch_tokens)
    key = digest_of_model(find_model(teacher))
    told = f"Distilled from {teacher} on the treebank"
    own = treebank_rows(teach, prepared.train, directory, key, progress)
    shards: list[Shard] = []
    if text:
        with reading_bar(progress.bars, "teacher", text):
            silver = annotate(
                parser, teach, text, directory / "text", key, input, encoding, progress
            )
        left_out = [f"{count:,} {why}" for why, count in silver.left_out.items()]
        read = f"{silver.sentences:,} sentences ({silver.words:,} words)"
        progress.say(f"text: {read}" + (f"; left out: {', '.join(left_out)}" if left_out else ""))
        names = ", ".join(Path(file).name for file in text)
        share = prepared.recipe.distillation.text
        told += f" and on {read} of {names}, in an epoch {share:g} times as"
        told += " many words as of the treebank"
        shards, key = silver.shards, key + silver.key
    lesson = make_lesson(prepared.recipe, prepared.train, own, shards, parser)
    del parser, teach  # their memory is the student's now
    feed = make_feed(lesson, key, used_device, prepared.sources.transformer)
    run.train_one(
        prepared, directory, used_device, seed, resume, limit, progress,
        vocabulary=lesson.student, feed=feed, teacher=told, keep_state=keep_state,
    )  # fmt: skip
    run.say_where(directory, chosen.parser, progress.say)
    return directory


def check_student(recipe: Recipe) -> None:
    """Raises ConfigError for a student that reads what text has not, or learns no trees."""
    inputs, context = recipe.parser.inputs, recipe.parser.inputs.context
    if not isinstance(recipe.parser, BiaffineConfig):
        raise ConfigError(
            f"family is {recipe.parser.family!r}: a student learns dependency trees; name a"
            " biaffine parser's recipe"
        )
    if inputs.tag:
        raise ConfigError("inputs.tag is set, but text has no tags for a student to read")
    if context.source != "none" and not context.tune:
        raise ConfigError(
            "a student cannot read frozen contextual vectors; set inputs.context.tune=true, or"
            " name a recipe without"
        )


def treebank_rows(
    teach: Teach, sentences: Sequence[Sentence], directory: Path, key: str, progress: Progress
) -> np.ndarray:
    """The teacher's rows of a treebank's words, kept in a model directory; labels are those at
    gold heads. key: a digest of the teacher."""
    shard = Shard(directory / TREEBANK)
    key += digest_of_sentences(sentences)
    if not is_there(shard, key):
        began = time.monotonic()
        parts = []
        with progress.bars.bar("teacher") as show:
            for part in windows(sentences, SHARD_WORDS):
                parts.append(teach(part, True))
                read = sum(map(len, parts))
                show(read, sum(map(len, sentences)), f"{read:,} words of the treebank")
        rows = np.concatenate(parts)
        write_rows(shard, [len(sentence) for sentence in sentences], rows, key)
        speed = len(rows) / (time.monotonic() - began)
        progress.say(f"teacher: {len(rows):,} words of the treebank, {speed:,.0f} words/s")
    return shard.rows()


def student_vocabulary(
    recipe: Recipe, treebank: Sequence[Sentence], shards: Sequence[Shard], teacher: Vocabulary
) -> Vocabulary:
    """Words and characters of treebank and text; relations and tags of treebank and teacher."""
    text = chain.from_iterable(shard.sentences() for shard in shards)
    family = family_of(recipe.parser)
    read = build_vocabulary(chain(treebank, text), recipe.parser.inputs, [], family.symbols)
    gold = family.vocabulary(treebank, recipe.parser)
    columns = {}
    for name, table in gold.columns.items():
        others = teacher.columns[name].symbols if name in teacher.columns else []
        columns[name] = Table(list(dict.fromkeys([*table.symbols, *others])))
    return replace(read, columns=columns)


def translate(
    rows: np.ndarray, names: Sequence[str], teacher: Vocabulary, student: Vocabulary
) -> np.ndarray:
    """Packed rows with the numbers of a student's symbols; one that it has not gets nothing.

    rows: [words, width]; names: of their columns, "head" first.
    """
    rows = rows.copy()
    for i, name in enumerate(names):
        if name == "head" or name not in student.columns:
            continue
        known = student.columns[name].numbers
        own = [known.get(symbol, -1) for symbol in teacher.columns[name].symbols]
        numbers, probabilities = places(i)
        found = np.array(own)[rows[:, numbers]]
        rows[:, probabilities][found < 0] = 0
        rows[:, numbers] = found.clip(min=0)
    return rows


def slice_of(sizes: np.ndarray, words: int, epoch: int) -> np.ndarray:
    """Which sentences of a text an epoch has, [sentences] bool: those that begin among its words.

    sizes: of the sentences, in words; words: of an epoch; the next one has the following ones, and
    after the last come the first again. A text of fewer words is read whole.
    """
    starts = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    return (starts - epoch * words) % max(1, total) < words


@dataclass(frozen=True)
class Lesson:
    """What a student learns from: a treebank with its rows, and shards of text.

    own: the treebank's rows; names: of the rows' columns; teacher, student: the vocabularies;
    sizes: of each shard's sentences.
    """

    recipe: Recipe
    treebank: Sequence[Sentence]
    own: np.ndarray
    shards: Sequence[Shard]
    sizes: Sequence[np.ndarray]
    names: Sequence[str]
    teacher: Vocabulary
    student: Vocabulary

    def chosen(self, epoch: int) -> list[np.ndarray]:
        """Which sentences of each shard an epoch has, [sentences] bool each."""
        if not self.shards:
            return []
        words = round(self.recipe.distillation.text * sum(map(len, self.treebank)))
        ends = np.cumsum([len(each) for each in self.sizes])[:-1]
        return np.split(slice_of(np.concatenate(self.sizes), words, epoch), ends)

    def epoch_sizes(self, epoch: int) -> np.ndarray:
        """The sizes of an epoch's Dataset."""
        text = [each[some] + 1 for each, some in zip(self.sizes, self.chosen(epoch), strict=True)]
        return np.concatenate((layout(self.treebank)[0], *text))

    def data(
        self, epoch: int, device: torch.device, transformer: Transformer | None = None
    ) -> Dataset:
        """An epoch's Dataset: the treebank, and sentences of text without gold targets."""
        sentences, rows = list(self.treebank), [self.own]
        for shard, sizes, some in zip(self.shards, self.sizes, self.chosen(epoch), strict=True):
            if some.any():
                sentences += compress(shard.sentences(), some)
                rows.append(shard.rows()[np.repeat(some, sizes)])
        config = self.recipe.parser
        family = family_of(config)
        data = family.examples(
            sentences, self.student, config, device, transformer=transformer
        ).dataset
        text = 1 + len(self.own) + len(self.treebank)  # padding, words, a w0 a sentence
        for targets in data.targets.values():
            targets[text:] = IGNORED
        soft = translate(np.concatenate(rows), self.names, self.teacher, self.student)
        laid = np.zeros((len(data.form), soft.shape[1]), dtype=np.uint16)
        laid[_words_of(data)] = soft
        return replace(data, soft=SoftTargets(laid, self.names, self.recipe.distillation.weight))


def _words_of(data: Dataset) -> np.ndarray:
    """Which entries are words, [total] bool: not padding, not w0."""
    words = np.ones(len(data.form), dtype=bool)
    words[0] = False
    words[data.starts] = False
    return words


def make_feed(
    lesson: Lesson, key: str, device: torch.device, transformer: Transformer | None = None
) -> Feed:
    """What `loop.train` is to be fed with. key: a digest of the teacher and the text."""
    if not lesson.shards:
        treebank = lesson.data(0, device, transformer)
        return Feed(lambda epoch: treebank.sizes, lambda epoch: treebank, key)
    return Feed(lesson.epoch_sizes, lambda epoch: lesson.data(epoch, device, transformer), key)


def make_lesson(
    recipe: Recipe, treebank: Sequence[Sentence], own: np.ndarray, shards: Sequence[Shard],
    teacher: Parser,
) -> Lesson:  # fmt: skip
    """What a student learns from; the recipe is as `data.resolve_auto` leaves it."""
    return Lesson(
        recipe, treebank, own, shards, [shard.sizes() for shard in shards], columns_of(teacher),
        teacher.vocabulary, student_vocabulary(recipe, treebank, shards, teacher.vocabulary),
    )  # fmt: skip
