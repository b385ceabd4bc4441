"""Temperatures of a parser: fitted to its scores, written to its directory, and measured."""

import tomllib
from dataclasses import asdict, astuple

import numpy as np
import pytest
import torch

import depkit
from depkit.cli.main import run
from depkit.parsers.base import Parser
from depkit.parsers.ensembles import combine
from depkit.parsers.families import make_parser_config
from depkit.parsers.graph import calibration as module
from depkit.parsers.graph.calibration import calibrate
from depkit.parsers.graph.config import Calibration
from depkit.parsers.graph.temperatures import reset_harmful
from depkit.parsers.model_directory import (
    CONFIG,
    ModelError,
    bundled_models,
    find_model,
    read_config,
    write_calibration,
)
from depkit.parsers.settings import ConfigError
from depkit.score.evaluators import evaluate
from depkit.training.recipe import make_recipe
from tests.conftest import TINY
from tests.parsers.small_parsers import (
    WARM,
    compute_scores,
    make_parser,
    make_random_parser,
    save_parser,
    set_calibration,
)
from tests.trees.single import marginals

GRID = np.exp(np.linspace(np.log(0.05), np.log(20), 25))
SETTINGS = (
    "inputs.word=8 inputs.char=0 encoder.layers=1 encoder.size=8 scorer.arc=8 scorer.label=8"
    ' scorer.predict=["upos"] tokenizer.enabled=false training.rate=0.01'
).split()
SMALL = ["--device", "cpu", "--threads", "1", "--epochs", "6"]
SMALL += [argument for setting in SETTINGS for argument in ("--set", setting)]


def losses(parser, sentences, scores, temperature):
    """The mean losses of heads, of labels and of marginals, computed word by word."""
    arc_losses, label_losses, marginal_losses = [], [], []
    table = parser.vocabulary.columns["deprel"].indices
    for sentence, (arc, label) in zip(sentences, scores, strict=True):
        arc_logs = (arc / temperature).log_softmax(-1)
        label_logs = (label / temperature).log_softmax(-1)
        probabilities = marginals(arc.numpy() / temperature, parser.config.decoder.root == "single")
        for word, (head, deprel) in enumerate(zip(sentence.head, sentence.deprel, strict=True), 1):
            if head == word:
                continue
            arc_losses.append(-float(arc_logs[word, head]))
            marginal_losses.append(-np.log(probabilities[word, head]))
            if deprel in table and label_logs[word, table[deprel]] > -np.inf:
                label_losses.append(-float(label_logs[word, table[deprel]]))
    return [np.mean(losses) for losses in (arc_losses, label_losses, marginal_losses)]


def add_invalid_trees(sentences):
    """Sentences with a label that no parser knows, a word that is its own head, a second root."""
    first, second, third, *rest = sentences
    first = first.with_tree(first.head, ["unknown", *first.deprel[1:]])
    second = second.with_tree([1, *second.head[1:]], second.deprel)
    third = third.with_tree([0, 0, *third.head[2:]], third.deprel)
    return [first, second, third, *rest]


@pytest.mark.parametrize("kind", ["parser", "multi", "ensemble"])
def test_fitted_temperatures_minimise_the_losses(tiny, kind):
    root = {"root": "multi", "root_label": ""} if kind == "multi" else {}
    parser = make_random_parser(tiny, 1, **root)
    if kind == "ensemble":
        parser = combine([set_calibration(parser), make_random_parser(tiny, 2)])
    # Most gold trees are predictions of the parser, so that it is mostly correct.
    dev = add_invalid_trees(tiny[:3] + list(parser.parse(tiny[3:9])))
    calibration, report = calibrate(parser, dev)
    scores = [compute_scores(parser, sentence) for sentence in dev]
    lowest = np.min([losses(parser, dev, scores, temperature) for temperature in GRID], axis=0)
    for i, temperature in enumerate(astuple(calibration)):
        assert losses(parser, dev, scores, temperature)[i] <= lowest[i] + 1e-4
        assert losses(parser, dev, scores, 1.0)[i] > lowest[i] + 1e-3  # the temperature matters
        assert 0.06 < temperature < 19
    assert report.words == sum(map(len, dev)) - 1  # the word that is its own head
    # The temperatures that the parser has make no difference.
    assert calibrate(set_calibration(parser), dev) == (calibration, report)


def test_confidence_is_that_of_the_parsed_trees(tiny, monkeypatch):
    """With one bin, the errors are the differences between mean probabilities and UAS and LAS."""
    parser = make_random_parser(tiny, 1)
    monkeypatch.setattr("depkit.parsers.graph.temperatures.calibration_error.__defaults__", (1,))
    _, report = calibrate(parser, tiny)
    parsed = list(parser.parse(tiny, probabilities="local"))
    scores = evaluate(tiny, parsed)
    cells = [cell.split("|")[-2:] for sentence in parsed for cell in sentence.column("misc")]
    arc, label = np.array([[float(p.partition("=")[2]) for p in pair] for pair in cells]).T
    assert report.before.arc == pytest.approx(abs(100 * arc.mean() - scores.UAS), abs=0.01)
    both = 100 * (arc * label).mean()
    assert report.before.labelled == pytest.approx(abs(both - scores.LAS), abs=0.01)


