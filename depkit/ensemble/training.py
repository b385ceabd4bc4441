"""The training of an ensemble: its tokenizer, its members, and one model directory for all."""

import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import torch

from depkit.ensemble.members import Plan, prepare_recipes, train_member
from depkit.ensemble.out_of_fold import describe_folds
from depkit.files.children import Bond, run_child
from depkit.files.isolation import safe_search_path
from depkit.files.lock import lock_directory
from depkit.files.progress import ProgressBars, RemoteProgressBars, apply_message
from depkit.parsers.ensemble_config import EnsembleConfig, Mean
from depkit.parsers.model_directory import TOKENIZER, load, write_ensemble
from depkit.training.card import write_ensemble_card
from depkit.training.checkpoint import State
from depkit.training.loop import TrainingError, score_dev
from depkit.training.run import calibrate, provide_tokenizer, report_model
from depkit.training.sources import Sources
from depkit.training.traces import check_resumable


def train_ensemble(
    plan: Plan, devices: Sequence[str], threads: int, mean: Mean = "arithmetic"
) -> dict[str, float]:
    """Train an ensemble and write its model directory; return its dev scores by metric.

    Members whose training is finished are not trained again. See `loop.score_dev` for the scores.

    Args:
        plan: The ensemble to train.
        devices: Devices to train on. Each trains one member at a time; several devices are used in
            parallel, each by a separate process.
        threads: Number of threads of each process.
        mean: How the members' distributions are combined.

    Raises:
        CombinationError, ConfigError, DataError, FormatError, OSError: As `prepare_recipes`.
        LockedError: If another process is training the ensemble.
        ResumeError, TrainingError: As `check_resumable` and `loop.train`; TrainingError also if a
            process failed.
    """
    with lock_directory(plan.directory):
        check_resumable(plan.directory, "fold")
        return _train_and_combine(plan, devices, threads, mean)


def _train_and_combine(
    plan: Plan, devices: Sequence[str], threads: int, mean: Mean
) -> dict[str, float]:
    """Do the work of `train_ensemble` in a directory that is locked."""
    bars = ProgressBars(plan.quiet)
    say = bars.say
    torch.set_num_threads(threads)
    device = torch.device(devices[0])
    prepared_recipes = prepare_recipes(plan, device, say)
    first = prepared_recipes[plan.recipe(0)].prepared
    # An existing tokenizer is kept even if the list of recipes has changed.
    if not (plan.directory / TOKENIZER).exists():
        provide_tokenizer(plan.directory, first, device, plan.seed, plan.max_time, say)
    if len(devices) > 1:
        _train_in_parallel(plan, devices, threads, bars)
    states: dict[str, State] = {}
    for member, name in enumerate(plan.names):  # for a finished member, this only reads its state
        say(f"member {member + 1} of {plan.folds}, {name}")
        states[name] = train_member(plan, prepared_recipes[plan.recipe(member)], member, device)
    jackknife = describe_folds(first.train, plan.seed, plan.dev_split)
    write_ensemble(plan.directory, EnsembleConfig(plan.names, mean, jackknife=jackknife))
    # Contextual vectors of dev from files, which no member can compute when it parses.
    sources = [recipe.prepared.sources for recipe in prepared_recipes.values()]
    dev_vectors = next(
        (source.dev for source in sources if not source.transformer and source.dev is not None),
        None,
    )
    ensemble = replace(first, sources=Sources(dev=dev_vectors))
    parser = load(plan.directory, devices[0], threads=threads)
    scores = score_dev(parser, ensemble.dev, dev_vectors, first.recipe.training.punct)
    calibration_note = calibrate(plan.directory, device, ensemble)
    if calibration_note:
        say(calibration_note)
    write_ensemble_card(
        plan.directory, first.recipe, states, mean, scores, len(first.train), len(first.dev),
        calibration_note,
    )  # fmt: skip
    say("the ensemble: dev " + " ".join(f"{name} {score:.2f}" for name, score in scores.items()))
    report_model(plan.directory, first.recipe.parser, say)
    return scores


@safe_search_path()
def _train_in_parallel(
    plan: Plan, devices: Sequence[str], threads: int, bars: ProgressBars
) -> None:
    """Train all members in parallel, one at a time on each device.

    Raises TrainingError with the message of a process that failed.
    """
    context = multiprocessing.get_context("spawn")
    next_member = context.Value("i", 0)
    processes: dict[Connection, SpawnProcess] = {}
    try:
        # A terminal sends Ctrl-C to all processes, but only the parent may react. The children
        # inherit the mask, so that they ignore the signal from the start.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for device in devices[: plan.folds]:
            receiver, sender = context.Pipe(duplex=False)
            arguments = (Bond(), _train_members, plan, device, threads, next_member, sender)
            process = context.Process(target=run_child, args=arguments)
            process.start()
            processes[receiver] = process
            sender.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _show_messages(processes, plan.folds, bars)
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


def _train_members(
    plan: Plan, device: str, threads: int, next_member: Any, sender: Connection
) -> None:
    """Train members that no other process has begun, until none are left.

    Args:
        plan: The ensemble to train.
        device: Device of this process.
        threads: Number of threads of this process.
        next_member: Index of the next member, shared between the processes.
        sender: Receives messages for `_show_messages`. If processes wrote to the terminal
            themselves, their lines would be mixed up.
    """
    torch.set_num_threads(threads)
    bars = RemoteProgressBars(plan.quiet, sender.send)
    try:
        torch_device = torch.device(device)
        prepared_recipes = prepare_recipes(plan, torch_device)
        while True:
            with next_member.get_lock():
                member = next_member.value
                next_member.value += 1
            if member >= plan.folds:
                return
            prepared_recipe = prepared_recipes[plan.recipe(member)]
            train_member(plan, prepared_recipe, member, torch_device, bars)
    except Exception as error:
        message = " ".join(str(error).split()) or type(error).__name__
        sender.send(("failed", f"on {device}: {message}"))
        raise SystemExit(1) from None
