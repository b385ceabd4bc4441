"""`depkit.train` makes the same model as the command `depkit train`."""

import math
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch

import depkit
from depkit.cli.main import run
from depkit.corpus.io import write
from depkit.parsers import KERNELS
from depkit.parsers.model_directory import CARD, WEIGHTS
from depkit.parsers.settings import ConfigError
from depkit.training.data import Data
from depkit.training.job import TrainingJob, parse_duration
from depkit.training.recipe import make_recipe
from depkit.training.run import prepare
from tests.cli.commands import set_options
from tests.conftest import SHARED, TINY

SETTINGS = [
    "inputs.word=8", "inputs.char=8", "encoder.layers=1", "encoder.size=8", "scorer.arc=8",
    "scorer.label=8", "training.batch_tokens=200", "tokenizer.enabled=false",
    "training.schedule=constant",  # a linear schedule would depend on the time that training takes
]  # fmt: skip


def treebanks(folder):
    """Return the paths of 40 train and dev sentences in Tamil; without ../shared, TINY twice."""
    names = [SHARED / "ud-tamil-ttb" / f"ta_ttb-ud-{part}.conllu" for part in ("train", "dev")]
    if not names[0].is_file():
        return [str(TINY), str(TINY)]
    for path in names:
        write(islice(depkit.read(path), 40), folder / path.name)
    return [str(folder / path.name) for path in names]


def test_the_api_makes_the_same_model_as_the_command(tmp_path):
    train, dev = treebanks(tmp_path)
    by_api, by_command = tmp_path / "api", tmp_path / "command"
    returned = depkit.train(
        train=[train], dev=dev, output=by_api, recipe="small", settings=SETTINGS,
        max_time="2m", epochs=2, seed=3, device="cpu", threads=1, quiet=True,
    )  # fmt: skip
    assert returned == by_api
    command = ["train", train, "--dev", dev, "-o", str(by_command), "--recipe", "small"]
    command += ["--max-time", "2m", "--epochs", "2", "--seed", "3", "--device", "cpu"]
    assert run([*command, *set_options(*SETTINGS), "--threads", "1", "-q"]) == 0
    files = {path.name for path in by_api.iterdir()}
    assert {WEIGHTS, CARD, "config.toml", "vocab.json"} <= files
    assert files == {path.name for path in by_command.iterdir()}
    for name in (WEIGHTS, "config.toml", "vocab.json"):
        assert (by_api / name).read_bytes() == (by_command / name).read_bytes()


def test_sizes_that_follow_from_the_treebank_are_printed(tiny):
    data = Data(list(tiny), list(tiny), [])
    lines = []
    recipe = make_recipe("selfatt", None, ["training.epochs=0", "training.updates=2000"])
    directory = Path()
    prepared = prepare(recipe, data, directory, torch.device("cpu"), say=lines.append)
    words = sum(map(len, tiny))
    assert lines[0] == f"for {words} words in train: at most 90 epochs, batches of 150 tokens"
    assert prepared.recipe.training.epochs == 90
    lines.clear()
    recipe = make_recipe("selfatt", None, ["training.epochs=9", "training.updates=2000"])
    prepared = prepare(recipe, data, directory, torch.device("cpu"), say=lines.append)
    assert lines[0].endswith("in train: batches of 150 tokens")
    lines.clear()
    prepare(prepared.recipe, data, directory, torch.device("cpu"), say=lines.append)
    assert not any("words in train" in line for line in lines)


def test_the_api_explains_errors(tmp_path):
    for options, message in (
        ({}, "name either `dev` or `dev_split`"),
        ({"dev": TINY, "max_time": "soon"}, "is not a time"),
        ({"dev": TINY, "recipe": "best"}, "no recipe 'best'"),
        ({"dev": TINY, "settings": ["encoder.size"]}, "not KEY=VALUE"),
        ({"dev": TINY, "seeds": 0}, "`seeds` is 0; it takes 1 or more"),
    ):
        with pytest.raises(ConfigError, match=message):
            depkit.train(train=[TINY], output=tmp_path / "m", device="cpu", **options)
    assert not (tmp_path / "m").exists()


