"""Two runs cannot train into one directory, and a run that fails early leaves no directory."""

import filecmp
import os
import shutil

import pytest

from depkit.cli.main import run
from depkit.files.lock import LOCK, lock_directory
from depkit.parsers.model_directory import find_model
from tests.cli.commands import ON_CPU, SMALL, assert_fails
from tests.conftest import TINY

TRAINING = [*SMALL, "--set", "tokenizer.enabled=false", "--epochs", "1", *ON_CPU, "-q"]
TRAIN = ["train", str(TINY), "--dev", str(TINY), *TRAINING, "-o"]
COMMANDS = {
    "train": TRAIN,
    "seeds": [*TRAIN[:-1], "--seeds", "2", "-o"],
    "resume": [*TRAIN[:-1], "--resume", "-o"],
    "ensemble": ["ensemble", str(TINY), "--dev", str(TINY), "--folds", "2", *TRAINING, "-o"],
    "distill": ["distill", "en-ewt", "--train", str(TINY), "--dev", str(TINY), *TRAINING, "-o"],
    "jackknife": ["jackknife", str(TINY), "--folds", "2", *TRAINING, "-o", os.devnull, "--work"],
    "jackknife with resume": [
        "jackknife",
        str(TINY),
        "--folds",
        "2",
        *TRAINING,
        "--resume",
        "--work",
    ],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_in_use_is_refused_and_left_unchanged(command, tmp_path, capfd):
    directory = tmp_path / "used"
    with lock_directory(directory):
        for started in (False, True):  # the first run has written its first file
            if started:
                (directory / "fold-1-selfatt").mkdir()
            before = sorted(directory.iterdir())
            message = f"{directory} is in use by process {os.getpid()}; wait until it has ended"
            assert_fails(capfd, [*COMMANDS[command], str(directory)], 1, message)
            assert sorted(directory.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("resume", "."), ("seeds", "seed-1"), ("ensemble", "fold-1-selfatt"),
        ("jackknife", "fold-01"),
    ],
)  # fmt: skip
def test_each_model_in_a_directory_is_locked(command, folder, tmp_path, capfd):
    directory = tmp_path / "used" / folder
    with lock_directory(directory):
        if command == "jackknife":  # --work must be empty
            command = "jackknife with resume"
        arguments = [*COMMANDS[command], str(tmp_path / "used")]
        assert run([*arguments, "--resume"] if command == "seeds" else arguments) == 1
    assert f"{directory} is in use by process {os.getpid()};" in capfd.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("error", [["--set", "encoder.layers=0"], ["--encoding", "ascii"]])
def test_a_run_that_fails_early_leaves_no_directory(command, error, tmp_path, capfd):
    treebank = tmp_path / "treebank.conllu"
    treebank.write_text(TINY.read_text().replace("cat", "chât"))
    arguments = [argument.replace(str(TINY), str(treebank)) for argument in COMMANDS[command]]
    assert run([*arguments, str(tmp_path / "new"), *error]) in (1, 2)
    assert "depkit: error: " in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == [treebank]


def test_a_directory_with_the_lock_of_a_killed_run_is_empty(tmp_path):
    (tmp_path / LOCK).write_text("1")
    assert run([*TRAIN, str(tmp_path)]) == 0
    assert not list(tmp_path.glob(".*"))


FILES = {"README.md": "My notes\n", "config.toml": "a = 1\n", "vocab.json": "{}\n"}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", [".", "member"])
def test_a_directory_of_other_files_is_refused_and_left_unchanged(command, place, tmp_path, capfd):
    members = {"seeds": "seed-1", "ensemble": "fold-1-selfatt", "jackknife": "fold-01"}
    folder = tmp_path / "mine" / (place if place == "." else members.get(command[:8], "fold-01"))
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    resume = ["--resume"] * (command in ("train", "seeds", "distill", "jackknife"))
    arguments = [*COMMANDS[command], str(tmp_path / "mine"), *resume]
    message = f"{tmp_path / 'mine'} is not empty, and what is there is not of a training by depkit"
    assert_fails(capfd, arguments, 1, message)
    assert {path.name: path.read_text() for path in folder.iterdir()} == FILES
    assert len(list((tmp_path / "mine").iterdir())) == (3 if place == "." else 1)


@pytest.mark.parametrize("command", ["seeds", "ensemble", "jackknife"])
def test_a_model_is_not_overwritten_by_a_run_of_several(command, tmp_path, capfd):
    shutil.copytree(find_model("en-ewt"), tmp_path / "model")
    resume = ["--resume"] * (command != "ensemble")
    arguments = [*COMMANDS[command], str(tmp_path / "model"), *resume]
    assert_fails(capfd, arguments, 1, f"{tmp_path / 'model'} is the model of a single parser")
    compared = filecmp.dircmp(find_model("en-ewt"), tmp_path / "model")
    assert not compared.diff_files and not compared.left_only and not compared.right_only


@pytest.mark.parametrize("command", ["train", "seeds", "distill"])
def test_an_ensemble_is_not_overwritten_by_another_run(command, tmp_path, capfd):
    (tmp_path / "fold-1-selfatt").mkdir()
    (tmp_path / "ensemble.toml").write_text("format_version = 1\n")
    message = f"{tmp_path} has other parsers than this one; name another directory"
    assert_fails(capfd, [*COMMANDS[command], str(tmp_path), "--resume"], 1, message)
    assert len(list(tmp_path.iterdir())) == 2
