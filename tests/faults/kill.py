"""Kills of a command at random times; the outputs must be those of an undisturbed run."""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.faults.outputs import find_differences, read_outputs
from tests.faults.processes import Command, Run

Say = Callable[[str], object]


def try_kills(
    command: Command, folder: Path, kills: int, seed: int = 1, again: Sequence[str] = (),
    say: Say = print,
) -> list[str]:  # fmt: skip
    """Kill a command (SIGKILL) and continue it until it was killed `kills` times.

    A run that ends before it is killed is compared with the undisturbed one, and the next run
    starts in an empty directory. At random, all processes are killed, or only the first one, as by
    the out-of-memory killer; the others must then end by themselves.

    Args:
        command: The command.
        folder: An empty directory for the trials.
        kills: The number of kills.
        seed: The seed of the random times.
        again: The arguments with which a killed command is continued.
        say: Called with each line of the report.

    Returns:
        The faults that were found.
    """
    errors, whole, cut = folder / "errors", folder / "whole", folder / "cut"
    began = time.monotonic()
    run = command.start(whole, errors)
    if run.wait():
        return [f"the undisturbed run failed: {run.describe_errors()}"]
    duration = time.monotonic() - began
    expected = read_outputs(whole)
    say(f"undisturbed: {duration:.1f} s, {len(expected)} files and directories")
    moments = random.Random(seed)
    counts: Counter[str] = Counter()
    faults: list[str] = []

    def finish(run: Run, status: int | None) -> None:
        counts["finished"] += 1
        counts["orphans"] += run.end_session()
        found = find_differences(expected, read_outputs(cut))
        if status:
            found = [f"status {status}: {run.describe_errors()}"]
        faults.extend(f"after {counts['kills']} kills: {fault}" for fault in found)
        shutil.rmtree(cut)

    while counts["kills"] < kills:
        run = command.start(cut, errors, again if counts["since start"] else [])
        began = time.monotonic()
        status = run.wait(moments.uniform(0, duration))
        if status is not None:
            if not counts["since start"]:
                # The machine may be less busy than before. Kills should come before a run ends.
                duration = min(duration, time.monotonic() - began)
            finish(run, status)
            counts["since start"] = 0
            continue
        only_first = moments.random() < 0.5 and len(run.processes()) > 1
        counts["orphans"] += run.kill(only_first)
        counts["kills"] += 1
        counts["since start"] += 1
        counts["only first"] += only_first
    run = command.start(cut, errors, again)
    finish(run, run.wait())
    say(
        f"{counts['kills']} kills ({counts['only first']} of the first process only),"
        f" {counts['finished']} runs finished, {counts['orphans']} orphans,"
        f" {len(faults)} other faults"
    )
    return [*faults, *[f"{counts['orphans']} orphans"] * (counts["orphans"] > 0)]
