"""Annotation of training sentences by the members of an ensemble that were not trained on them.

A parser that will correct or read the output of other parsers must be trained on output with as
many errors as on new text. On the sentences of its own training data, a parser makes fewer errors.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from depkit.convert.formats import convert
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence
from depkit.ensemble.jackknife import assign_folds
from depkit.files.digest import digest, digest_forms
from depkit.parsers.base import Parser
from depkit.parsers.ensemble_config import EnsembleConfig, Jackknife
from depkit.parsers.model_directory import find_model, read_ensemble
from depkit.parsers.settings import ConfigError
from depkit.parsers.torch_loading import load_on_torch
from depkit.training.data import split_dev


def describe_folds(
    train: Sequence[Sentence], folds: int, seed: int, dev_split: float | None
) -> Jackknife:
    """Describe the division of training sentences into folds, for `annotate_out_of_fold`."""
    recorded = _digest_folds(train, assign_folds(train, folds, seed))
    return Jackknife(len(train), seed, recorded, dev_split or 0.0)


def _digest_folds(train: Sequence[Sentence], fold_of: np.ndarray) -> str:
    """Digest the forms and the folds of the training sentences."""
    return digest(digest_forms(sentence.form for sentence in train), str(fold_of.tolist()))


def annotate_out_of_fold(
    ensemble: Parser,
    config: EnsembleConfig,
    method: str,
    sentences: Iterable[Sentence],
    *arguments: Any,
    context: Iterable[np.ndarray] | None = None,
    **options: Any,
) -> Iterator[Sentence]:
    """Yield training sentences, each annotated by the member that was not trained on it.

    Dev sentences that were split off from the training files are annotated by the whole ensemble.
    All sentences are held in memory.

    config: the content of its ensemble.toml; method: "parse" or "tag", with its arguments;
    sentences: those of its training files, in the same order.

    Raises ConfigError if they are not, or if ensemble.toml does not record the folds; DataError as
    `assign_folds`.
    """
    sentences = list(sentences)
    vectors = None if context is None else list(context)
    annotator = find_annotators(sentences, config)
    annotated: dict[int, Sentence] = {}
    for number, parser in enumerate([*ensemble.members, ensemble]):
        indices = np.flatnonzero(annotator == number).tolist()
        parser = replace(parser, on_batch_computed=ensemble.on_batch_computed)
        results = getattr(parser, method)(
            [sentences[i] for i in indices], *arguments,
            context=None if vectors is None else [vectors[i] for i in indices], **options,
        )  # fmt: skip
        annotated |= zip(indices, results, strict=True)
    yield from (annotated[i] for i in range(len(sentences)))


def parse_out_of_fold(
    model: str, sentences: Iterable[Sentence], device: str = "auto", threads: int | None = None
) -> Iterator[Sentence]:
    """Parse and tag the training sentences of an ensemble, each by the member not trained on it.

    They are returned in CoNLL-U, with the probabilities of heads and labels if the parsers have
    probabilities. Raises ConfigError if the model is not an ensemble, and as
    `annotate_out_of_fold`.
    """
    ensemble = load_on_torch(model, device, threads=threads)
    if not ensemble.members:
        raise ConfigError(f"{model} is not an ensemble, trained by depkit ensemble")
    options: dict[str, Any] = (
        {"probabilities": "local"} if "probabilities" in ensemble.options else {}
    )
    converted = (convert(sentence, CONLLU) for sentence in sentences)
    config = read_ensemble(find_model(model))
    return annotate_out_of_fold(ensemble, config, "parse", converted, "predict", **options)


def find_annotators(sentences: Sequence[Sentence], config: EnsembleConfig) -> np.ndarray:
    """Return the index of the member that was not trained on each sentence, [sentences].

    Dev sentences get the index len(members), which stands for the whole ensemble. Raises the errors
    of `annotate_out_of_fold`.
    """
    folds, jackknife = len(config.members), config.jackknife
    if not jackknife.sentences:
        raise ConfigError(
            "the ensemble does not say which sentences its members were trained on; to record them,"
            " run the same depkit ensemble command again, which keeps the trained members"
        )
    annotator = np.full(len(sentences), folds)
    train: Sequence[int] = range(len(sentences))
    if jackknife.dev_split and len(sentences) > 1:
        train, _ = split_dev(train, jackknife.dev_split)
    train_sentences = [sentences[i] for i in train]
    if is_same := len(train) == jackknife.sentences:
        annotator[list(train)] = fold_of = assign_folds(train_sentences, folds, jackknife.seed)
        is_same = _digest_folds(train_sentences, fold_of) == jackknife.digest
    if not is_same:
        raise ConfigError(
            f"give the training files of the ensemble, in the same order; it was trained on"
            f" {jackknife.sentences} sentences, but the files contain {len(train)}"
            f"{' different ones' * (len(train) == jackknife.sentences)}"
            f"{' besides those of dev' * (len(train) < len(sentences))}"
        )
    return annotator
