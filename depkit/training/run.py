"""A complete training, from treebank files to a calibrated model with a model card.

`depkit train`, `depkit distill`, the members of an ensemble and `depkit.train` all use these steps:
read_data, prepare, provide_tokenizer, train_model.
"""

import math
import os
import re
import shlex
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence
from depkit.files.atomic import atomic, atomic_directory, copy_directory
from depkit.files.errors import FormatError
from depkit.files.lock import LOCK, lock_directory
from depkit.parsers.base import Parser
from depkit.parsers.config import ParserConfig
from depkit.parsers.engine.device import find_device
from depkit.parsers.families import get_family
from depkit.parsers.inputs.parts import check_inputs
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.model_directory import (
    CARD,
    CONFIG,
    ENSEMBLE,
    TOKENIZER,
    TRANSFORMER,
    VOCABULARY,
    WEIGHTS,
    bundled_models,
    find_model,
    load,
    read_tokenizer_notes,
    write_calibration,
    write_tokenizer,
)
from depkit.parsers.settings import ConfigError, to_toml
from depkit.training import loop, tokenizer
from depkit.training.card import write_card
from depkit.training.checkpoint import State
from depkit.training.data import Data, findings, read_data, resolve_auto
from depkit.training.distributed import (
    first_before_others,
    is_first,
    join_ranks,
    on_first,
    own_device,
)
from depkit.training.progress import Progress
from depkit.training.recipe import (
    Recipe,
    Training,
    adopt_parts,
    check_punct,
    make_recipe,
    trained_parts,
)
from depkit.training.sources import Sources, load_sources
from depkit.training.traces import check_resumable

_UNITS = {"s": 1, "m": 60, "h": 3600}

Say = Callable[[str], None]


def train(
    train: PathLike | Sequence[PathLike],
    output: PathLike,
    dev: PathLike = "",
    dev_split: float | None = None,
    recipe: str = "selfatt",
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
    punct: str = "",
    parses: Sequence[PathLike] = (),
    dev_parses: PathLike = "",
) -> Path:
    """Train a parser on treebanks, as `depkit train` does, and return the model directory.

    Args:
        train: A file of training sentences, or several.
        output: The model directory to make.
        dev: The file that selects the best epoch. Give either this or `dev_split`.
        dev_split: The share of the training sentences that is used as dev sentences instead.
        recipe: The name of a shipped recipe.
        config: A TOML file that overrides settings of the recipe.
        settings: KEY=VALUE settings that override both, for example "encoder.layers=4".
        features: ELMo vectors (HDF5), one file for each of `train`.
        dev_features: The ELMo vectors of `dev`.
        init: A model to start from: its parts, weights, words and tokenizer.
        seed: The seed of everything random.
        seeds: Train this number of models, with consecutive seeds from `seed`, and copy the best
            one to `output`.
        epochs: The maximum number of epochs, instead of the recipe's.
        patience: Stop after this number of epochs without a better dev score.
        max_time: The maximum time of training: "90s", "10m", "2h".
        resume: Resume the run in `output`.
        device: "auto", "cpu", "cuda", "cuda:1", "mps".
        threads: The number of CPU threads; None for torch's default.
        encoding: The text encoding of the treebanks.
        quiet: Write nothing to stderr.
        verbose: Print the whole configuration.
        keep_state: Keep the optimiser's state when training is finished, so that `resume` can add
            more epochs. It is several times as large as the model.
        punct: The words that dev scores leave out as punctuation, a policy of `evaluate`, instead
            of the recipe's.
        parses: For a parser that corrects parses (inputs.draft): parses of the training sentences,
            one file for each of `train`.
        dev_parses: The same for `dev`.

    Raises:
        ConfigError: For an unknown or invalid setting.
        ValueError: For an output that exists already, or that another process is training into.
        ModelError: For an `init` that is not a model.
        DataError, FormatError: For treebanks that cannot be trained on.
        ResumeError: For a run that cannot be resumed.
        TrainingError: If the loss is no longer finite, or a batch does not fit in memory.
    """
    files = [train] if isinstance(train, str | os.PathLike) else train
    limit = parse_duration(max_time)
    full_recipe = make_recipe(
        recipe, config or None, combine_settings(settings, epochs, patience, punct)
    )
    initial = None
    if init:
        initial = load_initial_model(init)
        if trained_parts(full_recipe.parser) != trained_parts(make_recipe(recipe).parser):
            raise ConfigError(
                "--init gives the parser the parts of the initial model, so only settings of"
                " training.* and decoder.* can be changed; omit the other settings"
            )
        full_recipe = adopt_parts(full_recipe, initial.config)
        check_punct(full_recipe)
    used_device = set_up_device(own_device(device), threads)
    members: Literal["seed", ""] = "seed" if seeds > 1 else ""
    with join_ranks(used_device), reserve_output(output, resume, members) as directory:
        quiet = quiet or not is_first()
        progress = Progress(directory, quiet)
        with first_before_others():
            data = read_data(
                full_recipe.parser, files, dev, dev_split, encoding, features, dev_features, parses,
                dev_parses,
            )  # fmt: skip
            prepared = prepare(full_recipe, data, used_device, initial, progress.say)
        if verbose:
            progress.say(describe_settings(prepared.recipe, used_device))
        limit -= on_first(
            provide_tokenizer,
            directory, prepared, used_device, seed, limit, progress.say, initial, init,
        )  # fmt: skip
        # With several seeds, the first process locks the directories of the seeds and copies files.
        manages_seeds = seeds > 1 and is_first()
        states: list[State] = []
        for model_seed in range(seed, seed + seeds):
            seed_directory = directory / f"seed-{model_seed}" if seeds > 1 else directory
            bar_name = f"seed {model_seed}" if seeds > 1 else "training"
            seed_progress = Progress(seed_directory, quiet, name=bar_name)
            with lock_directory(seed_directory) if manages_seeds else nullcontext():
                if manages_seeds:
                    copy_tokenizer(directory, seed_directory)
                state = train_model(
                    prepared, seed_directory, used_device, model_seed, resume, limit,
                    seed_progress, initial, keep_state=keep_state,
                )  # fmt: skip
            states.append(state)
        if manages_seeds:
            progress.say(_copy_best(directory, states, prepared.recipe.training.select))
        report_model(directory, full_recipe.parser, progress.say)
        return directory


