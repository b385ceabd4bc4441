"""Knowledge distillation (Hinton et al. 2015; of parsers Kuncoro et al. 2016, Anderson and
Gómez-Rodríguez 2020): a student learns a teacher's distributions, on the treebank and on text."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.sentence import Sentence
from depkit.ensemble.silver import SHARD_WORDS, Shard, is_there, windows, write_rows
from depkit.ensemble.teacher import Teach, columns_of
from depkit.parsers.base import Parser
from depkit.parsers.config import ConfigError
from depkit.parsers.inputs.batches import IGNORED, Dataset, encode, layout
from depkit.parsers.inputs.soft_targets import SoftTargets, places
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Table, Vocabulary, build_vocabulary
from depkit.training.data import digest_of
from depkit.training.loop import Feed
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe

TREEBANK = "train"  # its rows are train.safetensors


def check_student(recipe: Recipe) -> None:
    """Raises ConfigError for a student that reads what text has not, or learns no trees."""
    context = recipe.inputs.context
    if not recipe.scorer.tree:
        raise ConfigError("scorer.tree is false: a student learns trees; name a parser's recipe")
    if recipe.inputs.tag:
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
    key += digest_of((), sentences, [])
    if not is_there(shard, key):
        began = time.monotonic()
        rows = np.concatenate([teach(part, True) for part in windows(sentences, SHARD_WORDS)])
        write_rows(shard, [len(sentence) for sentence in sentences], rows, key)
        speed = len(rows) / (time.monotonic() - began)
        progress.say(f"teacher: {len(rows):,} words of the treebank, {speed:,.0f} words/s")
    return shard.rows()


def student_vocabulary(
    recipe: Recipe, treebank: Sequence[Sentence], shards: Sequence[Shard], teacher: Vocabulary
) -> Vocabulary:
    """Words and characters of treebank and text; relations and tags of treebank and teacher."""
    text = chain.from_iterable(shard.sentences() for shard in shards)
    words_alone = replace(recipe, scorer=replace(recipe.scorer, tree=False, predict=[]))
    read = build_vocabulary(chain(treebank, text), words_alone)
    gold = build_vocabulary(treebank, recipe)
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
        data = encode(sentences, self.student, self.recipe, device, transformer=transformer)
        text = 1 + len(self.own) + len(self.treebank)  # padding, words, a w0 a sentence
        for targets in (data.head, *data.targets.values()):
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
    """What a student learns from; the recipe is as `data.settle` leaves it."""
    return Lesson(
        recipe, treebank, own, shards, [shard.sizes() for shard in shards], columns_of(teacher),
        teacher.vocabulary, student_vocabulary(recipe, treebank, shards, teacher.vocabulary),
    )  # fmt: skip
