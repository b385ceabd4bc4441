"""A complete training, from treebank files to a calibrated model with a model card.

`depkit train`, `depkit distill`, the members of an ensemble and `depkit.train` all use these steps:
read_data, prepare, provide_tokenizer, train_model.
"""

import filecmp
import os
import shlex
import shutil
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, Literal

import torch

from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence
from depkit.files.atomic import atomic, atomic_directory, copy_directory
from depkit.files.errors import FormatError, first_line
from depkit.files.lock import LOCK, lock_directory
from depkit.parsers.base import Parser
from depkit.parsers.config import ParserConfig
from depkit.parsers.engine.device import find_device
from depkit.parsers.export import export_model, wants_export
from depkit.parsers.families import get_family
from depkit.parsers.inputs.parts import check_inputs
from depkit.parsers.model_directory import (
    CARD,
    CONFIG,
    ENSEMBLE,
    PACKED_VOCABULARY,
    TOKENIZER,
    TRANSFORMER,
    VOCABULARY,
    WEIGHTS,
    bundled_models,
    find_missing_graph,
    find_model,
    remove_graphs,
    write_calibration,
)
from depkit.parsers.settings import ConfigError, to_toml
from depkit.parsers.text.tokenizer_file import read_tokenizer_notes, write_tokenizer
from depkit.parsers.torch_loading import load_on_torch
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
from depkit.training.job import TrainingJob
from depkit.training.plan import Plan
from depkit.training.progress import Progress
from depkit.training.recipe import (
    Recipe,
    Training,
    adopt_parts,
    make_recipe,
    split_name,
    trained_parts,
)
from depkit.training.sources import load_sources
from depkit.training.traces import check_resumable

Say = Callable[[str], None]

FIRST = ("train", "output")  # the positional arguments of `train`


def train(train: PathLike | Sequence[PathLike], output: PathLike, **options: Any) -> Path:
    """Train a parser on treebanks, as `depkit train` does, and return the model directory.

    >>> import depkit
    >>> depkit.train("train.conllu", dev="dev.conllu", output="my.model")  # doctest: +SKIP

    train: a file of training sentences, or several. output: the model directory to make. The
    options are the other fields of `training.job.TrainingJob`, for example dev, recipe or seed.

    Raises:
        ConfigError: For an unknown or invalid setting.
        ValueError: For an output that exists already, or that another process is training into.
        ModelError: For an `init` that is not a model.
        DataError, FormatError: For treebanks that cannot be trained on.
        ResumeError: For a run that cannot be resumed.
        TrainingError: If the loss is no longer finite, or a batch does not fit in memory.
    """
    return run_job(TrainingJob(train=train, output=output, **options))


def _describe_arguments() -> Signature:
    """Return the signature of `train` with the fields of TrainingJob, for help(depkit.train)."""
    fields = signature(TrainingJob).parameters
    first = [fields[name].replace(kind=Parameter.POSITIONAL_OR_KEYWORD) for name in FIRST]
    options = [field for name, field in fields.items() if name not in FIRST]
    return Signature([*first, *options], return_annotation=Path)


train.__signature__ = _describe_arguments()  # type: ignore[attr-defined]


def run_job(job: TrainingJob) -> Path:
    """Do a training and return the model directory; the errors are those of `train`."""
    max_time, recipe, initial = job.seconds, job.make_recipe(), None
    if job.init:
        initial = load_initial_model(job.init)
        shipped, _ = split_name(os.fspath(job.recipe))
        if trained_parts(recipe.parser) != trained_parts(make_recipe(shipped).parser):
            raise ConfigError(
                "`init` gives the parser the parts of the initial model, so only settings of"
                " training.* and decoder.* can be changed; omit the other settings"
            )
        recipe = adopt_parts(recipe, initial.config)
        get_family(recipe.parser).check_scoring(recipe.training.scoring)
    device = set_up_device(own_device(job.device), job.threads)
    members: Literal["seed", ""] = "seed" if job.seeds > 1 else ""
    with join_ranks(device), reserve_output(job.output, job.resume, members) as directory:
        quiet = job.quiet or not is_first()
        progress = Progress(directory, quiet)
        with first_before_others():
            data = read_data(recipe.parser, job, job.parses, job.dev_parses)
            plan = prepare(recipe, data, directory, device, initial=initial, say=progress.say)
        plan = replace(
            plan, seed=job.seed, resume=job.resume, keep_state=job.keep_state, progress=progress
        )
        if job.verbose:
            progress.say(describe_settings(plan.recipe, device))
        seconds = on_first(
            provide_tokenizer, replace(plan, max_time=max_time), job.init, None, job.settings
        )
        plan = replace(plan, max_time=max_time - seconds)
        if job.seeds == 1:
            train_model(plan)
        else:
            _train_seeds(plan, job.seeds, quiet)
        if is_first():
            export_trained(directory, recipe.parser, plan.train, progress.say)
        report_model(directory, recipe.parser, progress.say)
        return directory


