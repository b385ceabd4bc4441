"""What `depkit train` does, from files to a calibrated, described model.

`depkit train`, `depkit distill`, the members of an ensemble and `depkit.train` are made of the same
steps: read_data, prepare, provide_tokenizer, train_one.
"""

import math
import os
import re
import shlex
import shutil
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch

from depkit.corpus.errors import DataError
from depkit.corpus.files import PathLike, atomic, atomic_directory
from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser, check_tags
from depkit.parsers.config import ParserConfig
from depkit.parsers.device import find_device
from depkit.parsers.families import family_of
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.model_directory import (
    CARD,
    CONFIG,
    ENSEMBLE,
    TOKENIZER,
    TRANSFORMER,
    VOCABULARY,
    WEIGHTS,
    find_model,
    load,
    tokenizer_notes,
    write_calibration,
    write_tokenizer,
)
from depkit.parsers.settings import ConfigError, to_toml
from depkit.training import loop, tokenizer
from depkit.training.card import write_card
from depkit.training.checkpoint import State, sweep
from depkit.training.data import findings, resolve_auto, split
from depkit.training.progress import Progress
from depkit.training.recipe import Recipe, adopt, make_recipe, trained_parts
from depkit.training.sources import FeatureFile, Sources, find_sources

_UNITS = {"s": 1, "m": 60, "h": 3600}

Say = Callable[[str], None]


def train(
    train: PathLike | Sequence[PathLike],
    output: PathLike,
    dev: PathLike = "",
    dev_split: float | None = None,
    recipe: str = "bilstm",
    config: str = "",
    settings: Sequence[str] = (),
    features: Sequence[str] = (),
    dev_features: str = "",
    init: PathLike = "",
    seed: int = 1,
    seeds: int = 1,
    epochs: int | None = None,
    patience: int | None = None,
    max_time: str = "",
    resume: bool = False,
    device: str = "auto",
    threads: int | None = None,
    encoding: str = "utf-8",
    quiet: bool = False,
    verbose: bool = False,
    keep_state: bool = False,
) -> Path:
    """Train a parser on treebanks, as `depkit train` does; returns the model directory.

    Args:
        train: A file of training sentences, or several.
        output: The model directory to make.
        dev: The file that chooses the best epoch. Either this or `dev_split` is given.
        dev_split: The share of the training sentences that chooses it instead, evenly spread.
        recipe: The name of a shipped recipe.
        config: A TOML file over the recipe.
        settings: KEY=VALUE settings over both, for example "encoder.layers=4".
        features: ELMo vectors (HDF5), a file for each of `train`.
        dev_features: The ELMo vectors of `dev`.
        init: A model to start from: its parts, weights, words and tokenizer.
        seed: The seed of everything random.
        seeds: Train so many models, from `seed` on, and keep the best one's in `output`.
        epochs: At most so many, instead of the recipe's.
        patience: Stop after so many epochs without a better dev score.
        max_time: At most so long: "90s", "10m", "2h".
        resume: Go on with the run in `output`.
        device: "auto", "cpu", "cuda", "cuda:1", "mps".
        threads: How many threads the CPU uses; None for torch's own choice.
        encoding: The text encoding of the treebanks.
        quiet: Say nothing on stderr.
        verbose: Print the whole configuration.
        keep_state: Keep the optimiser's state when the training is finished, so that `resume` can
            go on with more epochs; it is several times as large as the model.

    Raises:
        ConfigError: For a setting that is not known or does not fit.
        ValueError: For an output that is there already.
        ModelError: For an `init` that is no model.
        DataError, FormatError: For treebanks that cannot be trained on.
        ResumeError: For a run that cannot be gone on with.
        TrainingError: Where the loss is no longer finite, or a batch does not fit in memory.
    """
    files = [train] if isinstance(train, str | os.PathLike) else train
    limit = parse_duration(max_time)
    directory = new_directory(output, resume)
    chosen = make_recipe(recipe, config or None, all_settings(settings, epochs, patience))
    initial = None
    if init:
        initial = load_initial(init)
        if trained_parts(chosen.parser) != trained_parts(make_recipe(recipe).parser):
            raise ConfigError(
                "with --init the parser's parts are that model's; training.* and decoder.* can"
                " be set"
            )
        chosen = adopt(chosen, initial.config)
    used_device = set_up(device, threads)
    progress = Progress(directory, quiet)
    data = read_data(chosen.parser, files, dev, dev_split, encoding, features, dev_features)
    prepared = prepare(chosen, data, used_device, initial, progress.say)
    if verbose:
        progress.say(describe_settings(prepared.recipe, used_device))
    directory.mkdir(parents=True, exist_ok=True)
    sweep(directory)
    limit -= provide_tokenizer(
        directory, prepared, used_device, seed, limit, progress.say, initial, init
    )
    states: list[State] = []
    for number in range(seed, seed + seeds):
        own = directory / f"seed-{number}" if seeds > 1 else directory
        own.mkdir(exist_ok=True)
        if seeds > 1:
            copy_tokenizer(directory, own)
        own_progress = Progress(own, quiet, name=f"seed {number}" if seeds > 1 else "training")
        state = train_one(
            prepared, own, used_device, number, resume, limit, own_progress, initial,
            keep_state=keep_state,
        )  # fmt: skip
        states.append(state)
    if seeds > 1:
        progress.say(_keep_best(directory, states, prepared.recipe.training.select))
    say_where(directory, chosen.parser, progress.say)
    return directory