def test_long_sentences_are_omitted_with_their_vectors(tiny, monkeypatch):
    parser = make_parser(tiny)
    monkeypatch.setattr(module, "MAX_WORDS", 7)
    short = [sentence for sentence in tiny if len(sentence) <= 7]
    assert 0 < len(short) < len(tiny)
    calibration, report = calibrate(parser, tiny)
    assert (calibration, report) == calibrate(parser, short)
    used_vectors = []
    map_batches = Parser.map_batches

    def record(self, sentences, compute, batch_tokens=None, context=None):
        used_vectors.extend(context)
        return map_batches(self, sentences, compute, batch_tokens)

    monkeypatch.setattr(Parser, "map_batches", record)
    calibrate(parser, tiny, context=iter([np.array([len(sentence)]) for sentence in tiny]))
    assert [int(vectors[0]) for vectors in used_vectors] == [len(sentence) for sentence in short]


@pytest.fixture
def model(tiny, tmp_path):
    """A model that is not calibrated, and its config.toml without that section."""
    directory = save_parser(make_parser(tiny), tmp_path)
    uncalibrated, _, _ = (directory / CONFIG).read_text("utf-8").partition("\n[calibration]")
    return directory, uncalibrated


def test_a_model_without_calibration_is_read_and_can_be_calibrated(tiny, model):
    directory, old = model
    (directory / CONFIG).write_text(old, "utf-8")
    assert read_config(directory)[0].calibration == Calibration()
    write_calibration(directory, asdict(WARM))
    config, tables = read_config(directory)
    assert config == set_calibration(make_parser(tiny)).config
    del tables["calibration"]
    assert tables == tomllib.loads(old)
    write_calibration(directory, asdict(Calibration()))
    assert (directory / CONFIG).read_text("utf-8").count("[calibration]") == 1


@pytest.mark.parametrize("value", ["0", "-1.0", "inf", "nan", '"hot"'])
def test_invalid_temperatures_are_rejected(model, value):
    directory, old = model
    (directory / CONFIG).write_text(f"{old}\n[calibration]\nlabel = {value}\n", "utf-8")
    with pytest.raises(ModelError, match=r"calibration\.label"):
        read_config(directory)


def test_a_recipe_cannot_have_temperatures(tmp_path):
    for key in ("arc", "heads"):
        with pytest.raises(ConfigError, match=r"^calibration .* cannot be set; leave it out$"):
            make_recipe("bilstm", None, [f"calibration.{key}=2"])
    file = tmp_path / CONFIG  # the section of a model is ignored: it is for other weights
    file.write_text("format_version = 1\n[calibration]\narc = 3.0\n")
    assert make_recipe("bilstm", str(file)) == make_recipe("bilstm")
    assert make_parser_config({"calibration": asdict(WARM)}).calibration == WARM


def train(directory, *arguments):
    command = ["train", str(TINY), "--dev", str(TINY), "-o", str(directory), *SMALL]
    return run([*command, *arguments])


def test_calibration_is_the_last_step_of_training(tmp_path, capfd, monkeypatch):
    whole = tmp_path / "whole"
    assert train(whole) == 0
    err = capfd.readouterr().err
    message = next(line for line in err.splitlines() if line.startswith("calibration on "))
    config = read_config(whole)[0]
    assert f"- C{message[1:]}\n" in (whole / "README.md").read_text("utf-8")
    fitted, report = calibrate(depkit.load(whole, device="cpu", threads=1), [*depkit.read(TINY)])
    assert config.calibration == reset_harmful(fitted, report) != Calibration()
    before, after = report.before.labelled, report.after.labelled
    assert f"on {report.words} words of dev: " in message
    assert f"labelled arcs {before:.1f} -> {after:.1f}; " in message

    def interrupt(*arguments):
        raise KeyboardInterrupt

    # A run that was interrupted before calibration can be resumed, and so can a finished run.
    monkeypatch.setattr(module, "calibrate", interrupt)
    assert train(tmp_path / "cut") == 130
    assert read_config(tmp_path / "cut")[0].calibration == Calibration()
    monkeypatch.undo()
    for _ in range(2):
        assert train(tmp_path / "cut", "--resume", "-q") == 0
        assert read_config(tmp_path / "cut")[0] == config


def test_temperatures_are_fitted_for_each_seed_but_not_for_a_tagger(tmp_path, capfd):
    assert train(tmp_path / "m", "--seeds", "2") == 0
    first, second, best = (
        read_config(tmp_path / "m" / name)[0] for name in ("seed-1", "seed-2", ".")
    )
    assert first.calibration != second.calibration
    assert best.calibration in (first.calibration, second.calibration)
    assert capfd.readouterr().err.count("calibration on ") == 2
    others = [setting for setting in SETTINGS if not setting.startswith("scorer.")]
    settings = [argument for setting in others for argument in ("--set", setting)]
    tagger = ["-o", str(tmp_path / "tagger"), "--recipe", "tagger", "--epochs", "1", *settings]
    assert run(["train", str(TINY), "--dev", str(TINY), "--device", "cpu", *tagger]) == 0
    assert "calibrat" not in capfd.readouterr().err
    assert "alibrat" not in (tmp_path / "tagger" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", bundled_models())
def test_a_bundled_model_is_calibrated_unless_its_card_says_otherwise(name):
    temperatures = astuple(read_config(find_model(name))[0].calibration)
    changed = [temperature for temperature in temperatures if temperature != 1]
    # Those of arcs and labels, or that of marginals, are not applied if they would not have helped.
    card = (find_model(name) / "README.md").read_text("utf-8")
    assert (len(changed) < len(temperatures)) == ("not applied" in card)
    # Models with 200 epochs are overconfident: their temperatures are about 3.
    assert all(0.5 < temperature < 4 for temperature in changed)


def test_calibration_computes_no_gradients(tiny):
    parser = make_parser(tiny)
    with torch.enable_grad():
        calibrate(parser, tiny)
    assert all(weight.grad is None for weight in parser.network.parameters())
