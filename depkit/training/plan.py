"""A training whose settings, data and sources, which a job only names, are loaded and resolved."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.inputs.dataset import Examples
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe
from depkit.training.sources import Sources


class TrainingError(ValueError):
    """Training cannot continue."""


@dataclass(frozen=True)
class Feed:
    """Functions that return the training examples of an epoch; epochs are numbered from 0 here.

    A feed replaces the treebank as training data; a student, for example, also learns from text.
    """

    sizes: Callable[[int], np.ndarray]  # the sizes of an epoch's examples
    data: Callable[[int], Examples]  # an epoch's examples, the same in every call for that epoch
    # a digest of everything that the examples depend on besides the recipe and the treebank
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A model to train."""

    recipe: Recipe  # without "auto" settings
    train: Sequence[Sentence]
    dev: Sequence[Sentence]  # selects the best epoch
    directory: Path  # the model directory
    device: torch.device
    sources: Sources = field(default_factory=Sources)  # what the recipe needs besides the treebank
    seed: int = 1
    folds: int = 0  # the number of folds, if `train` is a part of a divided treebank; else 0
    resume: bool = False  # resume the run in the directory, if there is one
    # The maximum number of seconds, including the parts before interruptions. A linear schedule
    # ends with the time or with the epochs, whichever ends sooner.
    max_time: float = math.inf
    # Keep the optimiser's state of a finished run, so that it can be resumed with more epochs,
    # patience or time.
    keep_state: bool = False
    initial: Parser | None = None  # to start from; its vocabulary is extended by the treebank's
    # A vocabulary instead of the treebank's. Unless there is a feed, symbols that the treebank does
    # not have get the vector of the unknown symbol.
    vocabulary: Vocabulary | None = None
    feed: Feed | None = None  # instead of the treebank
    teacher: str = ""  # for a student's card, a sentence on its teacher and the text
    progress: Progress | None = None  # without it, only the log is written

    @property
    def reporter(self) -> Progress:
        return self.progress or Progress(self.directory, quiet=True)

    @property
    def leaves_symbols_unseen(self) -> bool:
        """Whether the treebank does not have all symbols of the vocabulary."""
        return self.vocabulary is not None and self.feed is None