def _train_seeds(plan: Plan, count: int, quiet: bool) -> None:
    """Train models with consecutive seeds, and copy the best one into the plan's directory."""
    states: list[State] = []
    for seed in range(plan.seed, plan.seed + count):
        directory = plan.directory / f"seed-{seed}"
        progress = Progress(directory, quiet, name=f"seed {seed}")
        # The first process locks the directories of the seeds and copies files.
        with lock_directory(directory) if is_first() else nullcontext():
            if is_first():
                copy_tokenizer(plan.directory, directory)
            states.append(
                train_model(replace(plan, directory=directory, seed=seed, progress=progress))
            )
    if is_first():
        plan.reporter.say(_copy_best(plan.directory, states, plan.recipe.training.select))


def set_up_device(device: str, threads: int | None) -> torch.device:
    """Set the number of torch's threads, unless it is None, and return the device of this name."""
    if threads:
        torch.set_num_threads(threads)
    return find_device(device)


def describe_settings(recipe: Recipe, device: torch.device) -> str:
    """Return the whole configuration as TOML, with the device in a comment."""
    return f"# on {device}\n{to_toml(recipe.tables())}"


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
                f"{output} is not empty; `resume` continues the run there; to start a new run,"
                " name another directory"
            )
        check_resumable(directory, members)
        yield directory


def load_initial_model(model: PathLike) -> Parser:
    """Load a model to start from. Raises ValueError for an ensemble."""
    if (find_model(model) / ENSEMBLE).is_file():
        raise ValueError(f"{model} is an ensemble; name one of its members")
    return load_on_torch(model, "cpu", "float32")


def prepare(
    recipe: Recipe,
    data: Data,
    directory: Path,
    device: torch.device,
    *,
    initial: Parser | None = None,
    say: Say = lambda text: None,
) -> Plan:
    """Resolve a recipe, load its sources and check the data; say receives notes and progress.

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
        recipe, data.train, data.dev, device, files=data.elmo, initial=initial, say=say
    )
    check_dev_scores(recipe, data.dev)
    if recipe.parser.inputs.draft:
        for name, sentences in (("train", data.train), ("dev", data.dev)):
            drafts = [sentence.draft for sentence in sentences if sentence.draft]
            scores = get_family(recipe.parser).evaluate(
                recipe.parser, sentences, drafts, recipe.training.scoring
            )
            listed = " ".join(f"{metric} {score:.2f}" for metric, score in scores.items())
            say(f"the parses of {name} that are corrected: {listed}")
    for finding in findings(recipe.parser, data.train, data.dev):
        say(f"depkit: note: {finding}")
    return Plan(
        recipe=recipe, train=data.train, dev=data.dev, directory=directory, device=device,
        sources=sources, initial=initial,
    )  # fmt: skip


def check_dev_scores(recipe: Recipe, dev: Sequence[Sentence]) -> None:
    """Raise ConfigError if training.punct cannot be applied to dev, which is better known now."""
    if (punct := recipe.training.punct) != "keep":
        try:
            scoring = recipe.training.scoring
            get_family(recipe.parser).evaluate(recipe.parser, dev, dev, scoring)
        except FormatError as error:
            raise ConfigError(
                f"training.punct={punct} cannot be applied to dev: {error.message}. To score all"
                " words, set `punct` to keep."
            ) from None


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
    plan: Plan,
    model: PathLike = "",
    owner: Parser | None = None,
    settings: Sequence[str] | None = (),
) -> float:
    """Write a tokenizer into the plan's directory: another model's, or one trained on the treebank.

    Args:
        plan: The plan; with tokenizer.enabled=false, no tokenizer is written.
        model: The name of a model whose tokenizer is copied, if it has one.
        owner: That model, if it is not the plan's initial one.
        settings: The settings KEY=VALUE of the job; a note names those that a copied tokenizer
            leaves without effect.

    Returns:
        The seconds that training the tokenizer took.
    """
    owner = owner or plan.initial
    if owner and owner.tokenizer and plan.recipe.tokenizer.enabled:
        keys = {text.partition("=")[0].strip() for text in settings or ()}
        keys -= {"tokenizer.enabled"}
        if owner is not plan.initial:  # `distill` also chooses the treebank of its text by this one
            keys -= {"tokenizer.treebank"}
        if unused := sorted(key for key in keys if key.startswith("tokenizer.")):
            plan.reporter.say(
                f"depkit: note: the tokenizer is that of {model}, so these settings have no effect:"
                f" {', '.join(unused)}"
            )
        notes = read_tokenizer_notes(find_model(model))
        scores = {"scores": notes.get("scores")}
        storage = tokenizer.choose_storage(plan)
        write_tokenizer(plan.directory, owner.tokenizer, scores, storage)
        return 0.0
    return tokenizer.provide_tokenizer(plan)


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy a model directory's tokenizer into another, if there is one."""
    if (source / TOKENIZER).exists():
        with atomic(target / TOKENIZER) as temporary:
            shutil.copy(source / TOKENIZER, temporary)


