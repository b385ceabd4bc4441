"""Several processes train the same model as one process, and all of them end together."""

import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import distributed, nn

import depkit
from depkit.cli import main
from depkit.corpus.io import read
from depkit.parsers.config import Inputs
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.training.checkpoint import ResumeError
from depkit.training.distributed import (
    RankError,
    clock,
    join_ranks,
    on_first,
    own_part,
    own_seed,
    sum_gradients,
)
from depkit.training.plan import TrainingError
from tests.cli.commands import ON_CPU, SMALL, assert_fails, set_options
from tests.conftest import TINY, TREES
from tests.parsers.constituency import small_recipes as constituency
from tests.parsers.transition import small_recipes as transition
from tests.training.small_runs import CPU, Killed, kill_training_at, run, same_runs, small_recipe

RECIPES = {
    "selfatt": (small_recipe, "selfatt"),
    "bilstm": (small_recipe, "bilstm"),
    "constituency": (constituency.make_recipe, "rotary"),
    "transition": (transition.make_recipe, "sentence-graph", 0),
}
TRAIN = [
    "train", str(TINY), "--dev", str(TINY), *SMALL, *set_options("tokenizer.size=16")
]  # fmt: skip


def call_in_ranks(function, *arguments, count=2):
    """Call a function in new processes that have torchrun's environment.

    Returns the result or the error of each process.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch._dynamo", __name__])  # so that a process starts fast
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        values = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free.getsockname()[1]}
    with ProcessPoolExecutor(count, context) as pool:
        futures = []
        for rank in range(count):
            values |= {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count}
            environment = {name: str(value) for name, value in values.items()}
            futures.append(pool.submit(call_in_environment, environment, function, arguments))
        return [future.exception() or future.result() for future in futures]


def call_in_environment(environment, function, arguments):
    os.environ.update(environment)
    return function(*arguments)


def train(recipe, directory, options, killed_update=0):
    """Train as one of several processes, if there are several."""
    sentences = list(read(TREES if recipe.parser.family == "constituency" else TINY))
    killing = kill_training_at(killed_update) if killed_update else nullcontext()
    with join_ranks(CPU), killing:
        return run(recipe, sentences, directory, **options)


def read_losses(directory):
    return [json.loads(line)["loss"] for line in (directory / "log.jsonl").open()]


@pytest.mark.parametrize("kind", RECIPES)
def test_two_processes_are_one_that_accumulates_two_batches(kind, tmp_path):
    make_recipe, *arguments = RECIPES[kind]
    # Three batches in each epoch make two updates; in the second one, a process has no batch.
    settings = {"epochs": 10, "batch_tokens": 80, "accumulate": 1}
    two = call_in_ranks(train, make_recipe(*arguments, **settings), tmp_path / "two", {})
    one = train(make_recipe(*arguments, **settings | {"accumulate": 2}), tmp_path / "one", {})
    assert two[0] == two[1] and two[0].update == one.update == 20
    losses = read_losses(tmp_path / "one")
    assert read_losses(tmp_path / "two") == pytest.approx(losses, rel=1e-5)
    assert losses[-1] < losses[0]


def test_a_resumed_run_gives_the_model_of_an_uninterrupted_run(tmp_path):
    # This recipe has dropout.
    recipe = small_recipe("selfatt", Inputs(word=12, char=12))
    whole = call_in_ranks(train, recipe, tmp_path / "whole", {})
    cut = call_in_ranks(train, recipe, tmp_path / "cut", {}, 4)
    assert [type(error) for error in cut] == [Killed, Killed]
    with pytest.raises(ResumeError, match=r"started with torchrun=2 processes \(now unset\);"):
        train(recipe, tmp_path / "cut", {"resume": True})
    resumed = call_in_ranks(train, recipe, tmp_path / "cut", {"resume": True})
    assert [state.update for state in whole + resumed] == [6] * 4
    assert same_runs(tmp_path / "whole", tmp_path / "cut")


def test_all_processes_end_after_the_same_update(tmp_path):
    # The batch size, too, depends on time that each process measures.
    recipe = small_recipe(epochs=10_000, batch_tokens=10_000, updates=100, patience=10_000)
    states = call_in_ranks(train, recipe, tmp_path, {"max_time": 2.0})
    assert states[0] == states[1] and states[0].seconds > 2


def train_without_memory(recipe, directory):
    def forward(self, batch):
        raise MemoryError

    with pytest.MonkeyPatch.context() as patch:
        if os.environ["RANK"] == "1":
            patch.setattr(BiaffineNetwork, "forward", forward)
        train(recipe, directory, {})


def test_a_lack_of_memory_ends_all_processes(tmp_path):
    errors = call_in_ranks(train_without_memory, small_recipe(), tmp_path)
    assert [type(error) for error in errors] == [RankError, TrainingError]
    assert "does not fit in memory" in str(errors[1])


def train_on_part(recipe, directory):
    with join_ranks(CPU):
        sentences = list(read(TINY))[distributed.get_rank() :]
        run(recipe, sentences, directory)


def test_processes_with_other_data_are_refused(tmp_path):
    errors = call_in_ranks(train_on_part, small_recipe(), tmp_path)
    assert isinstance(errors[0], RankError) and isinstance(errors[1], TrainingError)
    assert "started with other training sentences, other dev sentences;" in str(errors[1])


def use_collectives():
    with join_ranks(CPU):
        rank = distributed.get_rank()
        network = nn.ParameterDict({name: nn.Parameter(torch.ones(2)) for name in "abc"})
        totals = torch.tensor([10.0])
        with sum_gradients(network, totals) as own_totals:
            own_totals += rank
            (network["a"] * rank).sum().backward()
            if rank == 2:
                network["b"].sum().backward()
        gradients = [None if w.grad is None else w.grad.tolist() for w in network.values()]
        try:
            on_first([].pop)
        except (IndexError, RankError) as error:
            name = type(error).__name__
        part = np.concatenate(own_part([np.array([i]) for i in range(5)])).tolist()
        return rank, gradients, totals.item(), clock(), name, part, own_seed(7)


def test_sums_measurements_and_errors_are_shared():
    rows = call_in_ranks(use_collectives, count=3)
    ranks, gradients, totals, times, names, parts, seeds = zip(*rows, strict=True)
    assert ranks == (0, 1, 2)
    assert gradients == ([[3.0, 3.0], [1.0, 1.0], None],) * 3
    assert totals == (13.0,) * 3
    assert len({*times}) == 1
    assert names == ("IndexError", "RankError", "RankError")
    assert parts == ([0, 3], [1, 4], [2])
    assert seeds[0] == 7 and len({*seeds}) == 3


def test_a_training_by_two_processes_is_complete(tmp_path):
    arguments = [*TRAIN, "--epochs", "1", "--seeds", "2", *ON_CPU, "-o", str(tmp_path / "model")]
    assert call_in_ranks(main.run, arguments) == [0, 0]
    assert len(depkit.load(tmp_path / "model", device="cpu")("The cat sleeps.")) == 1
    assert "seed 2, by 2 processes" in (tmp_path / "model/seed-2/README.md").read_text()
    assert not list(tmp_path.rglob(".*"))
    assert call_in_ranks(main.run, arguments) == [1, 1]  # the directory is not empty


KILLED = """
import os, signal
import torch
from depkit.cli.main import main
from tests.training.small_runs import kill_training_at

class Kill(Exception):
    def __init__(self):
        os.kill(os.getpid(), signal.SIGKILL)

with kill_training_at(3 if os.environ["RANK"] == "1" else 0, Kill):
    main()
"""


@pytest.mark.slow
def test_a_killed_process_ends_the_others_with_one_line(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(KILLED)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    arguments = [*TRAIN, *set_options("tokenizer.enabled=false"), *ON_CPU, "-o", "model"]
    path = os.pathsep.join(filter(None, sys.path))
    result = subprocess.run(
        [*launcher, "--nproc-per-node", "2", str(script), *arguments],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert result.returncode
    (line,) = re.findall("^depkit: error: .*", result.stderr, re.M)
    assert line.endswith("its message says why")
    assert f"{os.path.dirname(depkit.__file__)}{os.sep}" not in result.stderr  # no traceback
    assert not list((tmp_path / "model").glob(".*"))


def test_other_commands_and_other_gpus_are_refused_with_torchrun(monkeypatch, capfd):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert_fails(capfd, ["info"], 2, "torchrun can start only depkit train; run depkit info")
    assert_fails(capfd, [*TRAIN, "-o", "x", "--device", "cuda:1"], 2, "--device cuda:1 cannot be")
