"""The training of an ensemble: its tokenizer, its members, and one model directory for all."""

import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import torch

from depkit.ensemble.members import EnsembleJob, prepare_recipes, train_member
from depkit.ensemble.out_of_fold import describe_folds
from depkit.files.children import Bond, run_child
from depkit.files.isolation import safe_search_path
from depkit.files.lock import lock_directory
from depkit.files.progress import ProgressBars, RemoteProgressBars, apply_message
from depkit.files.system import without_interrupts
from depkit.parsers.engine.device import find_devices
from depkit.parsers.ensemble_config import EnsembleConfig
from depkit.parsers.model_directory import ENSEMBLE, TOKENIZER, write_ensemble
from depkit.parsers.torch_loading import load_on_torch
from depkit.training.card import write_ensemble_card
from depkit.training.checkpoint import State
from depkit.training.loop import score_dev
from depkit.training.plan import TrainingError
from depkit.training.progress import Progress
from depkit.training.run import calibrate, export_trained, provide_tokenizer, report_model
from depkit.training.sources import Sources
from depkit.training.traces import check_resumable


def train_ensemble(job: EnsembleJob) -> dict[str, float]:
    """Train an ensemble and write its model directory; return its dev scores by metric.

    Members whose training is finished are not trained again.

    Raises:
        CombinationError, ConfigError, DataError, FormatError, OSError: As `prepare_recipes`.
        LockedError: If another process is training the ensemble.
        ResumeError, TrainingError: As `check_resumable` and `loop.train`; TrainingError also if a
            process failed.
    """
    if job.directory.exists() and not job.directory.is_dir():
        raise ValueError(f"{job.output} is a file; name a directory")
    for ensemble in map(Path, job.reuse):
        if not (ensemble / ENSEMBLE).exists() and not list(ensemble.glob("fold-*")):
            raise ValueError(f"`reuse` {ensemble}: there is no ensemble in this directory")
    devices = list(map(str, find_devices(job.device)))
    threads = job.threads or max(1, (os.cpu_count() or 1) // len(devices))
    job = replace(job, threads=threads)
    bars = ProgressBars(job.quiet)
    if job.verbose:
        bars.say(f"# {job.folds} members on {', '.join(devices)}")
    with lock_directory(job.directory):
        check_resumable(job.directory, "fold")
        return _train_and_combine(job, devices, bars)


def _train_and_combine(
    job: EnsembleJob, devices: Sequence[str], bars: ProgressBars
) -> dict[str, float]:
    """Do the work of `train_ensemble` in a directory that is locked."""
    say = bars.say
    torch.set_num_threads(job.threads or 1)
    plans = prepare_recipes(job, torch.device(devices[0]), say)
    first = replace(plans[job.member_recipe(0)], progress=Progress(job.directory, bars=bars))
    # An existing tokenizer is kept even if the list of recipes has changed.
    if not (job.directory / TOKENIZER).exists():
        provide_tokenizer(first)
    if len(devices) > 1:
        _train_in_parallel(job, devices, bars)
    states: dict[str, State] = {}
    for member, name in enumerate(job.names):  # for a finished member, this only reads its state
        say(f"member {member + 1} of {job.folds}, {name}")
        states[name] = train_member(job, plans[job.member_recipe(member)], member)
    jackknife = describe_folds(first.train, job.folds, job.seed, job.dev_split)
    write_ensemble(job.directory, EnsembleConfig(job.names, job.mean, jackknife=jackknife))
    # Contextual vectors of dev from files, which no member can compute when it parses.
    sources = [plan.sources for plan in plans.values()]
    dev_vectors = next(
        (source.dev for source in sources if not source.transformer and source.dev is not None),
        None,
    )
    parser = load_on_torch(job.directory, devices[0], threads=job.threads)
    scores = score_dev(parser, first.dev, dev_vectors, first.recipe.training.scoring)
    calibration_note = calibrate(replace(first, sources=Sources(dev=dev_vectors)), parser)
    if calibration_note:
        say(calibration_note)
    write_ensemble_card(
        first, states, mean=job.mean, scores=scores, calibration_note=calibration_note
    )
    export_trained(job.directory, first.recipe.parser, first.train, say)
    say("the ensemble: dev " + " ".join(f"{name} {score:.2f}" for name, score in scores.items()))
    report_model(job.directory, first.recipe.parser, say)
    return scores


@safe_search_path()
def _train_in_parallel(job: EnsembleJob, devices: Sequence[str], bars: ProgressBars) -> None:
    """Train all members in parallel, one at a time on each device.

    Raises TrainingError with the message of a process that failed.
    """
    context = multiprocessing.get_context("spawn")
    next_member = context.Value("i", 0)
    processes: dict[Connection, SpawnProcess] = {}
    try:
        # A terminal sends Ctrl-C to all processes, but only the parent may react. The children
        # inherit the mask, so that they ignore the signal from the start.
        with without_interrupts():
            for device in devices[: job.folds]:
                receiver, sender = context.Pipe(duplex=False)
                arguments = (Bond(), _train_members, job, device, next_member, sender)
                process = context.Process(target=run_child, args=arguments)
                process.start()
                processes[receiver] = process
                sender.close()
        _show_messages(processes, job.folds, bars)
    finally:
        bars.remove()
        for process in processes.values():
            if process.is_alive():
                process.terminate()
        for process in processes.values():
            process.join()


def _show_messages(
    processes: dict[Connection, SpawnProcess], num_members: int, bars: ProgressBars
) -> None:
    """Show the processes' messages until all have ended.

    Raises TrainingError if a process fails.
    """
    running, num_finished = dict(processes), 0
    with bars.bar("members") as show:
        while running:
            ready = wait(running)
            for receiver in [receiver for receiver in running if receiver in ready]:
                try:
                    message = receiver.recv()
                except (EOFError, OSError):  # the process has ended, perhaps within a message
                    process = running.pop(receiver)
                    process.join()
                    if process.exitcode:
                        raise TrainingError(
                            f"a training process ended with status {process.exitcode}; run the"
                            " same command again to resume"
                        ) from None
                    continue
                if message[0] == "failed":
                    raise TrainingError(message[1])
                apply_message(bars, message)
                num_finished += message[0] == "remove"  # a finished member removes its bar
                show(num_finished, num_members, f"{num_finished} of {num_members}")


def _train_members(job: EnsembleJob, device: str, next_member: Any, sender: Connection) -> None:
    """Train members that no other process has begun, until none are left.

    Args:
        job: The ensemble to train.
        device: Device of this process.
        next_member: Index of the next member, shared between the processes.
        sender: Receives messages for `_show_messages`. If processes wrote to the terminal
            themselves, their lines would be mixed up.
    """
    torch.set_num_threads(job.threads or 1)
    bars = RemoteProgressBars(job.quiet, sender.send)
    try:
        plans = prepare_recipes(job, torch.device(device))
        while True:
            with next_member.get_lock():
                member = next_member.value
                next_member.value += 1
            if member >= job.folds:
                return
            train_member(job, plans[job.member_recipe(member)], member, bars)
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        sender.send(("failed", f"on {device}: {message}"))
        raise SystemExit(1) from None