def set_up(device: str, threads: int | None) -> torch.device:
    """The device of that name; threads: what torch is to use from now on, None for as many as
    before."""
    if threads:
        torch.set_num_threads(threads)
    return find_device(device)


def describe_settings(recipe: Recipe, device: torch.device) -> str:
    """The whole configuration, as TOML."""
    return f"# on {device}\n{to_toml(recipe.tables())}"


def all_settings(
    settings: Sequence[str] | None, epochs: int | None, patience: int | None
) -> list[str]:
    """KEY=VALUE settings with those that have options of their own."""
    named = {"training.epochs": epochs, "training.patience": patience}
    return [
        *(settings or []),
        *(f"{key}={value}" for key, value in named.items() if value is not None),
    ]


def parse_duration(text: str) -> float:
    """A time like 90s, 10m or 2h, in seconds; "" is no limit. Raises ConfigError for others."""
    if not text:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not match:
        raise ConfigError(f"--max-time {text!r} is no time; write 90s, 10m or 2h")
    seconds = float(match[1]) * _UNITS[match[2] or "s"]
    if not seconds:
        raise ConfigError("--max-time 0 leaves no time to train")
    return seconds


def new_directory(output: PathLike, resume: bool) -> Path:
    """The directory to train into. Raises ValueError if something stands there already."""
    directory = Path(output)
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{output} is a file; name a directory")
    if not resume and directory.exists() and any(directory.iterdir()):
        raise ValueError(
            f"{output} is not empty; --resume continues an unfinished run there, or name another"
            " directory"
        )
    return directory


def load_initial(model: PathLike) -> Parser:
    """A model to go on from. Raises ValueError for an ensemble."""
    if (find_model(model) / ENSEMBLE).is_file():
        raise ValueError(f"{model} is an ensemble; name one of its members")
    return load(model, "cpu", "float32")


@dataclass(frozen=True)
class Data:
    """Sentences to train on and to choose the epoch by; the files of ELMo vectors for them."""

    train: list[Sentence]
    dev: list[Sentence]
    features: list[FeatureFile]


def read_data(
    config: ParserConfig,
    train: Sequence[PathLike],
    dev: PathLike,
    dev_split: float | None,
    encoding: str,
    features: Sequence[str] = (),
    dev_features: str = "",
) -> Data:
    """Read treebanks as a parser's family does. The options are those of `train`.

    Raises ConfigError for options that do not go together, DataError for a file without a
    sentence, and what `Family.read` raises.
    """
    if bool(dev) == (dev_split is not None):
        raise ConfigError("name either --dev FILE or --dev-split SHARE")
    if features and len(features) != len(train):
        raise ConfigError(f"--features names {len(features)} files for {len(train)} of TRAIN")
    if (features or dev_features) and not (features and bool(dev) == bool(dev_features)):
        raise ConfigError(
            "ELMo vectors are --features of each TRAIN file and, with --dev, --dev-features"
        )
    files = [read_sentences(config, path, encoding) for path in train]
    sentences = list(chain.from_iterable(files))
    if dev_split is not None:
        sentences, dev_sentences = split(sentences, dev_split)
    else:
        dev_sentences = read_sentences(config, dev, encoding)
    vectors = [FeatureFile(*pair) for pair in zip(features, files, strict=False)]
    vectors += [FeatureFile(dev_features, dev_sentences)] if dev_features else []
    return Data(sentences, dev_sentences, vectors)


def read_sentences(config: ParserConfig, path: PathLike, encoding: str = "utf-8") -> list[Sentence]:
    """All sentences of a treebank, one at least; raises DataError for none."""
    sentences = list(family_of(config).read(str(path), encoding))
    if not sentences:
        raise DataError(f"{path}: no sentences")
    return sentences


@dataclass(frozen=True)
class Prepared:
    """Sentences, a recipe in which nothing is "auto", and what it reads beside the sentences."""

    recipe: Recipe
    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    sources: Sources