def set_up_device(device: str, threads: int | None) -> torch.device:
    """Set the number of torch's threads, unless it is None, and return the device of this name."""
    if threads:
        torch.set_num_threads(threads)
    return find_device(device)


def describe_settings(recipe: Recipe, device: torch.device) -> str:
    """Return the whole configuration as TOML, with the device in a comment."""
    return f"# on {device}\n{to_toml(recipe.tables())}"


def combine_settings(
    settings: Sequence[str] | None, epochs: int | None, patience: int | None, punct: str = ""
) -> list[str]:
    """Append the settings that have their own options to the KEY=VALUE settings.

    Args:
        settings: Texts of the form KEY=VALUE.
        epochs: The option --epochs, if given.
        patience: The option --patience, if given.
        punct: The option --punct, or "".
    """
    options = {
        "training.epochs": epochs, "training.patience": patience, "training.punct": punct or None
    }  # fmt: skip
    return [
        *(settings or []),
        *(f"{key}={value}" for key, value in options.items() if value is not None),
    ]


def parse_duration(text: str) -> float:
    """Parse a time like 90s, 10m or 2h into seconds; "" means no limit.

    Raises ConfigError for other texts and for zero.
    """
    if not text:
        return math.inf
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not match:
        raise ConfigError(f"--max-time {text!r} is not a time; write for example 90s, 10m or 2h")
    seconds = float(match[1]) * _UNITS[match[2] or "s"]
    if not seconds:
        raise ConfigError("--max-time 0 leaves no time to train; give more time")
    return seconds


