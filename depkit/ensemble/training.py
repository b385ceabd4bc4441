"""An ensemble trained: a tokenizer for all, the members, one model directory."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Any

import torch

from depkit.ensemble.members import Plan, Prepared, prepare, train_member
from depkit.parsers.graph.calibration import calibrate_model
from depkit.parsers.graph.ensemble import EnsembleConfig, Mean
from depkit.parsers.model_directory import TOKENIZER, load, write_ensemble
from depkit.training.card import write_ensemble_card
from depkit.training.checkpoint import State, sweep
from depkit.training.loop import TrainingError, dev_scores
from depkit.training.progress import Progress
from depkit.training.tokenizer import provide_tokenizer


def train_ensemble(
    plan: Plan, devices: Sequence[str], threads: int, mean: Mean = "arithmetic"
) -> dict[str, float]:
    """Train what is not trained yet of an ensemble, and make one model directory of it.

    devices: on each, one member is trained at a time; where there are several, in processes of
    their own with so many threads. Returns the ensemble's dev scores; see `loop.dev_scores`.
    Raises what `members.prepare` and `loop.train` do; TrainingError where another process failed.
    """
    say = Progress(plan.directory, plan.quiet).say
    torch.set_num_threads(threads)
    place = torch.device(devices[0])
    prepared = prepare(plan, place, say)
    plan.directory.mkdir(parents=True, exist_ok=True)
    first = prepared.kinds[plan.recipe(0)].recipe
    sweep(plan.directory)
    if not (plan.directory / TOKENIZER).exists():  # that of another list of recipes will do
        provide_tokenizer(
            plan.directory, first, prepared.train, prepared.dev, place, plan.seed, plan.max_time,
            say,
        )  # fmt: skip
    if len(devices) > 1:
        _side_by_side(plan, devices, threads)
    # one that is through is only looked at
    states = [_train_one(plan, prepared, number, place, say) for number in range(plan.folds)]
    write_ensemble(plan.directory, EnsembleConfig(plan.names, mean))
    parser = load(plan.directory, devices[0], threads=threads)
    contexts = (kind.sources for kind in prepared.kinds.values() if not kind.sources.transformer)
    context = next((sources.dev for sources in contexts if sources.dev is not None), None)
    scores = dev_scores(parser, prepared.dev, context)
    calibrated = ""
    if parser.config.scorer.tree:
        calibrated = calibrate_model(plan.directory, parser, prepared.dev, context)
        say(calibrated)
    write_ensemble_card(
        plan.directory, first, dict(zip(plan.names, states, strict=True)), mean, scores,
        len(prepared.train), len(prepared.dev), calibrated,
    )  # fmt: skip
    return scores


def _train_one(
    plan: Plan, prepared: Prepared, number: int, device: torch.device, say: Callable[[str], None]
) -> State:
    say(f"member {number + 1} of {plan.folds}, {plan.names[number]}")
    return train_member(plan, prepared, number, device)


def _side_by_side(plan: Plan, devices: Sequence[str], threads: int) -> None:
    """Train all members, one a device at a time. Raises TrainingError with a failure's words."""
    context = multiprocessing.get_context("spawn")
    following, failures = context.Value("i", 0), context.SimpleQueue()
    processes = [
        context.Process(target=_work, args=(plan, device, threads, following, failures))
        for device in devices[: plan.folds]
    ]
    try:
        # what a terminal's Ctrl-C sends is for the parent alone, from the children's first moment
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for process in processes:
            process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _wait_for(processes)
        if not failures.empty():
            raise TrainingError(failures.get())
        for process in processes:
            if process.exitcode:
                raise TrainingError(
                    f"a training process ended with status {process.exitcode}; the same command"
                    " goes on where it stopped"
                )
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
        for process in processes:
            process.join()


def _wait_for(processes: Sequence[SpawnProcess]) -> None:
    """Until all have ended, or one has failed."""
    running = {process.sentinel: process for process in processes}
    while running:
        for sentinel in wait(list(running)):
            process = running.pop(sentinel)  # type: ignore[arg-type]
            process.join()
            if process.exitcode:
                return


def _end_with_parent() -> None:
    """End this process when its parent was killed; what it wrote is whole at any moment."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)


def _work(plan: Plan, device: str, threads: int, following: Any, failures: Any) -> None:
    """Train the members that no other process has begun, until there is none.

    following: the number of the next one, shared among processes.
    """
    Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        place = torch.device(device)
        prepared = prepare(plan, place)
        while True:
            with following.get_lock():
                number = following.value
                following.value += 1
            if number >= plan.folds:
                return
            train_member(plan, prepared, number, place, labelled=True)
    except Exception as error:
        failures.put(f"on {device}: {' '.join(str(error).split()) or type(error).__name__}")
        raise SystemExit(1) from None