def prepare(
    recipe: Recipe,
    data: Data,
    device: torch.device,
    initial: Parser | None = None,
    say: Say = lambda text: None,
) -> Prepared:
    """Resolve a recipe and find its sources.

    say: is told what is computed, and what is odd about the data. Raises as `find_sources`, and
    FormatError for a sentence without the tags that are to be read.
    """
    recipe = resolve_auto(recipe, data.train)
    if initial:  # the columns that it predicts, whatever this treebank has
        recipe = adopt(recipe, initial.config)
    for sentence in (*data.train, *data.dev):
        check_tags(sentence, recipe.parser.inputs)
    recipe, sources = find_sources(
        recipe, data.train, data.dev, device, data.features, initial, say
    )
    for finding in findings(recipe.parser, data.train, data.dev):
        say(f"depkit: note: {finding}")
    return Prepared(recipe, data.train, data.dev, sources)


def provide_tokenizer(
    directory: Path,
    prepared: Prepared,
    device: torch.device,
    seed: int,
    max_time: float,
    say: Say,
    owner: Parser | None = None,
    model: PathLike = "",
) -> float:
    """Put a tokenizer into a directory: that of another model, or one trained on the treebank.

    owner: the parser loaded from `model`, whose tokenizer is copied if it has one. Returns the
    seconds that training took.
    """
    if owner and owner.tokenizer:
        notes = tokenizer_notes(find_model(model))
        write_tokenizer(directory, owner.tokenizer, {"scores": notes.get("scores")})
        return 0.0
    return tokenizer.provide_tokenizer(
        directory, prepared.recipe, prepared.train, prepared.dev, device, seed, max_time, say
    )


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy a model directory's tokenizer into another, if there is one."""
    if (source / TOKENIZER).exists():
        with atomic(target / TOKENIZER) as beside:
            shutil.copy(source / TOKENIZER, beside)


def train_one(
    prepared: Prepared,
    directory: Path,
    device: torch.device,
    seed: int,
    resume: bool,
    max_time: float,
    progress: Progress,
    initial: Parser | None = None,
    vocabulary: Vocabulary | None = None,
    feed: loop.Feed | None = None,
    teacher: str = "",
    keep_state: bool = False,
) -> State:
    """Train a model, calibrate it on dev and write its card; one that has all this stays.

    vocabulary, feed, keep_state: as for `loop.train`; teacher: what a student learned from, in
    words.
    """
    with progress.bar():
        state = loop.train(
            prepared.recipe, prepared.train, prepared.dev, directory, device, seed, resume,
            max_time, initial, progress, prepared.sources, vocabulary, feed, keep_state,
        )  # fmt: skip
    told = f"best epoch: {state.best_epoch} of {state.epoch}, dev"
    told += f" {prepared.recipe.training.select} {state.best:.2f}"
    if (directory / CARD).exists():  # the loop removes it as soon as it has to train
        progress.say(f"{progress.label}the training is finished already; {told}")
        return state
    calibrated = calibrate(directory, device, prepared) if state.best_epoch else ""
    write_card(
        directory, prepared.recipe, state, len(prepared.train), len(prepared.dev), calibrated,
        teacher,
    )  # fmt: skip
    for line in filter(None, (told, calibrated)):
        progress.say(progress.label + line)
    return state


def say_where(directory: PathLike, config: ParserConfig, say: Say) -> None:
    """Say where the finished model is, and the command that uses it."""
    command = family_of(config).command
    say(f"the model is in {directory}")
    say(f"{command} with it: depkit {command} --model {shlex.quote(str(directory))} FILE")


def calibrate(directory: Path, device: torch.device, prepared: Prepared) -> str:
    """Calibrate the model in a directory on dev; returns what came of it, in words."""
    parser = load(directory, str(device), threads=torch.get_num_threads())
    vectors = loop.dev_vectors(prepared.dev, prepared.sources.dev)
    calibration, told = family_of(parser.config).calibrate(parser, prepared.dev, vectors)
    if calibration:
        write_calibration(directory, calibration)
    return told


def _keep_best(directory: Path, states: Sequence[State], select: str) -> str:
    """Copy the best seed's model into the directory of all; what came of them, in words."""
    best = max(states, key=lambda state: state.best)
    own = directory / f"seed-{best.seed}"
    if (own / TRANSFORMER).exists():
        with atomic_directory(directory / TRANSFORMER) as folder:
            shutil.copytree(own / TRANSFORMER, folder, dirs_exist_ok=True)
    for name in (CONFIG, VOCABULARY, WEIGHTS, CARD):
        with atomic(directory / name) as beside:
            shutil.copy(own / name, beside)
    scores = [state.best for state in states]
    return (
        f"dev {select} of {len(states)} seeds: {statistics.mean(scores):.2f} ±"
        f" {statistics.stdev(scores):.2f}; {directory} is seed {best.seed}'s, {best.best:.2f}"
    )
