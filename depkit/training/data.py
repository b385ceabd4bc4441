"""Treebanks for training, and what is wrong with them."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.files import read
from depkit.corpus.sentence import Sentence
from depkit.parsers.config import ConfigError, Decoder
from depkit.training.recipe import LEAST_TOKENS, Recipe, TokenizerTraining, Training
from depkit.trees.shape import count_roots, has_cycle

T = TypeVar("T")


class DataError(ValueError):
    """A treebank that cannot be trained or scored on."""


def read_treebanks(
    paths: Sequence[str], encoding: str = "utf-8", trees: bool = True
) -> list[Sentence]:
    """All sentences of some files. Raises DataError for one without a sentence, FormatError at a
    word without HEAD unless `trees` is false: a tagger needs none."""
    sentences: list[Sentence] = []
    for path in paths:
        found = list(read(path, encoding=encoding))
        if not found:
            raise DataError(f"{path}: no sentences")
        for sentence in found:
            if trees and -1 in sentence.head:
                place = sentence.place(sentence.head.index(-1))
                raise FormatError(*place, "a word without HEAD; training and dev data need trees")
        sentences += found
    return sentences


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


def settle(recipe: Recipe, train: Sequence[Sentence]) -> Recipe:
    """The recipe with what is "auto" decided by the training trees, absent columns left out.

    Raises DataError for a tagger that is left with nothing to learn.
    """
    decoder = recipe.decoder
    if decoder.root == "auto":
        single = all(sentence.head.count(0) == 1 for sentence in train)
        decoder = replace(decoder, root="single" if single else "multi")
    if decoder.root_label == "auto":
        decoder = replace(decoder, root_label=_root_label(train))
    held = [
        name
        for name in recipe.scorer.predict
        if any(set(getattr(sentence, name)) != {"_"} for sentence in train)
    ]
    if not recipe.scorer.tree and not held:
        wanted = ", ".join(map(str.upper, recipe.scorer.predict))
        raise DataError(f"{train[0].file or 'train'}: no tags to learn, {wanted} are all _")
    scorer = replace(recipe.scorer, predict=held)
    return replace(recipe, decoder=decoder, scorer=scorer, training=_fitted(recipe.training, train))


def _fitted(training: Training, train: Sequence[Sentence]) -> Training:
    """The training with smaller batches where the treebank is too small for its `updates`."""
    if not training.updates:
        return training
    tokens = sum(len(sentence) + 1 for sentence in train) * training.epochs
    fitting = tokens // (training.updates * training.accumulate)
    size = min(training.batch_tokens, max(LEAST_TOKENS, fitting))
    return replace(training, batch_tokens=size)


def _root_label(train: Sequence[Sentence]) -> str:
    """The relation of all children of the root and of no other word, if there is one."""
    at_root: set[str] = set()
    elsewhere: set[str] = set()
    for sentence in train:
        for head, deprel in zip(sentence.head, sentence.deprel, strict=True):
            (elsewhere if head else at_root).add(deprel)
    return at_root.pop() if len(at_root) == 1 and not at_root & elsewhere else ""


def findings(
    train: Sequence[Sentence], dev: Sequence[Sentence], decoder: Decoder, trees: bool = True
) -> list[str]:
    """What is odd about the data, with counts, a line each; nothing here stops a training.

    trees: whether they are learnt; what a tagger's look like does not matter.
    """
    found = []
    for name, part in (("train", train), ("dev", dev)):
        if len(part) == 1:
            found.append(f"{name} has one sentence only")
        if not trees:
            continue
        heads = [np.array(sentence.head, dtype=np.int32) for sentence in part]
        cyclic = sum(map(has_cycle, heads))
        several = sum(count_roots(head) > 1 for head in heads)
        if cyclic:
            found.append(f"{name}: {cyclic} of {len(part)} trees have a cycle")
        if several:
            found.append(f"{name}: {several} of {len(part)} sentences have several roots")
        if several and decoder.root == "single":
            found.append(f"{name}: the parser is set to write a single root all the same")
    seen = {tuple(sentence.form) for sentence in train}
    again = sum(tuple(sentence.form) in seen for sentence in dev)
    if again:
        some = f"{again} of {len(dev)} sentences also stand"
        found.append(f"dev: {'every sentence also stands' if again == len(dev) else some} in train")
    labels = Counter(label for sentence in dev for label in sentence.deprel if trees)
    for label in {label for sentence in train for label in sentence.deprel}:
        labels.pop(label, None)
    if labels:
        named = ", ".join(f"{label} ({count})" for label, count in labels.most_common(5))
        relations = "relation" if len(labels) == 1 else "relations"
        found.append(f"dev: {len(labels)} {relations} never seen in train: {named}")
    return found


def fingerprint(recipe: Recipe, train: Sequence[Sentence], dev: Sequence[Sentence]) -> str:
    """A digest of all that a run's result depends on but its seed and what it starts from.

    What only says when to stop can change when a run goes on; but a linear schedule depends
    on the number of epochs.
    """
    training = replace(recipe.training, patience=1, save_every=0.0, storage="float32")
    if training.schedule != "linear":
        training = replace(training, epochs=1)
    return digest_of(
        replace(recipe, training=training, tokenizer=TokenizerTraining(), about=""), train, dev
    )


def digest_of(settings: object, train: Sequence[Sentence], dev: Sequence[Sentence]) -> str:
    """A digest of settings (by their repr) and data."""
    digest = hashlib.sha256(repr(settings).encode())
    for part in (train, dev):
        digest.update(b"\0")
        for sentence in part:
            digest.update(str(sentence).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]