def test_parse_duration_accepts_seconds_minutes_and_hours():
    texts = ["90s", "1.5m", "2h", ""]
    assert [parse_duration(text) for text in texts] == [90, 90, 7200, math.inf]
    for wrong in ("soon", "0m", "2d", "-3s"):
        with pytest.raises(ConfigError, match="`max_time`"):
            parse_duration(wrong)


@pytest.mark.parametrize("variables", [{}, {"LRU_CACHE_CAPACITY": "7", KERNELS: "9"}])
@pytest.mark.parametrize(
    ("module", "kernels"), [("parsers.model_directory", "256"), ("training.run", "4096")]
)
def test_caches_of_cpu_kernels_are_limited_unless_set(module, kernels, variables):
    code = f"import depkit.parsers.settings, depkit.{module}, os; print(*map(os.environ.get, {{}}))"
    limits = {KERNELS: kernels, "LRU_CACHE_CAPACITY": "64"}
    command = [sys.executable, "-c", code.format(list(limits))]
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    environment |= variables
    output = subprocess.check_output(command, env=environment, text=True)
    assert output.split() == [variables.get(name, limit) for name, limit in limits.items()]


def test_a_recipe_can_be_a_path_and_settings_none(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('base = "small"\n[encoder]\nlayers = 1\n')
    job = TrainingJob(train=TINY, output=tmp_path / "model", recipe=path, settings=None)
    assert job.make_recipe() == make_recipe("small", settings=["encoder.layers=1"])


def test_punctuation_can_be_left_out_of_the_dev_scores(tmp_path, capfd):
    directory = tmp_path / "model"
    command = ["train", str(TINY), "--dev", str(TINY), "-o", str(directory), "--device", "cpu"]
    command += ["--recipe", "small", "--epochs", "1", *set_options(*SETTINGS)]
    assert run([*command, "--punct", "commas"]) == 2
    assert "--punct" in capfd.readouterr().err
    untagged = tmp_path / "untagged.conllu"
    write([s.with_columns({"xpos": ["_"] * len(s)}) for s in depkit.read(TINY)], untagged)
    assert run([*command, "--dev", str(untagged), "--punct", "ptb"]) == 2
    assert "training.punct=ptb cannot be applied to dev" in capfd.readouterr().err
    assert not directory.exists()
    assert run([*command, "--punct", "upos"]) == 0
    assert "without punctuation (--punct upos)" in (directory / CARD).read_text()


def test_punctuation_cannot_be_left_out_of_the_scores_of_a_tagger(tmp_path):
    options = {"train": TINY, "dev": TINY, "epochs": 1, "device": "cpu"}
    settings = [*SETTINGS[:4], "tokenizer.enabled=false"]
    depkit.train(**options, output=tmp_path / "tagger", recipe="tagger", settings=settings)
    with pytest.raises(ConfigError, match="family=tagger has no scores that leave out"):
        depkit.train(
            **options, output=tmp_path / "on", init=tmp_path / "tagger", recipe="small",
            punct="upos",
        )  # fmt: skip


@pytest.mark.parametrize(("recipe", "command"), [("small", "parse"), ("tagger", "tag")])
def test_training_ends_with_its_result_and_the_next_command(recipe, command, tmp_path, capfd):
    directory = tmp_path / "my model"
    settings = [*SETTINGS[:4], "tokenizer.enabled=false"]
    options = {
        "train": TINY, "dev": TINY, "output": directory, "recipe": recipe, "settings": settings,
        "epochs": 1, "device": "cpu",
    }  # fmt: skip
    depkit.train(**options)
    err = capfd.readouterr().err.splitlines()
    best = next(line for line in err if line.startswith("best epoch: 1 of 1, dev "))
    assert err[-2:] == [
        f"the model is in {directory}",
        f"{command} with it: depkit {command} --model '{directory}' FILE",
    ]
    with pytest.raises(ValueError, match="`keep_state`"):
        depkit.train(**options | {"resume": True, "epochs": 2})
    capfd.readouterr()
    depkit.train(**options, resume=True)
    assert capfd.readouterr().err.splitlines()[-3:] == [
        f"the training is finished already; {best}",
        *err[-2:],
    ]
    depkit.train(**options, resume=True, quiet=True)
    assert capfd.readouterr().err == ""
