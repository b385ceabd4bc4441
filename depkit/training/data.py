"""The data of a training: reading, dev split, settings that depend on it, checks, digests."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np

from depkit.corpus.io import PathLike
from depkit.corpus.pairing import Source, make_source, pair_sentences
from depkit.corpus.sentence import Sentence
from depkit.files.digest import digest
from depkit.files.errors import DataError
from depkit.parsers.config import ParserConfig
from depkit.parsers.families import get_family
from depkit.parsers.family import check_heads
from depkit.parsers.inputs.parts import used_parts
from depkit.parsers.settings import ConfigError
from depkit.training.distributed import batches_per_update
from depkit.training.job import BaseJob
from depkit.training.recipe import MIN_BATCH_TOKENS, Recipe, Training
from depkit.training.sources import VectorFile

T = TypeVar("T")
# The automatic number of epochs is EPOCHS for a treebank of at most EPOCHS_WORDS words. For larger
# treebanks, it falls with the square root of the size.
EPOCHS, EPOCHS_WORDS = 90, 200_000


@dataclass(frozen=True)
class Data:
    """The data of a training."""

    train: list[Sentence]
    dev: list[Sentence]  # for selecting the best epoch
    elmo: list[VectorFile]  # ELMo vectors of all sentences, if there are any


def read_data(
    config: ParserConfig, job: BaseJob, parses: Sequence[PathLike] = (), dev_parses: PathLike = ""
) -> Data:
    """Read the treebanks of a job as the parser's family does.

    parses: parses of the training files, for a parser that corrects parses; dev_parses: of dev.

    Raises:
        ConfigError: For arguments that cannot be combined.
        DataError: For a file without sentences.
        FormatError: For a file that `Family.read` cannot read, or a parse with other words.
    """
    train, dev, elmo = job.files, job.dev, job.elmo
    if bool(dev) == (job.dev_split is not None):
        raise ConfigError("name either `dev` or `dev_split`")
    if elmo and len(elmo) != len(train):
        raise ConfigError(
            f"`elmo` is given {len(elmo)} times for {len(train)} training files; give it once for"
            " each"
        )
    if (elmo or job.dev_elmo) and not (elmo and bool(dev) == bool(job.dev_elmo)):
        raise ConfigError(
            "ELMo vectors are needed either for all files or for none; give `elmo` for each"
            " training file and, if there is a `dev` file, `dev_elmo`"
        )
    _check_parses(
        config, len(train), has_dev=bool(dev), parses=len(parses), has_dev_parses=bool(dev_parses)
    )
    partial = get_family(config).learns_partial_trees(config)
    files = [read_sentences(config, path, job.encoding, partial=partial) for path in train]
    for index, path in enumerate(parses):
        files[index] = attach_drafts(files[index], path, job.encoding)
    sentences = list(chain.from_iterable(files))
    if job.dev_split is not None:
        sentences, dev_sentences = split_dev(sentences, job.dev_split)
        if partial:
            for sentence in dev_sentences:
                check_heads(sentence)
    else:
        dev_sentences = read_sentences(config, dev, job.encoding)
        if dev_parses:
            dev_sentences = attach_drafts(dev_sentences, dev_parses, job.encoding)
    vectors = [VectorFile(*pair) for pair in zip(elmo, files, strict=False)]
    vectors += [VectorFile(job.dev_elmo, dev_sentences)] if job.dev_elmo else []
    return Data(sentences, dev_sentences, vectors)


def _check_parses(
    config: ParserConfig, files: int, *, has_dev: bool, parses: int, has_dev_parses: bool
) -> None:
    """Raise ConfigError unless there are parses of all files, or of none if none are needed."""
    if not config.inputs.draft and (parses or has_dev_parses):
        raise ConfigError(
            "`parses` and `dev_parses` are for a parser that corrects parses; choose the recipe"
            " refine, or leave them out"
        )
    if config.inputs.draft and (parses != files or has_dev != has_dev_parses):
        raise ConfigError(
            "a parser that corrects parses (inputs.draft) is trained by depkit train, with `parses`"
            " for each training file, in the same order, and `dev_parses` if there is a `dev` file;"
            " depkit parse --out-of-fold makes parses of training files"
        )


def attach_drafts(
    sentences: Sequence[Sentence], parses: PathLike, encoding: str = "utf-8"
) -> list[Sentence]:
    """Return sentences with the parses of a file as their drafts.

    Raises FormatError if the file has other words.
    """
    advice = "the parses must be of the same words as the treebank"
    pairs = pair_sentences(Source("", sentences), [make_source(parses, encoding)], advice)
    return [sentence.with_draft(draft) for sentence, (draft,) in pairs]


def read_sentences(
    config: ParserConfig, path: PathLike, encoding: str = "utf-8", *, partial: bool = False
) -> list[Sentence]:
    """Read all sentences of a treebank, as the parser's family does; partial: see `Family.read`.

    Raises DataError if there are none, FormatError if the file cannot be read.
    """
    sentences = list(get_family(config).read(str(path), encoding, partial=partial))
    if not sentences:
        raise DataError(f"{path}: the file has no sentences")
    return sentences


def split_dev(sentences: Sequence[T], share: float) -> tuple[list[T], list[T]]:
    """Split sentences into a training and a dev part.

    share: the share of the dev sentences, which are evenly spread. Raises ConfigError if it is not
    between 0 and 1, DataError if a part would be empty.
    """
    if not 0 < share < 1:
        raise ConfigError(f"`dev_split` is {share}; it must be a share between 0 and 1")
    is_dev = np.floor(np.arange(1, len(sentences) + 1) * share) > np.floor(
        np.arange(len(sentences)) * share
    )
    dev = [sentence for sentence, in_dev in zip(sentences, is_dev, strict=True) if in_dev]
    train = [sentence for sentence, in_dev in zip(sentences, is_dev, strict=True) if not in_dev]
    if not dev or not train:
        raise DataError(
            f"`dev_split` {share} leaves no sentence for {'dev' if train else 'training'}; name a"
            " dev file with `dev` instead"
        )
    return train, dev


def resolve_auto(recipe: Recipe, train: Sequence[Sentence]) -> Recipe:
    """Resolve all settings of a recipe that depend on the training treebank.

    Raises DataError for a treebank in which there is nothing to learn.
    """
    family = get_family(recipe.parser)
    parser = family.resolve_auto(recipe.parser, train)
    training = _limit_batches(_choose_epochs(recipe.training, train), train)
    training = replace(
        training, select=family.select(training.select, parser),
        evalb=family.resolve_evalb(training.evalb, train),
    )  # fmt: skip
    return replace(recipe, parser=parser, training=training)


def _choose_epochs(training: Training, train: Sequence[Sentence]) -> Training:
    """Choose the number of epochs by the size of the treebank, if it is 0."""
    if training.epochs:
        return training
    words = sum(map(len, train))
    epochs = round(EPOCHS * math.sqrt(min(1, EPOCHS_WORDS / max(1, words))))
    return replace(training, epochs=max(1, epochs))


def _limit_batches(training: Training, train: Sequence[Sentence]) -> Training:
    """Make batches smaller if the treebank is too small for `training.updates`."""
    if not training.updates:
        return training
    tokens = sum(len(sentence) + 1 for sentence in train) * training.epochs
    max_size = tokens // (training.updates * batches_per_update(training.accumulate))
    size = min(training.batch_tokens, max(MIN_BATCH_TOKENS, max_size))
    return replace(training, batch_tokens=size)


def findings(config: ParserConfig, train: Sequence[Sentence], dev: Sequence[Sentence]) -> list[str]:
    """Return notes on oddities of the data that do not prevent training, with counts."""
    parts = (("train", train), ("dev", dev))
    lines = [f"{name} has only one sentence" for name, part in parts if len(part) == 1]
    for name, part in parts:
        if len(part) > 1 and max(map(len, part)) == 1:
            lines.append(
                f"{name}: every sentence has only one word, so there is no arc to learn; a blank"
                " line may only follow a whole sentence"
            )
        without = sum(
            head >= 0 and deprel == "_"
            for sentence in part
            for head, deprel in zip(sentence.head, sentence.deprel, strict=True)
        )
        if without:
            words = f"{without} word{'s have' if without > 1 else ' has'}"
            lines.append(f"{name}: {words} a HEAD but no DEPREL; _ is learned as a relation")
    locations = Counter((sentence.file, sentence.line) for sentence in train if sentence.line)
    for file in dict.fromkeys(file for (file, _), count in locations.items() if count > 1):
        lines.append(f"train: {file} is given more than once; its sentences count each time")
    train_forms = {tuple(sentence.form) for sentence in train}
    shared = sum(tuple(sentence.form) in train_forms for sentence in dev)
    if shared:
        subject = f"{shared} of {len(dev)} sentences are"
        lines.append(f"dev: {'every sentence is' if shared == len(dev) else subject} also in train")
    for input_part in used_parts(config.inputs):
        lines += input_part.findings(train, dev)
    return lines + get_family(config).findings(config, train, dev)


def digests(train: Sequence[Sentence], dev: Sequence[Sentence]) -> dict[str, str]:
    """Return digests of the treebanks, for `Origin.data`."""
    return {
        "other training sentences": digest_of_sentences(train),
        "other dev sentences": digest_of_sentences(dev),
    }


def digest_of_sentences(sentences: Sequence[Sentence]) -> str:
    """Return a digest of sentences with their trees."""
    parts = ((sentence, sentence.constituents, sentence.draft) for sentence in sentences)
    return digest(*("".join(str(part) for part in row if part is not None) for row in parts))
