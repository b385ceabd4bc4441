"""Jack-knifed tags: each fold of a treebank is tagged by a tagger trained on the other folds.

A parser that will read predicted tags must be trained on predicted tags. Gold tags are too good for
this, and so are the predictions of a tagger for its own training data.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.io import PathLike, check_suffix, keeps_trees, write_as_read
from depkit.corpus.sentence import Sentence
from depkit.files.errors import DataError
from depkit.files.lock import lock_directory
from depkit.parsers.family import count_correct
from depkit.parsers.inputs.dataset import layout, split_context
from depkit.parsers.settings import ConfigError
from depkit.parsers.torch_loading import load_on_torch
from depkit.training import run
from depkit.training.data import read_sentences, resolve_auto
from depkit.training.job import BaseJob
from depkit.training.loop import train
from depkit.training.plan import Plan
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe
from depkit.training.sources import VectorFile, load_sources

DEV_FOLDS = 20  # a tagger's sentences are divided into folds, one of which selects its best epoch


@dataclass(frozen=True, kw_only=True)
class JackknifeJob(BaseJob):
    """The jack-knifing of a treebank's tags, as by `depkit jackknife`.

    `train` is the treebank, `output` the file to write. A part of each tagger's sentences is its
    dev data, so what a job says on dev is not used.
    """

    recipe: str = "tagger"
    folds: int
    work: PathLike  # the directory of the taggers, which `resume` resumes


def jackknife_file(job: JackknifeJob) -> None:
    """Write a treebank with jack-knifed tags; print their accuracy on stderr.

    Raises what `jackknife` and `run.reserve_output` raise.
    """
    recipe = job.make_recipe()
    device = run.set_up_device(job.device, job.threads)
    progress = Progress(Path(job.work), job.quiet)
    (source,) = job.files
    with run.reserve_output(job.work, job.resume, "fold"):
        sentences = read_sentences(recipe.parser, source, job.encoding)
        if not keeps_trees(sentences[0], job.output):
            check_suffix(sentences[0], job.output)
        recipe = resolve_auto(recipe, sentences)
        if job.verbose:
            progress.say(run.describe_settings(recipe, device))
        tagged = jackknife(sentences, recipe, job, device)
    write_as_read(tagged, job.output, job.encoding)
    scores = accuracies(sentences, tagged, recipe.parser.predicted_tags)
    summary = "  ".join(f"{name.upper()} {score:.2f}" for name, score in scores.items())
    num_words = sum(map(len, sentences))
    progress.say(f"tags that agree with {source}, in % of {num_words:,} words: {summary}")


def jackknife(
    sentences: Sequence[Sentence], recipe: Recipe, job: JackknifeJob, device: torch.device
) -> list[Sentence]:
    """Return the sentences with predicted tags, each of a tagger trained on the other folds.

    Only the values of the predicted columns are replaced. The taggers are written into
    subdirectories of `job.work`: fold-01, fold-02 and so on.

    Args:
        sentences: The treebank.
        recipe: Recipe of a tagger, or of a parser that predicts tags, without "auto" settings.
        job: The number of folds, the seed and other options.
        device: Device of the training.

    Raises:
        DataError, ConfigError: If jack-knifing is impossible; nothing has been trained then.
        ResumeError, TrainingError: As `loop.train`.
    """
    folds = job.folds
    _check_arguments(sentences, recipe, folds, bool(job.elmo))
    fold_of = assign_folds(sentences, folds, job.seed)
    others = [np.flatnonzero(fold_of != fold).tolist() for fold in range(folds)]
    splits = [_split_dev(sentences, indices, job.seed) for indices in others]
    for _, dev_indices in splits:
        run.check_dev_scores(recipe, [sentences[i] for i in dev_indices])
    files = [VectorFile(path, sentences) for path in job.elmo]
    say = Progress(Path(job.work), job.quiet).say
    recipe, sources = load_sources(recipe, sentences, [], device, files=files, say=say)
    sizes, _ = layout(sentences)
    tagged: dict[int, Sentence] = {}  # by the index of the sentence
    for fold in range(folds):
        directory = Path(job.work) / f"fold-{fold + 1:02}"
        fold_indices = np.flatnonzero(fold_of == fold).tolist()
        train_indices, dev_indices = splits[fold]
        say(
            f"fold {fold + 1} of {folds}: a tagger trained on {len(others[fold])} sentences tags"
            f" the other {len(fold_indices)}"
        )
        plan = Plan(
            recipe=recipe, train=[sentences[i] for i in train_indices],
            dev=[sentences[i] for i in dev_indices], directory=directory, device=device,
            sources=sources.select_sentences(sizes, train_indices, dev_indices), seed=job.seed,
            folds=folds, resume=job.resume, keep_state=job.keep_state,
            progress=Progress(directory, job.quiet, name=f"fold {fold + 1} of {folds}"),
        )  # fmt: skip
        with lock_directory(directory), plan.reporter.bar():
            train(plan)
        tagger = load_on_torch(directory, str(device), threads=torch.get_num_threads())
        context = sources.select_sentences(sizes, fold_indices, []).train
        vectors = None if context is None else split_context(context, sizes[fold_indices])
        fold_tagged = tagger.tag([sentences[i] for i in fold_indices], context=vectors)
        tagged |= zip(fold_indices, fold_tagged, strict=True)
    return [tagged[i] for i in range(len(sentences))]


def assign_folds(sentences: Sequence[Sentence], folds: int, seed: int) -> np.ndarray:
    """Return the fold of each sentence, [sentence], 0 to folds - 1.

    Sentences with the same words, whatever the spaces between them, are in the same fold, because a
    parser that was trained on one of them has seen them all. Each group of such sentences is
    assigned to the fold that has the fewest sentences so far: first the largest groups, and those
    of the same size in the order of the SHA-256 of "SEED WORDS". If no sentence occurs twice, the
    folds' sizes differ by at most one. The order of the sentences has no influence.

    Raises DataError if there are fewer different sentences than folds.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, words in enumerate(map(_joined_words, sentences)):
        groups[words].append(index)
    if len(groups) < folds:
        raise DataError(
            f"{sentences[0].file if sentences else 'train'}: too few different sentences"
            f" ({len(groups)}) for {folds} folds"
        )

    def position(words: str) -> tuple[int, bytes]:
        data = f"{seed} {words}".encode(errors="surrogatepass")
        return -len(groups[words]), sha256(data).digest()

    sizes = [0] * folds
    fold_of = np.empty(len(sentences), dtype=np.int64)
    for words in sorted(groups, key=position):
        fold = sizes.index(min(sizes))
        fold_of[groups[words]] = fold
        sizes[fold] += len(groups[words])
    return fold_of


