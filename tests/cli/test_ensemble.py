"""depkit ensemble: the model that it trains, and the options that it rejects."""

import csv
import json
from dataclasses import replace

import pytest

import depkit
from depkit.cli.main import run
from depkit.ensemble.jackknife import assign_folds
from depkit.ensemble.out_of_fold import describe_folds, find_annotators
from depkit.parsers.ensemble_config import EnsembleConfig
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.settings import ConfigError
from depkit.training.data import split_dev
from tests.cli.commands import ON_CPU, assert_fails, set_options
from tests.conftest import TINY

SMALL = ON_CPU + set_options(
    "inputs.word=8", "encoder.layers=1", "encoder.size=8", "training.updates=0",
    "tokenizer.enabled=false",
)  # fmt: skip
COMMAND = ["ensemble", str(TINY), "--dev", str(TINY), "--folds", "2", "--epochs", "1", *SMALL]


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    directory = tmp_path_factory.mktemp("ensemble") / "en"
    assert run([*COMMAND, "--recipes", "bilstm", "-o", str(directory), "-q"]) == 0
    return directory


def test_an_ensemble_parses_and_info_describes_it(ensemble, tmp_path, capsys):
    out = tmp_path / "out.conllu"
    parse = ["parse", str(TINY), "--model", str(ensemble), "--device", "cpu", "-q"]
    assert run([*parse, "-o", str(out)]) == 0
    arithmetic = [str(sentence) for sentence in depkit.read(out)]
    assert len(arithmetic) == 24
    assert run(["info", str(ensemble), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert list(facts["members"]) == ["fold-1-bilstm", "fold-2-bilstm"]
    assert facts["parameters"] == sum(member["parameters"] for member in facts["members"].values())
    assert run(["info", str(ensemble), "-v"]) == 0
    text = capsys.readouterr().out
    assert "fold-1-bilstm, fold-2-bilstm" in text and 'mean = "arithmetic"' in text
    assert depkit.load(ensemble, "cpu").mean == "arithmetic"


def test_parse_can_set_the_mean(ensemble, monkeypatch):
    means = []

    def parse(self, *arguments, **options):
        means.append(self.mean)
        return iter(())

    monkeypatch.setattr(GraphParser, "parse", parse)
    for options in ([], ["--mean", "geometric"]):
        run(["parse", str(TINY), "--model", str(ensemble), "--device", "cpu", *options])
    assert means == ["arithmetic", "geometric"]


def test_a_mean_needs_several_parsers_of_a_sentence(ensemble, capfd):
    for command, model, options, message in (
        ("parse", "en-ewt", [], "--mean needs an ensemble or several models"),
        ("tag", "en-ewt", [], "--mean needs an ensemble or several models"),
        ("parse", "en-ewt", ["--workers", "2", "-o", "x.conllu"], "--mean needs an ensemble"),
        (
            "parse",
            str(ensemble),
            ["--out-of-fold"],
            "one parser annotates each sentence; leave --mean out",
        ),
    ):
        arguments = [command, str(TINY), "--model", model, "--mean", "geometric", *options]
        assert_fails(capfd, [*arguments, "--device", "cpu"], 2, message)


def test_a_finished_ensemble_is_not_trained_again(ensemble, capfd):
    assert run([*COMMAND, "--recipes", "bilstm", "-o", str(ensemble)]) == 0
    out, err = capfd.readouterr()
    assert out == "" and "loss" not in err  # nothing is trained
    scores, location, command = err.splitlines()[-3:]
    assert scores.startswith("the ensemble: dev UAS ")
    assert location == f"the model is in {ensemble}"
    assert command == f"parse with it: depkit parse --model {ensemble} FILE"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-o", "{ensemble}/fold-1-bilstm"], 1, "is the model of a single parser"),
        (["-o", "{tmp}"], 1, "is not empty, and what is there"),
        (["-o", "{tmp}/file"], 1, "is a file"),
        (["-o", "{tmp}/new", "--recipes", "nosuch"], 2, "no recipe 'nosuch'"),
        (["-o", "{tmp}/new", "--recipes", ","], 2, "name at least one recipe"),
        (["-o", "{tmp}/new", "--recipes", "a/x.toml,b/x.toml"], 2, "the same name"),
        (["-o", "{tmp}/new", "--recipes", "{tmp}/none.toml"], 1, "No such file"),
        (["-o", "{tmp}/new", "--folds", "1"], 2, "--folds"),
        (["-o", "{tmp}/new", "--folds", "25"], 1, "too few different sentences (24) for 25 folds"),
        (["-o", "{tmp}/new", "--dev-split", "0.1"], 2, "either --dev or --dev-split"),
        (["-o", "{tmp}/new", "--device", "cpu,tpu"], 2, "no device 'tpu'"),
        (["-o", "{tmp}/new", "--reuse", "{tmp}"], 1, "there is no ensemble"),
        (["-o", "{tmp}/new", "--max-time", "soon"], 2, "is not a time"),
        (
            ["-o", "{ensemble}", "--recipes", "bilstm", "--set", "encoder.size=9"],
            1,
            "size=8 (now 9)",
        ),
    ],
)
def test_errors_are_reported_in_one_line(arguments, status, message, ensemble, tmp_path, capfd):
    (tmp_path / "file").write_text("x")
    options = [option.format(ensemble=ensemble, tmp=tmp_path) for option in arguments]
    assert run([*COMMAND, *options]) == status
    errors = [line for line in capfd.readouterr().err.splitlines() if "error" in line]
    assert len(errors) == 1 and message in errors[0]
    assert not (tmp_path / "new").exists()


