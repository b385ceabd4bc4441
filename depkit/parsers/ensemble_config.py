"""The configuration of ensembles, as it is read from and written to ensemble.toml."""

import math
from dataclasses import dataclass, field
from typing import Literal

from depkit.files.bounds import setting

# How the probabilities of several parsers are averaged
Mean = Literal["arithmetic", "geometric"]


@dataclass(frozen=True)
class Jackknife:
    """Section jackknife of ensemble.toml: the folds of the training sentences.

    Each member was trained on all folds but one, see `ensemble.jackknife.assign_folds`.
    """

    sentences: int = 0  # number of training sentences; 0 if the folds are not known
    seed: int = setting(1, maximum=math.inf)
    digest: str = ""  # of the forms of the training sentences and of their folds
    # share of the sentences of the training files that were dev sentences instead
    dev_split: float = 0.0


@dataclass(frozen=True)
class EnsembleConfig:
    """The content of ensemble.toml: the members of an ensemble and how they are combined."""

    members: list[str]  # names of the members' directories, inside the ensemble's directory
    mean: Mean = "arithmetic"
    calibration: dict = field(default_factory=dict)  # the result of `Family.calibrate`
    jackknife: Jackknife = field(default_factory=Jackknife)