def _joined_words(sentence: Sentence) -> str:
    return "".join("".join(sentence.form).split())


def _split_dev(
    sentences: Sequence[Sentence], indices: Sequence[int], seed: int
) -> tuple[list[int], list[int]]:
    """Divide the sentences with these indices into training and dev sentences.

    No dev sentence has the same words as a training sentence. Raises DataError if all have the same
    words.
    """
    chosen = [sentences[i] for i in indices]
    if (different := len(set(map(_joined_words, chosen)))) < 2:
        raise DataError(
            f"{chosen[0].file or 'train'}: all sentences outside of a fold have the same words, so"
            " that none is left to select the epoch of its tagger; use more folds"
        )
    folds = min(DEV_FOLDS, different)
    # Frequent sentences are assigned first, so the last fold has the fewest of them.
    is_dev = assign_folds(chosen, folds, seed) == folds - 1
    index = np.array(indices)
    return index[~is_dev].tolist(), index[is_dev].tolist()


def accuracies(
    gold: Sequence[Sentence], tagged: Sequence[Sentence], columns: Sequence[str]
) -> dict[str, float]:
    """Return the accuracy of each column, in percent of the words."""
    num_words = sum(map(len, gold))
    pairs = list(zip(gold, tagged, strict=True))
    return {
        name: 100.0 * sum(count_correct(*pair, name) for pair in pairs) / num_words
        for name in columns
    }


def _check_arguments(
    sentences: Sequence[Sentence], recipe: Recipe, folds: int, has_elmo: bool
) -> None:
    """Raise DataError or ConfigError if jack-knifing is impossible."""
    # With fewer than 4 sentences, a tagger has none left to select its best epoch.
    min_sentences = max(folds, 4)
    if folds < 2:
        raise ConfigError(f"the number of folds is {folds}; it must be 2 or more")
    if (count := len(set(map(_joined_words, sentences)))) < min_sentences:
        raise DataError(
            f"{sentences[0].file if sentences else 'train'}: too few different sentences ({count})"
            f" for {folds} folds, which need at least {min_sentences}"
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
    if has_elmo and recipe.parser.inputs.context.source != "elmo":
        raise ConfigError("`elmo` requires inputs.context.source=elmo")