def test_training_cannot_start_from_an_ensemble(ensemble, tmp_path, capfd):
    train = ["train", str(TINY), "--dev", str(TINY), "-o", str(tmp_path / "m"), "--device", "cpu"]
    assert run([*train, "--init", str(ensemble)]) == 1
    assert "is an ensemble; name one of its members" in capfd.readouterr().err


def test_out_of_fold_parses_are_those_of_the_member_that_did_not_see_the_sentence(
    ensemble, tmp_path, monkeypatch
):
    # In int8, scores depend on the other sentences of a batch.
    monkeypatch.setattr("depkit.parsers.engine.quantisation.can_quantize", lambda: False)
    gold = list(depkit.read(TINY))
    out = tmp_path / "out.conllu"
    parse = ["parse", str(TINY), "--device", "cpu", "-q", "-o", str(out), "--tags", "predict"]
    assert run([*parse, "--model", str(ensemble), "--out-of-fold"]) == 0
    by_members = [depkit.load(ensemble / name, "cpu").predict for name in
                  ("fold-1-bilstm", "fold-2-bilstm")]  # fmt: skip
    expected = [list(map(str, predict(gold))) for predict in by_members]
    assert expected[0] != expected[1]
    folds = assign_folds(gold, 2, seed=1).tolist()
    parsed = list(map(str, depkit.read(out)))
    assert parsed == [expected[fold][i] for i, fold in enumerate(folds)]


def test_suspects_are_found_with_out_of_fold_parses(ensemble, tmp_path, capfd):
    parsed = str(tmp_path / "parsed.conllu")
    options = ["--model", str(ensemble), "--device", "cpu", "--threads", "1"]
    parse = ["parse", str(TINY), *options, "--out-of-fold", "--prob", "--tags", "predict"]
    assert run([*parse, "-q", "-o", parsed]) == 0
    assert run(["suspects", str(TINY), "--parses", parsed]) == 0
    expected = capfd.readouterr().out
    assert expected.count("\n") > 1
    assert run(["suspects", str(TINY), *options]) == 0
    rows, expected_rows = (list(csv.reader(text.splitlines(), delimiter="\t"))
                           for text in (capfd.readouterr().out, expected))  # fmt: skip
    # The probabilities in files are rounded, which can change the order.
    assert sorted(row[3:9] for row in rows) == sorted(row[3:9] for row in expected_rows)
    arguments = ["suspects", str(TINY), "--model", "en-ewt", "--device", "cpu"]
    assert_fails(capfd, arguments, 2, "en-ewt is not an ensemble")


def test_out_of_fold_parses_need_the_training_files(ensemble, tmp_path, capfd):
    other, short = tmp_path / "other.conllu", tmp_path / "short.conllu"
    gold = list(depkit.read(TINY))
    depkit.write(gold[::-1], other)
    depkit.write(gold[1:], short)
    parse = ["parse", "--out-of-fold", "--device", "cpu", "--model"]
    for model, file, message in (
        (ensemble, other, "trained on 24 sentences, but the files contain 24 different ones"),
        (ensemble, short, "it was trained on 24 sentences, but the files contain 23"),
        ("en-ewt", TINY, "--out-of-fold needs an ensemble"),
    ):
        assert_fails(capfd, [*parse, str(model), str(file)], 2, message)
    directory = ["--output-dir", str(tmp_path / "out")]
    assert_fails(capfd, [*parse, str(ensemble), str(TINY), *directory], 2, "writes one file")


def test_dev_sentences_of_a_split_are_annotated_by_the_whole_ensemble(tiny):
    train, dev = split_dev(tiny, 0.25)
    config = EnsembleConfig(["a", "b"], jackknife=describe_folds(train, 2, 3, 0.25))
    annotators = find_annotators(tiny, config).tolist()
    by_sentence = dict(zip(map(str, tiny), annotators, strict=True))
    assert [by_sentence[str(s)] for s in dev] == [2] * 6
    assert [by_sentence[str(s)] for s in train] == assign_folds(train, 2, 3).tolist()
    config = EnsembleConfig(["a", "b"], jackknife=describe_folds(train, 2, 4, 0.25))
    config = replace(config, jackknife=replace(config.jackknife, seed=3))  # other folds
    with pytest.raises(ConfigError, match="18 different ones"):
        find_annotators(tiny, config)
    with pytest.raises(ConfigError, match="but the files contain 14 besides those of dev"):
        find_annotators(train, config)
    with pytest.raises(ConfigError, match="does not say which sentences"):
        find_annotators(tiny, EnsembleConfig(["a", "b"]))
