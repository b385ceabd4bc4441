"""The members of an ensemble: each learns, by one of some recipes, from all folds but its own
(the n-fold jack-knife of Li et al. 2019, section 3.2)."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.files import atomic, atomic_directory
from depkit.corpus.sentence import Sentence
from depkit.ensemble.jackknife import assign_folds
from depkit.parsers.base import check_tags
from depkit.parsers.config import Calibration, ConfigError
from depkit.parsers.graph.calibration import calibrate_model
from depkit.parsers.graph.ensemble import check_combination
from depkit.parsers.inputs.batches import layout
from depkit.parsers.inputs.vocabulary import Vocabulary, build_vocabulary
from depkit.parsers.model_directory import TOKENIZER, load, read_config
from depkit.training.card import write_card
from depkit.training.checkpoint import LAST, ResumeError, State
from depkit.training.data import DataError, findings, read_treebanks, settle, split
from depkit.training.loop import train
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe
from depkit.training.sources import Files, Say, Sources, find_sources


@dataclass(frozen=True)
class Plan:
    """An ensemble to be trained: options of `depkit ensemble` of the same names.

    max_time: seconds, of each member's training. reuse: directories of other ensembles.
    """

    train: Sequence[str]
    dev: str
    dev_split: float | None
    directory: Path
    recipes: Sequence[str]
    folds: int
    config: str = ""
    settings: Sequence[str] = ()
    features: Sequence[str] = ()
    dev_features: str = ""
    reuse: Sequence[str] = ()
    seed: int = 1
    max_time: float = math.inf
    encoding: str = "utf-8"
    quiet: bool = False

    @property
    def names(self) -> list[str]:
        """The members' directories: fold-1-selfatt, fold-2-bilstm, ..., recipes taken in turn."""
        return [f"fold-{i + 1}-{Path(self.recipe(i)).stem}" for i in range(self.folds)]

    def recipe(self, member: int) -> str:
        """The name of a member's recipe."""
        return self.recipes[member % len(self.recipes)]


@dataclass(frozen=True)
class Kind:
    """What the members of one recipe have in common."""

    recipe: Recipe
    vocabulary: Vocabulary
    sources: Sources


@dataclass(frozen=True)
class Prepared:
    """Data read and recipes settled; kinds: by the recipe's name."""

    train: list[Sentence]
    dev: list[Sentence]
    kinds: dict[str, Kind]


def prepare(plan: Plan, device: torch.device, say: Say = lambda text: None) -> Prepared:
    """Read what the members learn from.

    say: is told what is odd about the data, and what is computed. Raises ConfigError, DataError,
    EnsembleError, FormatError or OSError for what cannot be trained, or not combined then.
    """
    if plan.folds < 2:
        raise ConfigError(f"{plan.folds} folds; there are 2 or more")
    recipes = {name: _recipe(plan, name) for name in plan.recipes[: plan.folds]}
    tree = all(recipe.scorer.tree for recipe in recipes.values())
    files = [read_treebanks([path], plan.encoding, tree) for path in plan.train]
    sentences = list(chain.from_iterable(files))
    if plan.dev_split is not None:
        sentences, dev = split(sentences, plan.dev_split)
    else:
        dev = read_treebanks([plan.dev], plan.encoding, tree)
    if len(sentences) < plan.folds:
        raise DataError(f"{len(sentences)} sentences are too few for {plan.folds} folds")
    features = [Files(*pair) for pair in zip(plan.features, files, strict=False)]
    features += [Files(plan.dev_features, dev)] if plan.dev_features else []
    kinds = {}
    for name, recipe in recipes.items():
        recipe = settle(recipe, sentences)
        for sentence in (*sentences, *dev):
            check_tags(sentence, recipe.inputs)
        recipe, sources = find_sources(recipe, sentences, dev, device, features, None, say)
        kinds[name] = Kind(recipe, build_vocabulary(sentences, recipe), sources)
    check_combination([kind.recipe for kind in kinds.values()])
    for finding in findings(sentences, dev, recipe.decoder, recipe.scorer.tree):
        say(f"depkit: note: {finding}")
    return Prepared(sentences, dev, kinds)


def _recipe(plan: Plan, name: str) -> Recipe:
    """A shipped recipe, or a TOML file over `bilstm`; plan.config and plan.settings over it."""
    if not name.endswith(".toml"):
        return make_recipe(name, plan.config or None, list(plan.settings))
    if plan.config:
        raise ConfigError(f"--config {plan.config} and the recipe {name}: name one file")
    return make_recipe(file=name, settings=list(plan.settings))


def train_member(
    plan: Plan, prepared: Prepared, number: int, device: torch.device, labelled: bool = False
) -> State:
    """Train a member, or go on where it stopped; one that is through is left alone.

    The tokenizer stands in the ensemble's directory already. labelled: its lines say whose they
    are. Raises as `loop.train`; ResumeError where what is there was made otherwise.
    """
    name = plan.names[number]
    kind = prepared.kinds[plan.recipe(number)]
    directory = plan.directory / name
    progress = Progress(directory, plan.quiet, label=f"{name}: " if labelled else "")
    found = None if (directory / LAST).exists() else _elsewhere(plan.reuse, name)
    if found:
        progress.say(f"{name}: taken from {found.parent}")
        _copy(found, directory)
    directory.mkdir(parents=True, exist_ok=True)
    if (plan.directory / TOKENIZER).exists():
        with atomic(directory / TOKENIZER) as beside:
            shutil.copy(plan.directory / TOKENIZER, beside)
    fold_of = assign_folds(len(prepared.train), plan.folds, plan.seed)
    chosen = np.flatnonzero(fold_of != number).tolist()
    sizes, _ = layout(prepared.train)
    sources = replace(kind.sources.of_some(sizes, chosen, []), dev=kind.sources.dev)
    try:
        state = train(
            kind.recipe, [prepared.train[i] for i in chosen], prepared.dev, directory, device,
            plan.seed + number, True, plan.max_time, None, progress, sources, kind.vocabulary,
        )  # fmt: skip
    except ResumeError:
        if not found:
            raise
        shutil.rmtree(directory)  # else it would stand in the way without --reuse, too
        raise ResumeError(
            f"--reuse {found.parent}: its {name} was trained with other data, another recipe, seed"
            " or number of folds; leave it out, or train with the same"
        ) from None
    calibrated = ""
    if kind.recipe.scorer.tree and read_config(directory)[0].calibration == Calibration():
        parser = load(directory, str(device), threads=torch.get_num_threads())
        calibrated = calibrate_model(directory, parser, prepared.dev, sources.dev)
    write_card(directory, kind.recipe, state, len(chosen), len(prepared.dev), calibrated)
    return state


def _copy(directory: Path, target: Path) -> None:
    """Copy a model's directory; it appears whole or not at all."""
    with atomic_directory(target) as beside:
        try:
            shutil.copytree(directory, beside, dirs_exist_ok=True)
        except shutil.Error as error:  # it gathers the reasons; the first one will do
            raise OSError(f"{target}: cannot be copied: {error.args[0][0][2]}") from None


def _elsewhere(directories: Sequence[str], name: str) -> Path | None:
    """A member of that name in other ensembles."""
    found = (Path(directory, name) for directory in directories)
    return next((path for path in found if (path / LAST).exists()), None)
