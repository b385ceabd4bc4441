"""Jack-knifed tags: each part of a treebank tagged by a tagger that has never seen it.

A parser that is to read predicted tags is trained on such ones, as gold tags are better than any
that it will get later, and so are those of a tagger on its own training data.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.errors import DataError
from depkit.corpus.files import PathLike, write
from depkit.corpus.sentence import Sentence
from depkit.parsers.inputs.batches import layout, sentence_vectors
from depkit.parsers.model_directory import load
from depkit.parsers.settings import ConfigError
from depkit.training import run
from depkit.training.data import resolve_auto, split
from depkit.training.loop import train
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe
from depkit.training.sources import FeatureFile, find_sources

DEV_SHARE = 0.05  # of a fold's training part: what chooses the tagger's epoch


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

    directory: for the taggers; else as `training.run.train`. Says how many tags are the treebank's
    own. Raises as `jackknife`.
    """
    chosen = make_recipe(recipe, config or None, list(settings))
    used_device = run.set_up(device, threads)
    sentences = run.read_sentences(chosen.parser, source, encoding)
    chosen = resolve_auto(chosen, sentences)
    progress = Progress(Path(directory), quiet)
    if verbose:
        progress.say(run.describe_settings(chosen, used_device))
    tagged = jackknife(
        sentences, chosen, folds, Path(directory), used_device, seed, resume, features, quiet,
        keep_state,
    )  # fmt: skip
    write(tagged, output, encoding)
    scores = accuracies(sentences, tagged, chosen.parser.predicted_tags)
    told = "  ".join(f"{name.upper()} {score:.2f}" for name, score in scores.items())
    progress.say(f"as in {source}, in % of {sum(map(len, sentences)):,} words: {told}")


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
    """The sentences, in order, with the tags of taggers that learned from the other folds.

    recipe: a tagger, or a parser that predicts tags, as `data.resolve_auto` leaves it for all the
    sentences. directory: where the models of the folds stand, in fold-01 and so on; resume: go on
    with those; keep_state: as for `loop.train`. features: a file of the sentences' ELMo vectors.
    What is predicted replaces all that stood in its columns; the rest stays.
    Raises DataError or ConfigError before anything is trained; else as `loop.train`.
    """
    _check(sentences, recipe, folds, features)
    fold_of = assign_folds(len(sentences), folds, seed)
    files = [FeatureFile(features, sentences)] if features else []
    say = Progress(directory, quiet).say
    recipe, sources = find_sources(recipe, sentences, [], device, files, None, say)
    sizes, _ = layout(sentences)
    found: dict[int, Sentence] = {}
    for number in range(folds):
        own_directory = directory / f"fold-{number + 1:02}"
        own_directory.mkdir(parents=True, exist_ok=True)
        own = np.flatnonzero(fold_of == number).tolist()
        others = np.flatnonzero(fold_of != number).tolist()
        say(
            f"fold {number + 1} of {folds}: {len(own)} sentences,"
            f" by a tagger of the {len(others)} others"
        )
        # most of the others to learn from; the rest, one at least, chooses the epoch
        share = max(DEV_SHARE, 1.5 / len(others))  # 1 / n of n can come out as 0.99...
        learnt, dev = split(others, share)
        progress = Progress(own_directory, quiet, name=f"fold {number + 1} of {folds}")
        with progress.bar():
            train(
                recipe, [sentences[i] for i in learnt], [sentences[i] for i in dev],
                own_directory, device, seed, resume, progress=progress,
                sources=sources.of_some(sizes, learnt, dev), keep_state=keep_state,
            )  # fmt: skip
        tagger = load(own_directory, str(device), threads=torch.get_num_threads())
        context = sources.of_some(sizes, own, []).train
        vectors = None if context is None else sentence_vectors(context, sizes[own])
        tagged = tagger.tag([sentences[i] for i in own], context=vectors)
        found |= zip(own, tagged, strict=True)
    return [found[i] for i in range(len(sentences))]


def assign_folds(count: int, folds: int, seed: int) -> np.ndarray:
    """The fold of each of so many sentences, [count], 0 to folds - 1.

    It depends on nothing but the numbers given: sentences are dealt out in the order of the
    SHA-256 of "SEED INDEX", so that the folds' sizes differ by one at most.
    """
    order = sorted(range(count), key=lambda i: sha256(f"{seed} {i}".encode()).digest())
    fold_of = np.empty(count, dtype=np.int64)
    fold_of[order] = np.arange(count) % folds
    return fold_of


def accuracies(
    gold: Sequence[Sentence], tagged: Sequence[Sentence], columns: Sequence[str]
) -> dict[str, float]:
    """The share of words, in percent, with the gold value, of each of some columns."""
    words = sum(map(len, gold))
    return {
        name: 100.0 * sum(_right(*pair, name) for pair in zip(gold, tagged, strict=True)) / words
        for name in columns
    }


def _right(gold: Sentence, tagged: Sentence, column: str) -> int:
    return sum(map(str.__eq__, getattr(gold, column), getattr(tagged, column)))


def _check(sentences: Sequence[Sentence], recipe: Recipe, folds: int, features: str) -> None:
    """Raises DataError or ConfigError for what cannot be jack-knifed."""
    least = max(folds, 4)  # with fewer, a fold's tagger has no sentence to choose its epoch by
    if folds < 2:
        raise ConfigError(f"{folds} folds; there are 2 or more")
    if len(sentences) < least:
        raise DataError(
            f"{sentences[0].file if sentences else 'train'}: {len(sentences)} sentences are too"
            f" few for {folds} folds, which need {least}"
        )
    if not recipe.parser.predicted_tags:
        raise ConfigError("nothing to jack-knife: scorer.predict is empty, or its columns are")
    if recipe.parser.inputs.tag:
        raise ConfigError("inputs.tag is set: a tagger that reads gold tags tells nothing")
    if features and recipe.parser.inputs.context.source != "elmo":
        raise ConfigError("--features is for inputs.context.source=elmo")
