"""A family outside the package can be trained, loaded and used like those of the package.

The family of the test, `DepthFamily`, reads constituency trees and predicts the depth of each word.
"""

import json

import pytest
from safetensors.torch import load_file

import depkit
from depkit.cli.main import run
from depkit.parsers.families import FAMILIES
from depkit.parsers.settings import ConfigError
from tests.parsers.depth_family import DepthFamily

TREES = """(S (NP (DT the) (NN dog)) (VP (VBZ barks)))
(S (NP (NN rain)) (VP (VBZ falls) (PP (IN on) (NP (DT the) (NN roof)))))
(S (NP (NNS cats)) (VP (VBP sleep)))
"""
SETTINGS = [
    "family=depth", "encoder.kind=none", "inputs.word_min_count=1", "inputs.char=0",
    "inputs.dropout=0.0", "inputs.part_dropout=0.0", "training.schedule=constant",
    "training.rate=0.02", "training.batch_tokens=4",
]  # fmt: skip


@pytest.fixture(autouse=True)
def depth_family(monkeypatch):
    monkeypatch.setitem(FAMILIES, "depth", DepthFamily())


@pytest.fixture
def trees(tmp_path):
    (tmp_path / "trees.mrg").write_text(TREES)
    return str(tmp_path / "trees.mrg")


def train(trees, output, *more):
    settings = [f"--set={setting}" for setting in SETTINGS]
    options = ["--dev", trees, "-o", str(output), "--threads=1", "--patience=99", *settings, *more]
    return run(["train", trees, *options])


def test_a_toy_family_can_be_trained_resumed_and_used_to_parse(trees, tmp_path, capfd):
    assert train(trees, tmp_path / "uninterrupted", "--epochs=40") == 0
    assert train(trees, tmp_path / "resumed", "--epochs=3", "--keep-state") == 0
    assert train(trees, tmp_path / "resumed", "--epochs=40", "--resume") == 0
    uninterrupted, resumed = (
        load_file(tmp_path / name / "model.safetensors") for name in ("uninterrupted", "resumed")
    )
    assert all(uninterrupted[name].equal(resumed[name]) for name in uninterrupted)
    log = [json.loads(line) for line in (tmp_path / "resumed/log.jsonl").read_text().splitlines()]
    # Of the ten words, "the" is once at depth 2 and once at depth 4, so at most nine are correct.
    assert [record["epoch"] for record in log] == list(range(1, 41)) and log[-1]["depth"] == 90
    assert "dev depth" in capfd.readouterr().err

    (tmp_path / "in.txt").write_text("cats sleep\nroof\n")
    output = tmp_path / "out.conllu"
    model, text = str(tmp_path / "resumed"), str(tmp_path / "in.txt")
    parse = ["parse", "--model", model, "--input=tokens", text]
    assert run([*parse, "-o", str(output)]) == 0
    assert [sentence.feats for sentence in depkit.read(output)] == [
        ["Depth=2", "Depth=2"],
        ["Depth=4"],
    ]
    assert run([*parse, "--prob"]) == 2 and run(["tag", *parse[1:]]) == 2
    assert run([*parse, "--model", "en-ewt"]) == 1
    err = capfd.readouterr().err
    assert "models of the family depth do not support --prob" in err
    assert "this model predicts no tags" in err
    assert "parsers of several families cannot be combined: biaffine, depth" in err

    card = (tmp_path / "resumed/README.md").read_text()
    assert "# A depkit depth finder" in card and "- Predicts: depths, dropout 0.0" in card
    assert run(["info", str(tmp_path / "resumed")]) == 0
    assert "  3 depth\n" in capfd.readouterr().out
    assert "predicts depth; " in repr(depkit.load(model, "cpu"))
    with pytest.raises(ConfigError, match="family depth do not support `decode`"):
        next(depkit.load(model, "cpu").parse([["cats"]], decode="mst"))


def test_settings_of_a_toy_family_are_checked(trees, tmp_path, capfd):
    assert train(trees, tmp_path / "model", "--set=encoder.kind=bilstm") == 2
    assert train(trees, tmp_path / "model", "--set=training.select=LAS") == 2
    assert train(trees, tmp_path / "model", "--set=family=height") == 2
    err = capfd.readouterr().err
    assert "set encoder.kind=none" in err and "with family=depth it can be depth" in err
    assert f"family is 'height'; it can be {', '.join(FAMILIES)}" in err
