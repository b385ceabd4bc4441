"""Ensembles trained: folds exact and disjoint, members that go on, one vocabulary for all."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

import depkit
from depkit.corpus.files import read, write
from depkit.ensemble import members as module
from depkit.ensemble import training
from depkit.ensemble.members import Plan, prepare, train_member
from depkit.ensemble.training import train_ensemble
from depkit.parsers.config import Calibration, ConfigError
from depkit.parsers.graph.ensemble import EnsembleError, combine, log_mean
from depkit.parsers.inputs.vocabulary import UNKNOWN
from depkit.parsers.model_directory import (
    ENSEMBLE,
    TOKENIZER,
    ModelError,
    load,
    read_ensemble,
    read_vocabulary,
)
from depkit.training.checkpoint import ResumeError
from depkit.training.data import DataError
from tests.conftest import TINY
from tests.parsers.inputs.test_transformer import save_bert

CPU = torch.device("cpu")
SMALL = (
    "inputs.word=8", "inputs.char=8", "inputs.word_min_count=1", "encoder.layers=1",
    "encoder.size=8", "encoder.heads=2", "encoder.head_size=4", "encoder.feedforward=8",
    "scorer.arc=8", "scorer.label=8", "scorer.tag_hidden=8", "training.updates=0",
    "training.epochs=2", "training.batch_tokens=60", "training.warmup=0",
    "training.precision=float32", "tokenizer.enabled=false",
)  # fmt: skip


def plan_of(directory, recipes=("selfatt", "bilstm"), folds=3, **more) -> Plan:
    given = {"settings": SMALL, "quiet": True} | more
    return Plan([str(TINY)], str(TINY), None, directory, recipes, folds, **given)


def weights(directory: Path) -> bytes:
    return (directory / "model.safetensors").read_bytes()


@pytest.fixture
def learnt(monkeypatch):
    """What each training saw."""
    parts = []
    train = module.train

    def recorded(recipe, sentences, *arguments, **keywords):
        parts.append([sentence.sent_id for sentence in sentences])
        return train(recipe, sentences, *arguments, **keywords)

    monkeypatch.setattr(module, "train", recorded)
    return parts


def test_each_member_lacks_one_fold_and_no_other(tiny, tmp_path, learnt):
    train_ensemble(plan_of(tmp_path), ["cpu"], 1)
    everything = [sentence.sent_id for sentence in tiny]
    lacking = [[each for each in everything if each not in part] for part in learnt]
    assert sorted(chain.from_iterable(lacking)) == sorted(
        everything
    )  # disjoint, and nothing left out
    assert {len(fold) for fold in lacking} == {len(tiny) // 3}
    assert [path.name for path in sorted(tmp_path.glob("fold-*"))] == [
        "fold-1-selfatt", "fold-2-bilstm", "fold-3-selfatt",
    ]  # fmt: skip


def test_the_directory_is_a_model_and_its_members_are_too(tiny, tmp_path):
    plan = plan_of(tmp_path)
    scores = train_ensemble(plan, ["cpu"], 1, "geometric")
    assert read_ensemble(tmp_path).mean == "geometric"
    members = [load(tmp_path / name, "cpu") for name in plan.names]
    together = depkit.load(tmp_path, "cpu")
    expected = [str(each) for each in combine(members, "geometric").parse(tiny)]
    assert [str(each) for each in together.parse(tiny)] == expected
    assert scores == pytest.approx(vars_of(depkit.evaluate(tiny, together.parse(tiny))))
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "fold-2-bilstm" in card and f"LAS {scores['LAS']:.2f}" in card
    vocabularies = [read_vocabulary(tmp_path / name).to_json() for name in plan.names]
    assert vocabularies[0] == vocabularies[1] == vocabularies[2]


def vars_of(scores) -> dict[str, float]:
    return {"UAS": scores.UAS, "LAS": scores.LAS}


def test_what_a_member_never_saw_is_unknown_to_it(tiny, tmp_path):
    plan = plan_of(tmp_path, ["bilstm"])
    prepared = prepare(plan, CPU)
    train_member(plan, prepared, 0, CPU)
    parser = load(tmp_path / plan.names[0], "cpu", precision="float32")
    fold_of = module.assign_folds(len(tiny), 3, 1)
    seen = {form.lower() for i, each in enumerate(tiny) if fold_of[i] for form in each.form}
    table = parser.network.inputs.word.weight
    words = parser.vocabulary.words
    unseen = [word for word in words.symbols[3:] if word not in seen]
    assert unseen  # else this tells nothing
    for word in words.symbols[3:]:
        same = torch.equal(table[words.get(word)], table[UNKNOWN])
        assert same == (word in unseen), word


def test_a_killed_member_is_completed_by_the_same_command(tmp_path, monkeypatch):
    plan = plan_of(tmp_path / "whole")
    train_ensemble(plan, ["cpu"], 1)
    broken = plan_of(tmp_path / "broken")
    train, calls = training.train_member, []

    def killed(plan, prepared, number, *rest):
        calls.append(number)
        if number == 1:  # in the middle of the second member
            with monkeypatch.context() as patch:
                patch.setattr("depkit.training.loop.save_state", _raise_after(2))
                train(plan, prepared, number, *rest)
        return train(plan, prepared, number, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(training, "train_member", killed)
        with pytest.raises(KeyboardInterrupt):
            train_ensemble(broken, ["cpu"], 1)
    assert calls == [0, 1] and not (tmp_path / "broken" / ENSEMBLE).exists()
    with pytest.raises(ModelError):
        load(tmp_path / "broken", "cpu")
    train_ensemble(broken, ["cpu"], 1)
    for name in plan.names:
        assert weights(tmp_path / "broken" / name) == weights(tmp_path / "whole" / name)


def _raise_after(calls: int):
    """A `save_state` that works so often, then is interrupted."""
    from depkit.training.checkpoint import save_state

    done = []

    def saved(*arguments):
        done.append(1)
        if len(done) > calls:
            raise KeyboardInterrupt
        save_state(*arguments)

    return saved


def test_members_are_reused(tmp_path, monkeypatch):
    train_ensemble(plan_of(tmp_path / "a", ["selfatt"]), ["cpu"], 1)
    train_ensemble(plan_of(tmp_path / "b", ["bilstm"]), ["cpu"], 1)
    reuse = [str(tmp_path / "a"), str(tmp_path / "b")]
    epochs = []
    monkeypatch.setattr(module.Progress, "epoch", lambda self, record: epochs.append(record))
    train_ensemble(plan_of(tmp_path / "both", reuse=reuse), ["cpu"], 1)
    assert epochs == []  # nothing was trained
    for name, place in zip(plan_of(tmp_path).names, "aba", strict=True):
        assert weights(tmp_path / "both" / name) == weights(tmp_path / place / name)
    other = [*SMALL, "training.rate=1e-3"]
    with pytest.raises(ResumeError, match=r"--reuse .*a: its fold-1-selfatt was trained"):
        train_ensemble(plan_of(tmp_path / "c", reuse=reuse, settings=other), ["cpu"], 1)
    assert not (tmp_path / "c" / "fold-1-selfatt").exists()


def test_side_by_side_is_as_one_by_one(tmp_path):
    train_ensemble(plan_of(tmp_path / "one"), ["cpu"], 1)
    train_ensemble(plan_of(tmp_path / "two"), ["cpu", "cpu"], 1)
    for name in plan_of(tmp_path).names:
        assert weights(tmp_path / "one" / name) == weights(tmp_path / "two" / name)


def test_a_failure_in_another_process_is_told(tmp_path):
    plan = plan_of(tmp_path)
    train_member(plan, prepare(plan, CPU), 1, CPU)
    damaged = tmp_path / plan.names[1] / "last.safetensors"
    damaged.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"on cpu: .*damaged"):
        train_ensemble(plan, ["cpu", "cpu"], 1)


def test_what_cannot_be_an_ensemble(tiny, tmp_path):
    for wrong, message in (
        ({"recipes": ["x.toml"], "config": "y.toml"}, "name one file"),
        ({"recipes": ["nosuch"]}, "no recipe 'nosuch'"),
        ({"folds": 1}, "2 or more"),
    ):
        with pytest.raises(ConfigError, match=message):
            prepare(plan_of(tmp_path, **wrong), CPU)
    write(tiny[:2], tmp_path / "two.conllu")
    few = Plan([str(tmp_path / "two.conllu")], str(TINY), None, tmp_path, ["bilstm"], 3)
    with pytest.raises(DataError, match="too few for 3 folds"):
        prepare(few, CPU)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format_version = 2\nmembers = []", "format_version is 2"),
        ("format_version = 1\nmembers = []", "names no members"),
        ('format_version = 1\nmembers = ["nosuch"]', "no model 'nosuch'"),
        ('format_version = 1\nmembers = ["../x"]', "no model '../x'"),
        ("format_version = 1", "members"),
        ("format_version = 1\nmembers = 3", "takes a list"),
        ("format_version = 1\nmembers = [", "ensemble.toml"),
    ],
)
def test_damaged_ensembles_are_told(text, message, tmp_path):
    (tmp_path / ENSEMBLE).write_text(text, "utf-8")
    with pytest.raises(ModelError, match=message):
        load(tmp_path, "cpu")


def test_the_tokenizer_is_everybodys(tiny, tmp_path):
    settings = [each for each in SMALL if "tokenizer" not in each]
    settings += ["tokenizer.size=8", "training.epochs=1", "scorer.predict=[]"]
    plan = plan_of(tmp_path, ["bilstm"], 2, settings=settings)
    train_ensemble(plan, ["cpu"], 1)
    found = {(place / TOKENIZER).read_bytes() for place in (tmp_path, *tmp_path.glob("fold-*"))}
    assert len(found) == 1
    text = "The cat sleeps. The dog barks."
    parsers = [load(tmp_path, "cpu"), load(tmp_path / plan.names[0], "cpu")]
    tokens = [[sentence.form for sentence in parser.tokenize(text)] for parser in parsers]
    assert tokens[0] == tokens[1]


def test_elmo_vectors_go_with_their_sentences(tiny, tmp_path):
    h5py = pytest.importorskip("h5py")
    random = np.random.default_rng(1)
    with h5py.File(tmp_path / "elmo.hdf5", "w") as file:
        for i, sentence in enumerate(tiny):
            file[str(i)] = random.normal(size=(3, len(sentence), 4)).astype(np.float32)
    settings = [*SMALL, "inputs.context.source=elmo", "inputs.context.top=2"]
    features = str(tmp_path / "elmo.hdf5")
    plan = plan_of(
        tmp_path / "m", settings=settings, features=[features], dev_features=features
    )  # fmt: skip
    scores = train_ensemble(plan, ["cpu"], 1)
    parser = load(tmp_path / "m", "cpu")
    pairs = list(parser.fit(read(TINY), features))
    trees = parser.parse([pair[0] for pair in pairs], context=[pair[1] for pair in pairs])
    assert scores == pytest.approx(vars_of(depkit.evaluate(tiny, trees)))


def test_a_frozen_transformer_reads_a_batch_once(tiny, tmp_path, monkeypatch):
    from depkit.parsers.inputs import layer as inputs

    model = f"inputs.context.model={save_bert(tmp_path / 'bert')}"
    settings = [*SMALL, "inputs.context.source=transformer", model, "inputs.context.top=2"]
    plan = plan_of(tmp_path / "m", folds=2, settings=[*settings, "inputs.context.size=4"])
    train_ensemble(plan, ["cpu"], 1)
    alone = [load(tmp_path / "m" / name, "cpu", precision="float32") for name in plan.names]
    numbers = np.arange(len(tiny))
    expected = [each.scores_of(each.preparer()(tiny, []), numbers).arc for each in alone]
    together = load(tmp_path / "m", "cpu", precision="float32")
    first, second = (each.network.transformer for each in together.members)
    assert first is second
    calls = []
    layers = inputs.context_layers

    def counted(*arguments):
        calls.append(1)
        return layers(*arguments)

    monkeypatch.setattr(inputs, "context_layers", counted)
    prepared = together.preparer()(tiny, [])
    for some in (numbers, numbers[:5], numbers):
        scores = together.scores_of(prepared, some)
    assert len(calls) == 3
    torch.testing.assert_close(scores.arc, log_mean(expected, "arithmetic"))


@pytest.mark.parametrize("settings", ["scorer.tree=false", 'decoder.root="multi"'])
def test_what_cannot_be_combined_is_not_trained(settings, tmp_path):
    table, _, setting = settings.partition(".")
    select = '[training]\nselect = "tags"\n' if table == "scorer" else ""
    (tmp_path / "other.toml").write_text(f"[{table}]\n{setting}\n{select}", "utf-8")
    plan = plan_of(tmp_path / "m", ["bilstm", str(tmp_path / "other.toml")])
    with pytest.raises(EnsembleError, match=r"tagger|of different kinds"):
        train_ensemble(plan, ["cpu"], 1)
    assert not (tmp_path / "m").exists()


def test_an_ensemble_and_its_members_are_calibrated_each(tmp_path):
    plan = plan_of(tmp_path, folds=2)
    train_ensemble(plan, ["cpu"], 1)
    calibration = read_ensemble(tmp_path).calibration
    assert calibration != Calibration()
    parser = load(tmp_path, "cpu")
    assert parser.config.calibration == calibration
    assert combine([parser], "geometric").config.calibration == Calibration()
    assert combine([parser], "arithmetic") is combine([parser]) is parser
    members = [load(tmp_path / name, "cpu").config.calibration for name in plan.names]
    assert Calibration() not in members
    told = (tmp_path / "README.md").read_text("utf-8")
    assert f"- Calibrated on dev: arc T {calibration.arc:.2f}" in told
