"""depkit parse with directories of models: their names, and messages if files are damaged."""

import shutil
from pathlib import Path

import pytest

from depkit.parsers.model_directory import BUNDLED, CONFIG, TOKENIZER, WEIGHTS
from tests.cli.commands import ON_CPU, Command, assert_fails

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
        ("labels.onnx", None, "the model has no labels.onnx"),
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
