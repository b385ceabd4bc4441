"""The members of an ensemble: each learns, by one of some recipes, from all folds but its own
(the n-fold jack-knife of Li et al. 2019, section 3.2)."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.errors import DataError
from depkit.corpus.files import atomic_directory
from depkit.drawing.progress import ProgressBars
from depkit.ensemble.jackknife import assign_folds
from depkit.parsers.ensembles import check_combination
from depkit.parsers.families import family_of
from depkit.parsers.inputs.batches import layout
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.settings import ConfigError
from depkit.training.checkpoint import State, is_begun
from depkit.training.origin import ResumeError
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe
from depkit.training.run import (
    Prepared,
    Say,
    copy_tokenizer,
    prepare,
    read_data,
    train_one,
)


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
    keep_state: bool = False

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

    prepared: Prepared
    vocabulary: Vocabulary


def prepare_kinds(
    plan: Plan, device: torch.device, say: Say = lambda text: None
) -> dict[str, Kind]:
    """Read what the members learn from; returns the kinds of members by the recipe's name.

    say: is told what is odd about the data, and what is computed. Raises CombinationError,
    ConfigError, DataError, FormatError or OSError for what cannot be trained, or not combined then.
    """
    if plan.folds < 2:
        raise ConfigError(f"{plan.folds} folds; there are 2 or more")
    recipes = {name: _recipe(plan, name) for name in plan.recipes[: plan.folds]}
    first = next(iter(recipes.values()))
    data = read_data(
        first.parser, plan.train, plan.dev, plan.dev_split, plan.encoding, plan.features,
        plan.dev_features,
    )  # fmt: skip
    if len(data.train) < plan.folds:
        raise DataError(f"{len(data.train)} sentences are too few for {plan.folds} folds")
    kinds: dict[str, Kind] = {}
    notes: list[str] = []
    for name, recipe in recipes.items():
        prepared = prepare(recipe, data, device, say=notes.append)
        vocabulary = family_of(prepared.recipe.parser).vocabulary(
            data.train, prepared.recipe.parser
        )
        kinds[name] = Kind(prepared, vocabulary)
    check_combination([kinds[plan.recipe(i)].prepared.recipe.parser for i in range(plan.folds)])
    for note in dict.fromkeys(notes):  # what is odd about the data comes with every recipe
        say(note)
    return kinds


def _recipe(plan: Plan, name: str) -> Recipe:
    """A shipped recipe with plan.config over it, or a TOML file over `bilstm`, which excludes
    plan.config; plan.settings are over both."""
    settings, shared = list(plan.settings), len(set(plan.recipes[: plan.folds])) > 1
    if not name.endswith(".toml"):
        return make_recipe(name, plan.config or None, settings, shared)
    if plan.config:
        raise ConfigError(f"--config {plan.config} and the recipe {name}: name one file")
    return make_recipe(file=name, settings=settings, shared=shared)


def train_member(
    plan: Plan, kind: Kind, number: int, device: torch.device, bars: ProgressBars | None = None
) -> State:
    """Train a member, or go on where it stopped; one that is through is left alone.

    The tokenizer stands in the ensemble's directory already. bars: where members that are trained
    at the same time show their progress; each message then begins with the member's name. Raises as
    `loop.train`; ResumeError where what is there was made otherwise.
    """
    name, prepared = plan.names[number], kind.prepared
    directory = plan.directory / name
    label = f"{name}: " if bars else ""
    progress = Progress(directory, plan.quiet, label=label, name=name, bars=bars)
    found = None if is_begun(directory) else _elsewhere(plan.reuse, name)
    if found:
        progress.say(f"{name}: taken from {found.parent}")
        _copy(found, directory)
    directory.mkdir(parents=True, exist_ok=True)
    copy_tokenizer(plan.directory, directory)
    fold_of = assign_folds(len(prepared.train), plan.folds, plan.seed)
    chosen = np.flatnonzero(fold_of != number).tolist()
    sizes, _ = layout(prepared.train)
    sources = replace(prepared.sources.of_some(sizes, chosen, []), dev=prepared.sources.dev)
    own = replace(prepared, train=[prepared.train[i] for i in chosen], sources=sources)
    try:
        return train_one(
            own, directory, device, plan.seed + number, True, plan.max_time, progress,
            vocabulary=kind.vocabulary, keep_state=plan.keep_state,
        )  # fmt: skip
    except ResumeError as error:
        if not found:
            raise
        shutil.rmtree(directory)  # else it would stand in the way without --reuse, too
        raise ResumeError(f"--reuse: {error}".replace(str(directory), str(found))) from None


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
    return next((path for path in found if is_begun(path)), None)