@contextmanager
def reserve_output(
    output: PathLike, resume: bool, members: Literal["", "seed", "fold"] = ""
) -> Iterator[Path]:
    """Lock the directory to train into and yield it, see `lock_directory`.

    Raises ValueError for a file, for a directory that another process has locked, and for a
    directory that is not empty unless a run is resumed, see `check_resumable`. Only the first
    process of a training does this; the others only yield the directory.
    """
    directory = Path(output)
    if not is_first():
        yield directory
        return
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{output} is a file; name a directory")
    with lock_directory(directory):
        if not resume and any(path.name != LOCK for path in directory.iterdir()):
            raise ValueError(
                f"{output} is not empty; --resume continues the run there; to start a new run,"
                " name another directory"
            )
        check_resumable(directory, members)
        yield directory


def load_initial_model(model: PathLike) -> Parser:
    """Load a model to start from. Raises ValueError for an ensemble."""
    if (find_model(model) / ENSEMBLE).is_file():
        raise ValueError(f"{model} is an ensemble; name one of its members")
    return load(model, "cpu", "float32")


@dataclass(frozen=True)
class Prepared:
    """A training whose settings are resolved and whose sources are loaded."""

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
    """Resolve a recipe, load its sources and check the data.

    Args:
        recipe: The recipe.
        data: The data of the training.
        device: Where a frozen transformer runs.
        initial: The parser to start from, if any.
        say: Receives notes and progress.

    Raises:
        FormatError: For a sentence without the tags that the parser reads.
        ConfigError: If training.punct cannot be applied to dev.
        ConfigError, TransformerError, OSError: See `load_sources`.
    """
    resolved = resolve_auto(recipe, data.train)
    _report_sizes(recipe.training, resolved.training, sum(map(len, data.train)), say)
    recipe = resolved
    if initial:  # keep the columns that it predicts, even if this treebank lacks them
        recipe = adopt_parts(recipe, initial.config)
    for sentence in (*data.train, *data.dev):
        check_inputs(sentence, recipe.parser.inputs)
    recipe, sources = load_sources(
        recipe, data.train, data.dev, device, data.features, initial, say
    )
    if (punct := recipe.training.punct) != "keep":  # find out now whether it can be applied to dev
        try:
            get_family(recipe.parser).evaluate(recipe.parser, data.dev, data.dev, punct)
        except FormatError as error:
            raise ConfigError(
                f"training.punct={punct} cannot be applied to dev: {error.message}. To score all"
                " words, use --punct keep."
            ) from None
    if recipe.parser.inputs.draft:
        for name, sentences in (("train", data.train), ("dev", data.dev)):
            drafts = [sentence.draft for sentence in sentences if sentence.draft]
            scores = get_family(recipe.parser).evaluate(
                recipe.parser, sentences, drafts, recipe.training.punct
            )
            listed = " ".join(f"{metric} {score:.2f}" for metric, score in scores.items())
            say(f"the parses of {name} that are corrected: {listed}")
    for finding in findings(recipe.parser, data.train, data.dev):
        say(f"depkit: note: {finding}")
    return Prepared(recipe, data.train, data.dev, sources)


def _report_sizes(asked: Training, chosen: Training, words: int, say: Say) -> None:
    """Print the settings that were chosen by the size of the treebank."""
    sizes = {"at most {} epochs": "epochs", "batches of {} tokens": "batch_tokens"}
    changed = [
        text.format(getattr(chosen, name))
        for text, name in sizes.items()
        if getattr(chosen, name) != getattr(asked, name)
    ]
    if changed:
        say(f"for {words:,} words in train: {', '.join(changed)}")


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
    """Write a tokenizer into a directory: another model's, or one trained on the treebank.

    Args:
        directory: The model directory.
        prepared: The training; its recipe may disable the tokenizer.
        device: The device to train on.
        seed: The seed of everything random.
        max_time: The maximum number of seconds of the whole training.
        say: Receives progress.
        owner: A parser whose tokenizer is copied, if it has one.
        model: The name of the model that `owner` was loaded from.

    Returns:
        The seconds that training the tokenizer took.
    """
    if owner and owner.tokenizer:
        notes = read_tokenizer_notes(find_model(model))
        write_tokenizer(directory, owner.tokenizer, {"scores": notes.get("scores")})
        return 0.0
    return tokenizer.provide_tokenizer(
        directory, prepared.recipe, prepared.train, prepared.dev, device, seed, max_time, say
    )


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy a model directory's tokenizer into another, if there is one."""
    if (source / TOKENIZER).exists():
        with atomic(target / TOKENIZER) as temporary:
            shutil.copy(source / TOKENIZER, temporary)


