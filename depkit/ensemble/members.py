"""The members of an ensemble: each is trained on all folds of the treebank except one.

This is the n-fold jack-knife of Li et al. (2019, section 3.2). The members use the given recipes in
turn.
"""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from depkit.ensemble.jackknife import assign_folds
from depkit.files.atomic import atomic_directory, copy_directory
from depkit.files.errors import DataError
from depkit.files.lock import lock_directory
from depkit.files.progress import ProgressBars
from depkit.parsers.ensembles import check_combination
from depkit.parsers.families import get_family
from depkit.parsers.inputs.dataset import layout
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.settings import ConfigError
from depkit.training.checkpoint import State, has_run
from depkit.training.data import read_data
from depkit.training.origin import ResumeError
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, make_recipe
from depkit.training.run import (
    Prepared,
    Say,
    copy_tokenizer,
    prepare,
    train_model,
)
from depkit.training.traces import check_resumable


@dataclass(frozen=True)
class Plan:
    """An ensemble to train. The fields are the options of `depkit ensemble` of the same names."""

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
    reuse: Sequence[str] = ()  # directories of other ensembles
    seed: int = 1
    max_time: float = math.inf  # seconds, for the training of each member
    encoding: str = "utf-8"
    quiet: bool = False
    keep_state: bool = False

    @property
    def names(self) -> list[str]:
        """Return the names of the members' directories: fold-1-selfatt, fold-2-bilstm, ..."""
        return [f"fold-{i + 1}-{Path(self.recipe(i)).stem}" for i in range(self.folds)]

    def recipe(self, member: int) -> str:
        """Return the name of a member's recipe; members are numbered from 0."""
        return self.recipes[member % len(self.recipes)]


@dataclass(frozen=True)
class PreparedRecipe:
    """What all members with the same recipe share."""

    prepared: Prepared
    vocabulary: Vocabulary


def prepare_recipes(
    plan: Plan, device: torch.device, say: Say = lambda text: None
) -> dict[str, PreparedRecipe]:
    """Read the data and prepare the recipes; return the prepared recipes by name.

    Args:
        plan: The ensemble to train.
        device: Device that computes frozen contextual vectors.
        say: Receives notes on the data, and messages on what is being computed.

    Raises:
        CombinationError: If models of these recipes cannot form an ensemble.
        ConfigError, DataError, FormatError, OSError: If a member cannot be trained.
    """
    if plan.folds < 2:
        raise ConfigError(f"the number of folds is {plan.folds}; it must be 2 or more")
    recipes = {name: _make_recipe(plan, name) for name in plan.recipes[: plan.folds]}
    first = next(iter(recipes.values()))
    if len(policies := {recipe.training.punct for recipe in recipes.values()}) > 1:
        raise ConfigError(
            f"the recipes differ in training.punct ({', '.join(sorted(policies))}); choose one for"
            " all with --punct"
        )
    data = read_data(
        first.parser, plan.train, plan.dev, plan.dev_split, plan.encoding, plan.features,
        plan.dev_features,
    )  # fmt: skip
    if len(data.train) < plan.folds:
        raise DataError(f"{len(data.train)} sentences are too few for {plan.folds} folds")
    prepared_recipes: dict[str, PreparedRecipe] = {}
    notes: list[str] = []
    for name, recipe in recipes.items():
        prepared = prepare(recipe, data, device, say=notes.append)
        vocabulary = get_family(prepared.recipe.parser).vocabulary(
            data.train, prepared.recipe.parser
        )
        prepared_recipes[name] = PreparedRecipe(prepared, vocabulary)
    check_combination(
        [prepared_recipes[plan.recipe(i)].prepared.recipe.parser for i in range(plan.folds)]
    )
    for note in dict.fromkeys(notes):  # notes on the data are the same for each recipe
        say(note)
    return prepared_recipes


def _make_recipe(plan: Plan, name: str) -> Recipe:
    """Return the recipe of a name, changed by plan.config and plan.settings.

    A name that ends with .toml is a file of changes to the recipe `selfatt`, and excludes
    plan.config.
    """
    settings, shared = list(plan.settings), len(set(plan.recipes[: plan.folds])) > 1
    if not name.endswith(".toml"):
        return make_recipe(name, plan.config or None, settings, shared)
    if plan.config:
        raise ConfigError(
            f"--config {plan.config} cannot be combined with the recipe file {name}; name only one"
            " of them"
        )
    return make_recipe(file=name, settings=settings, shared=shared)


def train_member(
    plan: Plan,
    prepared_recipe: PreparedRecipe,
    member: int,
    device: torch.device,
    bars: ProgressBars | None = None,
) -> State:
    """Train a member, or resume its training, and return the final state.

    A member whose training is finished is not changed. The tokenizer must be in the ensemble's
    directory already.

    Args:
        plan: The ensemble to train.
        prepared_recipe: The member's recipe.
        member: Index of the member, from 0.
        device: Device of the training.
        bars: Progress bars that members trained in parallel share. Each message then begins with
            the member's name.

    Raises:
        LockedError: If another process is training the member.
        ResumeError: If the member's directory contains a model with other settings or data.
        TrainingError: As `loop.train`.
    """
    name, prepared = plan.names[member], prepared_recipe.prepared
    directory = plan.directory / name
    label = f"{name}: " if bars else ""
    progress = Progress(directory, plan.quiet, label=label, name=name, bars=bars)
    check_resumable(directory)
    reused_member = None if has_run(directory) else _find_reusable(plan.reuse, name)
    if reused_member:
        progress.say(f"{name} is copied from {reused_member.parent}")
        _copy_model(reused_member, directory)
    fold_of = assign_folds(len(prepared.train), plan.folds, plan.seed)
    indices = np.flatnonzero(fold_of != member).tolist()
    sizes, _ = layout(prepared.train)
    sources = replace(
        prepared.sources.select_sentences(sizes, indices, []), dev=prepared.sources.dev
    )
    train_sentences = [prepared.train[i] for i in indices]
    try:
        # A process of an ensemble that was killed may still be writing for a moment.
        with lock_directory(directory):
            copy_tokenizer(plan.directory, directory)
            return train_model(
                replace(prepared, train=train_sentences, sources=sources), directory, device,
                plan.seed + member, True, plan.max_time, progress,
                vocabulary=prepared_recipe.vocabulary, keep_state=plan.keep_state,
            )  # fmt: skip
    except ResumeError as error:
        if not reused_member:
            raise
        shutil.rmtree(directory)  # otherwise a run without --reuse would fail as well
        raise ResumeError(f"--reuse: {error}".replace(str(directory), str(reused_member))) from None


def _copy_model(directory: Path, target: Path) -> None:
    """Copy a model directory atomically."""
    with atomic_directory(target) as temporary:
        copy_directory(directory, temporary)


def _find_reusable(directories: Sequence[str], name: str) -> Path | None:
    """Return the first member of that name in the directories of other ensembles, if any."""
    paths = (Path(directory, name) for directory in directories)
    return next((path for path in paths if has_run(path)), None)
