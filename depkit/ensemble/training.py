"""An ensemble trained: a tokenizer for all, the members, one model directory."""

import multiprocessing
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Any

import torch

from depkit.drawing.progress import ProgressBars, RemoteProgressBars, receive
from depkit.ensemble.members import Plan, prepare_kinds, train_member
from depkit.parsers.config import EnsembleConfig, Mean
from depkit.parsers.model_directory import TOKENIZER, load, write_ensemble
from depkit.training.card import write_ensemble_card
from depkit.training.checkpoint import State, sweep
from depkit.training.loop import TrainingError, dev_scores
from depkit.training.run import calibrate, provide_tokenizer, say_where
from depkit.training.sources import Sources


def train_ensemble(
    plan: Plan, devices: Sequence[str], threads: int, mean: Mean = "arithmetic"
) -> dict[str, float]:
    """Train what is not trained yet of an ensemble, and make one model directory of it.

    devices: on each, one member is trained at a time; where there are several, in processes of
    their own with so many threads. Returns the ensemble's dev scores; see `loop.dev_scores`.
    Raises what `members.prepare_kinds` and `loop.train` do; TrainingError where another process
    failed.
    """
    bars = ProgressBars(plan.quiet)
    say = bars.say
    torch.set_num_threads(threads)
    device = torch.device(devices[0])
    kinds = prepare_kinds(plan, device, say)
    plan.directory.mkdir(parents=True, exist_ok=True)
    first = kinds[plan.recipe(0)].prepared
    sweep(plan.directory)
    if not (plan.directory / TOKENIZER).exists():  # that of another list of recipes will do
        provide_tokenizer(plan.directory, first, device, plan.seed, plan.max_time, say)
    if len(devices) > 1:
        _side_by_side(plan, devices, threads, bars)
    states: dict[str, State] = {}
    for number, name in enumerate(plan.names):  # one that is through is only looked at
        say(f"member {number + 1} of {plan.folds}, {name}")
        states[name] = train_member(plan, kinds[plan.recipe(number)], number, device)
    write_ensemble(plan.directory, EnsembleConfig(plan.names, mean))
    # contextual vectors of dev that no member can compute itself
    contexts = (kind.prepared.sources for kind in kinds.values())
    context = next(
        (each.dev for each in contexts if not each.transformer and each.dev is not None), None
    )
    whole = replace(first, sources=Sources(dev=context))
    scores = dev_scores(load(plan.directory, devices[0], threads=threads), whole.dev, context)
    calibrated = calibrate(plan.directory, device, whole)
    if calibrated:
        say(calibrated)
    write_ensemble_card(
        plan.directory, first.recipe, states, mean, scores, len(first.train), len(first.dev),
        calibrated,
    )  # fmt: skip
    say("the ensemble: dev " + " ".join(f"{name} {score:.2f}" for name, score in scores.items()))
    say_where(plan.directory, first.recipe.parser, say)
    return scores


def _side_by_side(plan: Plan, devices: Sequence[str], threads: int, bars: ProgressBars) -> None:
    """Train all members, one a device at a time. Raises TrainingError with a failure's words."""
    context = multiprocessing.get_context("spawn")
    following = context.Value("i", 0)
    running: dict[Connection, SpawnProcess] = {}
    try:
        # what a terminal's Ctrl-C sends is for the parent alone, from the children's first moment
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for device in devices[: plan.folds]:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(plan, device, threads, following, sender))
            process.start()
            running[receiver] = process
            sender.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _show_all(running, plan.folds, bars)
    finally:
        bars.remove()
        for process in running.values():
            if process.is_alive():
                process.terminate()
        for process in running.values():
            process.join()


def _show_all(running: dict[Connection, SpawnProcess], folds: int, bars: ProgressBars) -> None:
    """Show what the processes send, until all have ended. Raises TrainingError if one fails."""
    left, finished = dict(running), 0
    with bars.bar("members") as show:
        while left:
            ready = wait(left)
            for receiver in [each for each in left if each in ready]:
                try:
                    message = receiver.recv()
                except (EOFError, OSError):  # the process has ended, maybe in mid-message
                    process = left.pop(receiver)
                    process.join()
                    if process.exitcode:
                        raise TrainingError(
                            f"a training process ended with status {process.exitcode}; the same"
                            " command goes on where it stopped"
                        ) from None
                    continue
                if message[0] == "failed":
                    raise TrainingError(message[1])
                receive(bars, message)
                finished += message[0] == "remove"  # a member that is finished removes its bar
                show(finished, folds, f"{finished} of {folds}")


def _end_with_parent() -> None:
    """End this process when its parent was killed; what it wrote is whole at any moment."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)


def _work(plan: Plan, device: str, threads: int, following: Any, sender: Connection) -> None:
    """Train the members that no other process has begun, until there is none.

    following: the number of the next one, shared among processes. sender: takes messages for
    `_show_all`; processes that wrote to the terminal themselves would mix their lines.
    """
    Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    bars = RemoteProgressBars(plan.quiet, sender.send)
    try:
        own_device = torch.device(device)
        kinds = prepare_kinds(plan, own_device)
        while True:
            with following.get_lock():
                number = following.value
                following.value += 1
            if number >= plan.folds:
                return
            kind = kinds[plan.recipe(number)]
            train_member(plan, kind, number, own_device, bars)
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        sender.send(("failed", f"on {device}: {what}"))
        raise SystemExit(1) from None