def train_model(
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
    """Train a model, calibrate it on dev and write its card. A finished model is left unchanged.

    With several processes, only the first one calibrates the model and writes the card.

    `loop.train` explains most arguments in detail.

    Args:
        prepared: The training.
        directory: The model directory.
        device: The device to train on.
        seed: The seed of everything random.
        resume: Resume the run in the directory, if there is one.
        max_time: The maximum number of seconds of training.
        progress: Receives messages and progress.
        initial: A parser to start from.
        vocabulary: A vocabulary to use instead of the treebank's.
        feed: What to train on instead of the treebank.
        teacher: For the card of a student, a sentence on its teacher and the text that the teacher
            parsed.
        keep_state: Keep the optimiser's state of a finished run.

    Returns:
        The state of the run.
    """
    with progress.bar():
        state = loop.train(
            prepared.recipe, prepared.train, prepared.dev, directory, device, seed, resume,
            max_time, initial, progress, prepared.sources, vocabulary, feed, keep_state,
        )  # fmt: skip
    if not is_first():
        return state
    result = f"best epoch: {state.best_epoch} of {state.epoch}, dev"
    result += f" {prepared.recipe.training.select} {state.best:.2f}"
    if (directory / CARD).exists():  # loop.train removes the card before it trains
        progress.say(f"{progress.label}the training is finished already; {result}")
        return state
    calibration_note = calibrate(directory, device, prepared) if state.best_epoch else ""
    write_card(
        directory, prepared.recipe, state, len(prepared.train), len(prepared.dev),
        calibration_note, teacher,
    )  # fmt: skip
    for line in filter(None, (result, calibration_note)):
        progress.say(progress.label + line)
    return state


def report_model(directory: PathLike, config: ParserConfig, say: Say) -> None:
    """Report where a finished model is, and the command that uses it.

    Args:
        directory: The model directory.
        config: The configuration of the parser.
        say: Receives the lines.
    """
    command, name = get_family(config).command, shlex.quote(str(directory))
    if name in bundled_models():
        name = f"./{name}"
    say(f"the model is in {directory}")
    say(f"{command} with it: depkit {command} --model {name} FILE")


def calibrate(directory: Path, device: torch.device, prepared: Prepared) -> str:
    """Calibrate the model in a directory on dev, and write the temperatures into its config.

    Args:
        directory: The model directory.
        device: The device to run the model on.
        prepared: The training.

    Returns:
        A sentence on the effect of the calibration; "" for a family without probabilities.
    """
    parser = load(directory, str(device), threads=torch.get_num_threads())
    vectors = loop.dev_vectors(prepared.dev, prepared.sources.dev)
    calibration, effect = get_family(parser.config).calibrate(parser, prepared.dev, vectors)
    if calibration:
        write_calibration(directory, calibration)
    return effect


def _copy_best(directory: Path, states: Sequence[State], select: str) -> str:
    """Copy the best seed's model into the parent directory; return a summary of all seeds."""
    best = max(states, key=lambda state: state.best)
    seed_directory = directory / f"seed-{best.seed}"
    if (seed_directory / TRANSFORMER).exists():
        with atomic_directory(directory / TRANSFORMER) as folder:
            copy_directory(seed_directory / TRANSFORMER, folder)
    for name in (CONFIG, VOCABULARY, WEIGHTS, CARD):
        with atomic(directory / name) as temporary:
            shutil.copy(seed_directory / name, temporary)
    scores = [state.best for state in states]
    return (
        f"dev {select} of {len(states)} seeds: {statistics.mean(scores):.2f} ±"
        f" {statistics.stdev(scores):.2f}; {directory} is a copy of seed {best.seed}, with"
        f" {best.best:.2f}"
    )
