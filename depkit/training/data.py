"""The data of a training run: dev split, settings that depend on the data, checks, digests."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from depkit.corpus.digest import digest
from depkit.corpus.errors import DataError
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import ParserConfig
from depkit.parsers.families import get_family
from depkit.parsers.settings import ConfigError
from depkit.training.distributed import batches_per_update
from depkit.training.recipe import MIN_BATCH_TOKENS, Recipe, Training

T = TypeVar("T")
# The automatic number of epochs is EPOCHS for a treebank of at most EPOCHS_WORDS words. For larger
# treebanks, it falls with the square root of the size.
EPOCHS, EPOCHS_WORDS = 90, 200_000


def split_dev(sentences: Sequence[T], share: float) -> tuple[list[T], list[T]]:
    """Split sentences into a training and a dev part.

    share: the share of the dev sentences, which are evenly spread. Raises ConfigError if it is not
    between 0 and 1, DataError if a part would be empty.
    """
    if not 0 < share < 1:
        raise ConfigError(f"--dev-split is {share}; it must be a share between 0 and 1")
    is_dev = np.floor(np.arange(1, len(sentences) + 1) * share) > np.floor(
        np.arange(len(sentences)) * share
    )
    dev = [sentence for sentence, in_dev in zip(sentences, is_dev, strict=True) if in_dev]
    train = [sentence for sentence, in_dev in zip(sentences, is_dev, strict=True) if not in_dev]
    if not dev or not train:
        raise DataError(
            f"--dev-split {share} leaves no sentence for {'dev' if train else 'training'}; name a"
            " dev file with --dev instead"
        )
    return train, dev


def resolve_auto(recipe: Recipe, train: Sequence[Sentence]) -> Recipe:
    """Resolve all settings of a recipe that depend on the training treebank.

    Raises DataError for a treebank in which there is nothing to learn.
    """
    family = get_family(recipe.parser)
    training = _limit_batches(_choose_epochs(recipe.training, train), train)
    training = replace(training, select=training.select or family.metrics[0])
    return replace(recipe, parser=family.resolve_auto(recipe.parser, train), training=training)


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
    """Return notes on oddities of the data that do not prevent training, with counts.

    Args:
        config: The parser's configuration; its family adds further notes.
        train: The training sentences.
        dev: The dev sentences.
    """
    parts = (("train", train), ("dev", dev))
    lines = [f"{name} has only one sentence" for name, part in parts if len(part) == 1]
    train_forms = {tuple(sentence.form) for sentence in train}
    shared = sum(tuple(sentence.form) in train_forms for sentence in dev)
    if shared:
        subject = f"{shared} of {len(dev)} sentences are"
        lines.append(f"dev: {'every sentence is' if shared == len(dev) else subject} also in train")
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
