"""Treebanks for training, and what is wrong with them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from depkit.corpus.digest import digest
from depkit.corpus.errors import DataError
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import ParserConfig
from depkit.parsers.families import family_of
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import LEAST_TOKENS, Recipe, Training

T = TypeVar("T")


def split(sentences: Sequence[T], share: float) -> tuple[list[T], list[T]]:
    """A training and a dev part; the dev part is a share of the sentences, evenly spread."""
    if not 0 < share < 1:
        raise ConfigError(f"--dev-split is {share}; it is a share between 0 and 1")
    chosen = np.floor(np.arange(1, len(sentences) + 1) * share) > np.floor(
        np.arange(len(sentences)) * share
    )
    dev = [sentence for sentence, is_dev in zip(sentences, chosen, strict=True) if is_dev]
    train = [sentence for sentence, is_dev in zip(sentences, chosen, strict=True) if not is_dev]
    if not dev or not train:
        raise DataError(f"--dev-split {share} leaves no sentence on one side; name a --dev file")
    return train, dev


def resolve_auto(recipe: Recipe, train: Sequence[Sentence]) -> Recipe:
    """The recipe with everything decided that depends on the training treebank.

    Raises DataError for a treebank in which there is nothing to learn.
    """
    family = family_of(recipe.parser)
    training = _with_fitting_batches(recipe.training, train)
    training = replace(training, select=training.select or family.metrics[0])
    return replace(recipe, parser=family.resolve_auto(recipe.parser, train), training=training)


def _with_fitting_batches(training: Training, train: Sequence[Sentence]) -> Training:
    """The training with smaller batches where the treebank is too small for its `updates`."""
    if not training.updates:
        return training
    tokens = sum(len(sentence) + 1 for sentence in train) * training.epochs
    fitting = tokens // (training.updates * training.accumulate)
    size = min(training.batch_tokens, max(LEAST_TOKENS, fitting))
    return replace(training, batch_tokens=size)


def findings(config: ParserConfig, train: Sequence[Sentence], dev: Sequence[Sentence]) -> list[str]:
    """What is odd about the data, with counts, a line each; nothing here stops a training."""
    parts = (("train", train), ("dev", dev))
    found = [f"{name} has one sentence only" for name, part in parts if len(part) == 1]
    seen = {tuple(sentence.form) for sentence in train}
    again = sum(tuple(sentence.form) in seen for sentence in dev)
    if again:
        some = f"{again} of {len(dev)} sentences also stand"
        found.append(f"dev: {'every sentence also stands' if again == len(dev) else some} in train")
    return found + family_of(config).findings(config, train, dev)


def digests(train: Sequence[Sentence], dev: Sequence[Sentence]) -> dict[str, str]:
    """Digests of the treebanks, for `Origin.data`."""
    return {
        "other training sentences": digest_of_sentences(train),
        "other dev sentences": digest_of_sentences(dev),
    }


def digest_of_sentences(sentences: Sequence[Sentence]) -> str:
    """A digest of sentences with their trees."""
    return digest(*(f"{each}{each.constituents or ''}" for each in sentences))
