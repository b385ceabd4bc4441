"""depkit parse with directories of models: their names, and messages if files are damaged."""

import shutil
from pathlib import Path

import pytest

from depkit.parsers.model_directory import BUNDLED, CONFIG, TOKENIZER, WEIGHTS
from tests.cli.commands import ON_CPU, Command, assert_fails
from tests.conftest import TINY

parse = Command("parse")


@pytest.fixture
def french(tmp_path, monkeypatch):
    """A copy of the French model in the current directory that has the name of the German one."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(BUNDLED / "fr", tmp_path / "de")
    return tmp_path / "de"


@pytest.mark.parametrize("name", ["./de", "de/", "de"])
def test_a_directory_with_the_name_of_a_bundled_model_is_named_by_its_path(french, name):
    out, err = parse("--model", name, *ON_CPU, stdin="Le chat dort.")
    note = "depkit: note: the model de is the bundled one; ./de is the model in the directory\n"
    assert (note in err) == (name == "de")
    assert ("\tGender=Masc|Number=Sing\t" in out) == (name != "de")


def test_an_empty_name_is_refused(capfd):
    assert_fails(capfd, ["parse", "--model", ""], 2, "the value of --model is empty")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (WEIGHTS, b"", f"{WEIGHTS} is damaged"),
        (WEIGHTS, b"version https://git-lfs.github.com/spec/v1\n", f"{WEIGHTS} is damaged"),
        (WEIGHTS, None, f"it has no {WEIGHTS}"),
        (CONFIG, None, f"it has no {CONFIG}"),
        (TOKENIZER, None, "text.txt is running text, but the model has no tokenizer"),
        (
            "labels.onnx",
            b"",
            "de cannot be run by ONNX Runtime: labels.onnx belongs to another model or is damaged",
        ),
        (
            "words.onnx",
            (BUNDLED / "de" / "words.onnx").read_bytes(),
            "words.onnx belongs to another",
        ),
    ],
)
def test_a_damaged_model_gives_one_line(french, file, content, message, capfd):
    if content is None:
        (french / file).unlink()
    else:
        (french / file).write_bytes(content)
    Path("text.txt").write_text("Le chat dort.", "utf-8")
    assert_fails(capfd, ["parse", "text.txt", "--model", "./de", "--engine", "onnx"], 1, message)


@pytest.mark.parametrize("graph", ["words", "scores", "labels", "tokenizer"])
def test_a_model_that_lacks_a_graph_is_run_with_torch(graph, french, capfd, monkeypatch):
    monkeypatch.setenv("DEPKIT_ENGINE", "auto")
    (french / f"{graph}.onnx").unlink()
    Path("text.txt").write_text("Le chat dort.", "utf-8")
    command = ["text.txt", "--model", "./de", *ON_CPU]
    assert "\tchat\t" in parse(*command)[0]
    assert "\tchat\t" in parse(*command, "--model", "fr")[0]  # of two models, both run with torch
    message = f"onnx: the model lacks the exported graph {graph}.onnx; make it with depkit export"
    assert_fails(capfd, ["parse", *command, "--engine", "onnx"], 2, message)


@pytest.mark.parametrize("engine", ["onnx", "torch"])
def test_an_unknown_treebank_is_refused_by_what_the_user_has_written(engine, capfd, monkeypatch):
    monkeypatch.setenv("DEPKIT_ENGINE", engine)
    message = "does not know the treebank 'zz'; it was trained without vectors of treebanks"
    for option in (["--treebank", "zz"], ["--set", "inputs.treebank_name=zz"]):
        assert_fails(capfd, ["parse", str(TINY), *option, *ON_CPU], 2, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--passes", "3"], "this model does not correct parses"),
        (["--elmo", str(TINY)], "this model reads no ELMo vectors; leave --elmo out"),
        (["--best", "3", "--decode", "argmax"], "--best needs a decoder of trees"),
        (["--valid", "ud", "--decode", "argmax"], "--valid excludes --heads keep"),
    ],
)
def test_an_option_that_does_not_suit_the_model_is_wrong_usage(options, message, capfd):
    assert_fails(capfd, ["parse", str(TINY), *options, *ON_CPU], 2, message)