def train_model(plan: Plan) -> State:
    """Train a model, calibrate it on dev and write its card. A finished model is left unchanged.

    With several processes, only the first one calibrates the model and writes the card.
    """
    progress = plan.reporter
    with progress.bar():
        state = loop.train(plan)
    if not is_first():
        return state
    kept = plan.recipe.training.keep
    result = f"{kept} epoch: {state.best_epoch} of {state.epoch}, dev"
    result += f" {plan.recipe.training.select} {state.best:.2f}"
    if (plan.directory / CARD).exists():  # loop.train removes the card before it trains
        progress.say(f"{progress.label}the training is finished already; {result}")
        return state
    calibration_note = calibrate(plan)
    write_card(plan, state, calibration_note)
    for line in filter(None, (result, calibration_note)):
        progress.say(progress.label + line)
    return state


def export_trained(
    directory: Path, config: ParserConfig, train: Sequence[Sentence], say: Say
) -> None:
    """Export the graphs of a trained model, if its kind can be exported and has no graphs yet."""
    if not wants_export(config) or not find_missing_graph(directory):
        return
    try:
        export_model(directory, train, say=say)
    except Exception as error:  # The exporter has errors of many kinds; the training must not fail.
        reason = first_line(error)
        say(f"depkit: note: the model is run with torch, because it was not exported: {reason}")


def report_model(directory: PathLike, config: ParserConfig, say: Say) -> None:
    """Report where a finished model is, and the command that uses it."""
    command, name = get_family(config).command, shlex.quote(str(directory))
    if name in bundled_models():
        name = f"./{name}"
    say(f"the model is in {directory}")
    say(f"{command} with it: depkit {command} --model {name} FILE")


def calibrate(plan: Plan, parser: Parser | None = None) -> str:
    """Calibrate the model in the plan's directory on dev; write its temperatures into its config.

    parser: that model, if it is loaded already. Returns a sentence on the effect; "" for a family
    without probabilities.
    """
    if parser is None:
        parser = load_on_torch(plan.directory, str(plan.device), threads=torch.get_num_threads())
    vectors = loop.dev_vectors(plan.dev, plan.sources.dev)
    calibration, effect = get_family(parser.config).calibrate(parser, plan.dev, vectors)
    if calibration:
        write_calibration(plan.directory, calibration)
    return effect


def _copy_best(directory: Path, states: Sequence[State], select: str) -> str:
    """Copy the best seed's model into the parent directory; return a summary of all seeds."""
    best = max(states, key=lambda state: state.best)
    seed_directory = directory / f"seed-{best.seed}"
    if (seed_directory / TRANSFORMER).exists():
        with atomic_directory(directory / TRANSFORMER) as folder:
            copy_directory(seed_directory / TRANSFORMER, folder)
    vocabularies = [
        name for name in (VOCABULARY, PACKED_VOCABULARY) if (seed_directory / name).is_file()
    ]
    target = directory / WEIGHTS
    if not (target.is_file() and filecmp.cmp(seed_directory / WEIGHTS, target, shallow=False)):
        remove_graphs(directory)
    for name in (CONFIG, *vocabularies, WEIGHTS, CARD):
        with atomic(directory / name) as temporary:
            shutil.copy(seed_directory / name, temporary)
    scores = [state.best for state in states]
    return (
        f"dev {select} of {len(states)} seeds: {statistics.mean(scores):.2f} ±"
        f" {statistics.stdev(scores):.2f}; {directory} is a copy of seed {best.seed}, with"
        f" {best.best:.2f}"
    )
