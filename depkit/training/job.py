"""The arguments of trainings: those of all kinds of training, and those of `depkit train`.

The fields have the names of the arguments of `depkit.train`; the options of the command line are
the same.
"""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from depkit.corpus.io import PathLike
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import Recipe, make_recipe

_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, kw_only=True)
class BaseJob:
    """The arguments that parsers, students, ensembles and jack-knifed taggers are trained with."""

    train: PathLike | Sequence[PathLike]  # a file of training sentences, or several
    output: PathLike  # the model directory to make
    dev: PathLike = ""  # the file that selects the best epoch; give either this or `dev_split`
    dev_split: float | None = None  # the share of the training sentences that is dev instead
    recipe: PathLike = "selfatt"  # the name of a shipped recipe, or a TOML file that changes one
    config: PathLike = ""  # a TOML file that overrides settings of the recipe
    settings: Sequence[str] | None = ()  # KEY=VALUE: override both, for example "encoder.layers=4"
    elmo: Sequence[str] = ()  # ELMo vectors (HDF5), one file for each of `train`
    dev_elmo: str = ""  # the ELMo vectors of `dev`
    seed: int = 1  # of everything random
    epochs: int | None = None  # the maximum number of epochs, instead of the recipe's
    patience: int | None = None  # stop after this number of epochs without a better dev score
    max_time: str = ""  # the maximum time of training: "90s", "10m", "2h"
    punct: str = ""  # words left out of dev scores: a policy of `evaluate` instead of the recipe's
    evalb: str = ""  # the parameters of EVALB for dev scores of constituents, see `training.evalb`
    resume: bool = False  # resume the run in `output`
    # Keep the optimiser's state when training is finished, so that `resume` can add more epochs. It
    # is several times as large as the model.
    keep_state: bool = False
    device: str = "auto"  # "cpu", "cuda", "cuda:1", "mps"
    threads: int | None = None  # of the CPU; None for torch's default
    encoding: str = "utf-8"  # of the treebanks
    quiet: bool = False  # write nothing to stderr
    verbose: bool = False  # print the whole configuration

    def __post_init__(self) -> None:
        parse_duration(self.max_time)  # report a wrong time now

    @property
    def files(self) -> Sequence[PathLike]:
        return [self.train] if isinstance(self.train, str | os.PathLike) else self.train

    @property
    def seconds(self) -> float:
        return parse_duration(self.max_time)

    @property
    def overrides(self) -> list[str]:
        """The KEY=VALUE settings, followed by those that have arguments of their own."""
        values = {
            "epochs": self.epochs, "patience": self.patience, "punct": self.punct or None,
            "evalb": self.evalb or None,
        }  # fmt: skip
        given = (f"training.{key}={value}" for key, value in values.items() if value is not None)
        return [*(self.settings or ()), *given]

    def make_recipe(self) -> Recipe:
        """Return the recipe with all changes; the errors are those of `recipe.make_recipe`."""
        return make_recipe(os.fspath(self.recipe), self.config, self.overrides)


@dataclass(frozen=True, kw_only=True)
class TrainingJob(BaseJob):
    """The training of a parser, as by `depkit train`."""

    init: PathLike = ""  # a model to start from: its parts, weights, words and tokenizer
    # Train this number of models, with consecutive seeds from `seed`, and copy the best one to
    # `output`.
    seeds: int = 1
    # For a parser that corrects parses (inputs.draft): parses of the training sentences, one file
    # for each of `train`, and of `dev`
    parses: Sequence[PathLike] = ()
    dev_parses: PathLike = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seeds < 1:
            raise ConfigError(f"`seeds` is {self.seeds}; it takes 1 or more")


def parse_duration(text: str) -> float:
    """Parse a time like 90s, 10m or 2h into seconds; "" means no limit.

    Raises ConfigError for other texts, for a number without a unit and for zero.
    """
    if not text:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not match:
        raise ConfigError(f"`max_time` {text!r} is not a time; write for example 90s, 10m or 2h")
    if not match[2]:
        number = match[1]
        raise ConfigError(
            f"`max_time` {number} has no unit; write {number}s for seconds, {number}m for minutes"
            f" or {number}h for hours"
        )
    seconds = float(match[1]) * _UNITS[match[2]]
    if not seconds:
        raise ConfigError("`max_time` 0 leaves no time to train; give more time")
    return seconds
