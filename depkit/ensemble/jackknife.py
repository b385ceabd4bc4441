"""Jack-knifed tags: each fold of a treebank is tagged by a tagger trained on the other folds.

A parser that will read predicted tags must be trained on predicted tags. Gold tags are too good for
this, and so are the predictions of a tagger for its own training data.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.io import PathLike, write
from depkit.corpus.sentence import Sentence
from depkit.files.errors import DataError
from depkit.files.lock import lock_directory
from depkit.parsers.inputs.dataset import layout, split_context
from depkit.parsers.model_directory import load
from depkit.parsers.settings import ConfigError
from depkit.training import run
from depkit.training.data import read_sentences, resolve_auto, split_dev
from depkit.training.loop import train
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe
from depkit.training.sources import FeatureFile, load_sources

DEV_SHARE = 0.05  # share of a tagger's sentences that is used to select its best epoch


def jackknife_file(
    source: PathLike,
    output: PathLike,
    folds: int,
    directory: PathLike,
    recipe: str = "tagger",
    config: str = "",
    settings: Sequence[str] = (),
    features: str = "",
    seed: int = 1,
    resume: bool = False,
    device: str = "auto",
    threads: int | None = None,
    encoding: str = "utf-8",
    quiet: bool = False,
    verbose: bool = False,
    keep_state: bool = False,
) -> None:
    """Write a treebank with jack-knifed tags, as `depkit tag --folds` does.

    The accuracy of the tags is printed on stderr. Raises what `jackknife` and `run.reserve_output`
    raise.

    Args:
        source: Treebank file to read.
        output: File to write.
        folds: Number of folds.
        directory: Directory of the taggers.
        recipe: The taggers' recipe.
        config: As for `training.run.train`.
        settings: As for `training.run.train`.
        features: File of the sentences' ELMo vectors, if the taggers read them.
        seed: Random seed of the folds and taggers.
        resume: Resume an interrupted run.
        device: As for `training.run.train`.
        threads: As for `training.run.train`.
        encoding: Character encoding of both files.
        quiet: As for `training.run.train`.
        verbose: As for `training.run.train`.
        keep_state: As for `training.run.train`.
    """
    tagger_recipe = make_recipe(recipe, config or None, list(settings))
    used_device = run.set_up_device(device, threads)
    progress = Progress(Path(directory), quiet)
    with run.reserve_output(directory, resume, "fold") as work:
        sentences = read_sentences(tagger_recipe.parser, source, encoding)
        tagger_recipe = resolve_auto(tagger_recipe, sentences)
        if verbose:
            progress.say(run.describe_settings(tagger_recipe, used_device))
        tagged = jackknife(
            sentences, tagger_recipe, folds, work, used_device, seed, resume, features, quiet,
            keep_state,
        )  # fmt: skip
    write(tagged, output, encoding)
    scores = accuracies(sentences, tagged, tagger_recipe.parser.predicted_tags)
    summary = "  ".join(f"{name.upper()} {score:.2f}" for name, score in scores.items())
    num_words = sum(map(len, sentences))
    progress.say(f"tags that agree with {source}, in % of {num_words:,} words: {summary}")


def jackknife(
    sentences: Sequence[Sentence],
    recipe: Recipe,
    folds: int,
    directory: Path,
    device: torch.device,
    seed: int = 1,
    resume: bool = False,
    features: str = "",
    quiet: bool = True,
    keep_state: bool = False,
) -> list[Sentence]:
    """Return the sentences with predicted tags, each of a tagger trained on the other folds.

    Only the values of the predicted columns are replaced.

    Args:
        sentences: The treebank.
        recipe: Recipe of a tagger, or of a parser that predicts tags, without "auto" settings.
        folds: Number of folds.
        directory: Directory of the models, in subdirectories fold-01, fold-02 and so on.
        device: Device of the training.
        seed: Random seed of the folds and taggers.
        resume: Resume the training of these models.
        features: File of the sentences' ELMo vectors, if the taggers read them.
        quiet: Say nothing on stderr.
        keep_state: As for `loop.train`.

    Raises:
        DataError, ConfigError: If jack-knifing is impossible; nothing has been trained then.
        ResumeError, TrainingError: As `loop.train`.
    """
    _check_arguments(sentences, recipe, folds, features)
    fold_of = assign_folds(len(sentences), folds, seed)
    files = [FeatureFile(features, sentences)] if features else []
    say = Progress(directory, quiet).say
    recipe, sources = load_sources(recipe, sentences, [], device, files, None, say)
    sizes, _ = layout(sentences)
    tagged: dict[int, Sentence] = {}  # by the index of the sentence
    for fold in range(folds):
        fold_directory = directory / f"fold-{fold + 1:02}"
        fold_indices = np.flatnonzero(fold_of == fold).tolist()
        other_indices = np.flatnonzero(fold_of != fold).tolist()
        say(
            f"fold {fold + 1} of {folds}: a tagger trained on {len(other_indices)} sentences tags"
            f" the other {len(fold_indices)}"
        )
        # At least one sentence is needed to select the epoch. A share of 1 / n could give none, as
        # n * (1 / n) can be 0.99... in floating point.
        share = max(DEV_SHARE, 1.5 / len(other_indices))
        train_indices, dev_indices = split_dev(other_indices, share)
        progress = Progress(fold_directory, quiet, name=f"fold {fold + 1} of {folds}")
        with lock_directory(fold_directory), progress.bar():
            train(
                recipe, [sentences[i] for i in train_indices], [sentences[i] for i in dev_indices],
                fold_directory, device, seed, resume, progress=progress,
                sources=sources.select_sentences(sizes, train_indices, dev_indices),
                keep_state=keep_state,
            )  # fmt: skip
        tagger = load(fold_directory, str(device), threads=torch.get_num_threads())
        context = sources.select_sentences(sizes, fold_indices, []).train
        vectors = None if context is None else split_context(context, sizes[fold_indices])
        fold_tagged = tagger.tag([sentences[i] for i in fold_indices], context=vectors)
        tagged |= zip(fold_indices, fold_tagged, strict=True)
    return [tagged[i] for i in range(len(sentences))]


def assign_folds(count: int, folds: int, seed: int) -> np.ndarray:
    """Return the fold of each of `count` sentences, [count], 0 to folds - 1.

    The result depends only on the arguments: sentences are assigned to the folds in turn, in the
    order of the SHA-256 of "SEED INDEX". The folds' sizes differ by at most one.

    Args:
        count: Number of sentences.
        folds: Number of folds.
        seed: Random seed.
    """
    order = sorted(range(count), key=lambda i: sha256(f"{seed} {i}".encode()).digest())
    fold_of = np.empty(count, dtype=np.int64)
    fold_of[order] = np.arange(count) % folds
    return fold_of


def accuracies(
    gold: Sequence[Sentence], tagged: Sequence[Sentence], columns: Sequence[str]
) -> dict[str, float]:
    """Return the accuracy of each column, in percent of the words.

    Args:
        gold: Sentences with gold tags.
        tagged: The same sentences with predicted tags.
        columns: Names of the columns to compare.
    """
    num_words = sum(map(len, gold))
    pairs = list(zip(gold, tagged, strict=True))
    return {
        name: 100.0 * sum(_count_correct(*pair, name) for pair in pairs) / num_words
        for name in columns
    }


def _count_correct(gold: Sentence, tagged: Sentence, column: str) -> int:
    return sum(map(str.__eq__, getattr(gold, column), getattr(tagged, column)))


def _check_arguments(
    sentences: Sequence[Sentence], recipe: Recipe, folds: int, features: str
) -> None:
    """Raise DataError or ConfigError if jack-knifing is impossible."""
    # With fewer than 4 sentences, a tagger has none left to select its best epoch.
    min_sentences = max(folds, 4)
    if folds < 2:
        raise ConfigError(f"the number of folds is {folds}; it must be 2 or more")
    if len(sentences) < min_sentences:
        raise DataError(
            f"{sentences[0].file if sentences else 'train'}: {len(sentences)} sentences are too"
            f" few for {folds} folds, which need at least {min_sentences}"
        )
    if not recipe.parser.predicted_tags:
        raise ConfigError(
            "there is nothing to jack-knife: the recipe predicts no tags (scorer.predict), or"
            " the treebank has none in these columns"
        )
    if recipe.parser.inputs.tag:
        raise ConfigError("inputs.tag is set, but a tagger must not read gold tags; set it to 0")
    if recipe.parser.inputs.draft:
        raise ConfigError("taggers do not correct parses; set inputs.draft to 0")
    if features and recipe.parser.inputs.context.source != "elmo":
        raise ConfigError("--features requires inputs.context.source=elmo")
