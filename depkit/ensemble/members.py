"""The members of an ensemble: each is trained on all folds of the treebank except one.

This is the n-fold jack-knife of Li et al. (2019, section 3.2). The members use the given recipes in
turn.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.io import PathLike
from depkit.ensemble.jackknife import assign_folds
from depkit.files.atomic import atomic_directory, copy_directory
from depkit.files.lock import lock_directory
from depkit.files.progress import ProgressBars
from depkit.parsers.ensemble_config import Mean
from depkit.parsers.ensembles import check_combination
from depkit.parsers.families import get_family
from depkit.parsers.inputs.dataset import layout
from depkit.parsers.model_directory import CARD
from depkit.parsers.settings import ConfigError
from depkit.training.checkpoint import State, has_run
from depkit.training.data import read_data
from depkit.training.job import BaseJob
from depkit.training.origin import ResumeError
from depkit.training.plan import Plan
from depkit.training.progress import Progress
from depkit.training.recipe import make_recipe
from depkit.training.run import Say, copy_tokenizer, prepare, train_model
from depkit.training.traces import check_resumable


@dataclass(frozen=True, kw_only=True)
class EnsembleJob(BaseJob):
    """An ensemble to train, as by `depkit ensemble`; its `recipe` is not used.

    `device` can name several devices, separated by commas. Each trains one member at a time;
    several are used in parallel, each by a separate process with `threads` threads.
    """

    recipes: Sequence[str] = ("selfatt", "bilstm")  # of the members, which take turns
    folds: int = 6
    mean: Mean = "arithmetic"  # how the members' distributions are combined
    reuse: Sequence[PathLike] = ()  # directories of other ensembles, whose members are copied

    @property
    def directory(self) -> Path:
        return Path(self.output)

    @property
    def names(self) -> list[str]:
        """The names of the members' directories: fold-1-selfatt, fold-2-bilstm, ..."""
        return [f"fold-{i + 1}-{Path(self.member_recipe(i)).stem}" for i in range(self.folds)]

    def member_recipe(self, member: int) -> str:
        """Return the name of a member's recipe; members are numbered from 0."""
        return self.recipes[member % len(self.recipes)]


def prepare_recipes(
    job: EnsembleJob, device: torch.device, say: Say = lambda text: None
) -> dict[str, Plan]:
    """Read the data and prepare the recipes; return a plan for the whole treebank by recipe.

    device: computes frozen contextual vectors; say: receives notes and messages.

    Raises:
        CombinationError: If models of these recipes cannot form an ensemble.
        ConfigError, DataError, FormatError, OSError: If a member cannot be trained.
    """
    if job.folds < 2:
        raise ConfigError(f"the number of folds is {job.folds}; it must be 2 or more")
    names = dict.fromkeys(job.recipes[: job.folds])
    recipes = {
        name: make_recipe(name, job.config, job.overrides, shared=len(names) > 1) for name in names
    }
    first = next(iter(recipes.values()))
    for name in ("punct", "evalb"):
        if len(values := {getattr(recipe.training, name) for recipe in recipes.values()}) > 1:
            raise ConfigError(
                f"the recipes differ in training.{name} ({', '.join(sorted(values))}); choose one"
                f" for all with `{name}`"
            )
    data = read_data(first.parser, job)
    assign_folds(data.train, job.folds, job.seed)  # raises DataError if that is impossible
    plans: dict[str, Plan] = {}
    notes: list[str] = []
    for name, recipe in recipes.items():
        plan = prepare(recipe, data, job.directory, device, say=notes.append)
        config = plan.recipe.parser
        plans[name] = replace(
            plan, vocabulary=get_family(config).vocabulary(data.train, config), seed=job.seed,
            max_time=job.seconds, keep_state=job.keep_state,
        )  # fmt: skip
    check_combination(
        [plans[job.member_recipe(member)].recipe.parser for member in range(job.folds)]
    )
    for note in dict.fromkeys(notes):  # notes on the data are the same for each recipe
        say(note)
    return plans


def train_member(
    job: EnsembleJob, plan: Plan, member: int, bars: ProgressBars | None = None
) -> State:
    """Train a member, or resume its training, and return the final state.

    A member whose training is finished is not changed. The tokenizer must be in the ensemble's
    directory already.

    Args:
        job: The ensemble to train.
        plan: The plan of the member's recipe, for the whole treebank.
        member: Index of the member, from 0.
        bars: Progress bars that members trained in parallel share; each message then begins with
            the member's name.

    Raises:
        LockedError: If another process is training the member.
        ResumeError: If the member's directory contains a model with other settings or data.
        TrainingError: As `loop.train`.
    """
    name = job.names[member]
    directory, label = job.directory / name, f"{name}: " if bars else ""
    progress = Progress(directory, job.quiet, label=label, name=name, bars=bars)
    check_resumable(directory)
    reused_member = None if has_run(directory) else _find_reusable(job.reuse, name)
    if reused_member:
        progress.say(f"{name} is copied from {reused_member.parent}")
        _copy_model(reused_member, directory)
    fold_of = assign_folds(plan.train, job.folds, job.seed)
    indices = np.flatnonzero(fold_of != member).tolist()
    sizes, _ = layout(plan.train)
    plan = replace(
        plan, train=[plan.train[i] for i in indices], directory=directory,
        sources=replace(plan.sources.select_sentences(sizes, indices, []), dev=plan.sources.dev),
        seed=job.seed + member, folds=job.folds, resume=True, progress=progress,
    )  # fmt: skip
    try:
        # A process of an ensemble that was killed may still be writing for a moment.
        with lock_directory(directory):
            copy_tokenizer(job.directory, directory)
            return train_model(plan)
    except ResumeError as error:
        if not reused_member:
            raise
        shutil.rmtree(directory)  # otherwise a run without `reuse` would fail as well
        raise ResumeError(f"`reuse`: {error}".replace(str(directory), str(reused_member))) from None


def _copy_model(directory: Path, target: Path) -> None:
    with atomic_directory(target) as temporary:
        copy_directory(directory, temporary)


def _find_reusable(directories: Sequence[PathLike], name: str) -> Path | None:
    """Return the first finished member of that name in other ensembles' directories, if any."""
    paths = (Path(directory, name) for directory in directories)
    # The card is the last file that a training writes.
    return next((path for path in paths if has_run(path) and (path / CARD).exists()), None)
