"""Training of ensembles: disjoint folds, members that can be resumed, a shared vocabulary."""

import io
import multiprocessing
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch

import depkit
from depkit.corpus.io import read, write
from depkit.ensemble import members as module
from depkit.ensemble import training
from depkit.ensemble.members import EnsembleJob, prepare_recipes, train_member
from depkit.ensemble.training import train_ensemble
from depkit.files.errors import DataError
from depkit.files.progress import ProgressBars
from depkit.nn.means import log_mean
from depkit.nn.settings import BiLSTM
from depkit.parsers.ensembles import combine
from depkit.parsers.family import CombinationError
from depkit.parsers.graph.config import Calibration
from depkit.parsers.graph.family import Biaffine
from depkit.parsers.inputs import context_vectors as inputs
from depkit.parsers.inputs.tables import UNKNOWN
from depkit.parsers.loading import load
from depkit.parsers.model_directory import (
    CARD,
    ENSEMBLE,
    TOKENIZER,
    WEIGHTS,
    ModelError,
    read_ensemble,
    read_vocabulary,
)
from depkit.parsers.settings import ConfigError
from depkit.training import loop
from depkit.training.checkpoint import CHECKPOINT, FINISHED, ResumeError, State
from depkit.training.plan import TrainingError
from tests.conftest import TINY
from tests.parsers.batches import cpu_batch
from tests.parsers.inputs.elmo_files import write_features
from tests.parsers.inputs.small_transformers import save_bert
from tests.training.small_runs import kill_training_at

CPU = torch.device("cpu")
SMALL = (
    "inputs.word=8", "inputs.char=8", "inputs.word_min_count=1", "encoder.layers=1",
    "encoder.size=8", "scorer.arc=8", "scorer.label=8", "scorer.tag_hidden=8", "training.updates=0",
    "training.epochs=2", "training.batch_tokens=60", "training.warmup=0",
    "training.precision=float32", "tokenizer.enabled=false",
)  # fmt: skip
ATTENTION = ("encoder.heads=2", "encoder.head_size=4", "encoder.feedforward=8")


def make_job(
    directory, recipes=("selfatt", "bilstm"), folds=3, settings=SMALL, device="cpu", **fields
) -> EnsembleJob:
    settings = [*settings, *(ATTENTION if "selfatt" in recipes else ())]
    return EnsembleJob(
        train=str(TINY), dev=str(TINY), output=directory, recipes=recipes, folds=folds,
        settings=settings, device=device, threads=1, quiet=True, **fields,
    )  # fmt: skip


def train_one_member(job: EnsembleJob, number: int) -> State:
    return train_member(job, prepare_recipes(job, CPU)[job.member_recipe(number)], number)


def weights(directory: Path) -> bytes:
    return (directory / WEIGHTS).read_bytes()


@pytest.fixture(scope="module")
def trained_job(tmp_path_factory) -> EnsembleJob:
    """A trained ensemble."""
    job = make_job(tmp_path_factory.mktemp("whole"))
    train_ensemble(job)
    return job


def test_members_are_trained_on_all_folds_except_one(tiny, tmp_path, monkeypatch):
    train = Mock(wraps=loop.train)
    monkeypatch.setattr(loop, "train", train)
    train_ensemble(make_job(tmp_path))
    train_ids = [
        [sentence.sent_id for sentence in call.args[0].train] for call in train.call_args_list
    ]
    all_ids = [sentence.sent_id for sentence in tiny]
    folds = [[sent_id for sent_id in all_ids if sent_id not in ids] for ids in train_ids]
    assert sorted(chain.from_iterable(folds)) == sorted(all_ids)  # disjoint and complete
    assert {len(fold) for fold in folds} == {len(tiny) // 3}
    names = sorted(path.name for path in tmp_path.glob("fold-*"))
    assert names == ["fold-1-selfatt", "fold-2-bilstm", "fold-3-selfatt"]


def test_the_ensemble_and_its_members_can_be_loaded(tiny, tmp_path):
    job = make_job(tmp_path, mean="geometric")
    scores = train_ensemble(job)
    assert read_ensemble(tmp_path).mean == "geometric"
    members = [load(tmp_path / name, "cpu") for name in job.names]
    together = depkit.load(tmp_path, "cpu")
    expected = list(map(str, combine(members, "geometric").parse(tiny)))
    assert list(map(str, together.parse(tiny))) == expected
    assert scores.items() >= score_attachment(tiny, together.parse(tiny)).items()
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "fold-2-bilstm" in card and f"LAS {scores['LAS']:.2f}" in card
    vocabularies = [read_vocabulary(tmp_path / name).to_json() for name in job.names]
    assert len({str(tables.pop("lemmas")) for tables in vocabularies}) == 3  # from different folds
    assert vocabularies[0] == vocabularies[1] == vocabularies[2]


def score_attachment(gold, trees) -> dict[str, float]:
    scores = depkit.evaluate(gold, trees)
    return {"UAS": scores.UAS, "LAS": scores.LAS}


def test_words_that_a_member_has_not_seen_have_the_vector_of_unknown_words(tiny, tmp_path):
    job = make_job(tmp_path, ["bilstm"])
    train_one_member(job, 0)
    parser = load(tmp_path / job.names[0], "cpu", precision="float32")
    fold_numbers = module.assign_folds(tiny, 3, 1)
    seen = {form.lower() for i, s in enumerate(tiny) if fold_numbers[i] for form in s.form}
    table = parser.network.inputs.word.weight
    words = parser.vocabulary.words
    unseen = [word for word in words.symbols[3:] if word not in seen]
    assert unseen  # otherwise this test would be vacuous
    for word in words.symbols[3:]:
        same = torch.equal(table[words.get(word)], table[UNKNOWN])
        assert same == (word in unseen), word


def test_a_killed_run_is_completed_by_the_same_command(trained_job, tmp_path, monkeypatch):
    broken = make_job(tmp_path / "broken")
    train, calls = training.train_member, []

    def train_until_killed(job, plan, member, *rest):
        calls.append(member)
        # the training of the second member is interrupted
        with kill_training_at(5 if member == 1 else -1, KeyboardInterrupt):
            return train(job, plan, member, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(training, "train_member", train_until_killed)
        with pytest.raises(KeyboardInterrupt):
            train_ensemble(broken)
    assert calls == [0, 1] and not (tmp_path / "broken" / ENSEMBLE).exists()
    assert (tmp_path / "broken" / trained_job.names[1] / CHECKPOINT).exists()
    with pytest.raises(ModelError):
        load(tmp_path / "broken", "cpu")
    train_ensemble(broken)
    for name in trained_job.names:
        assert weights(tmp_path / "broken" / name) == weights(trained_job.directory / name)


def test_a_finished_member_is_not_changed(tmp_path, monkeypatch):
    job = make_job(tmp_path)
    first = train_one_member(job, 0)
    card = tmp_path / job.names[0] / CARD
    content, written = card.read_text("utf-8"), card.stat().st_mtime_ns
    assert "\n- Calibration on " in content

    fail = Mock(side_effect=AssertionError("the network is made"))
    monkeypatch.setattr(Biaffine, "network", fail)
    assert train_one_member(job, 0) == first
    assert (card.read_text("utf-8"), card.stat().st_mtime_ns) == (content, written)
    with pytest.raises(AssertionError, match="the network is made"):
        train_one_member(job, 1)


def test_members_are_reused(tmp_path, monkeypatch):
    train_ensemble(make_job(tmp_path / "a", ["selfatt"]))
    train_ensemble(make_job(tmp_path / "b", ["bilstm"]))
    reuse = [str(tmp_path / "a"), str(tmp_path / "b")]
    epochs = []
    monkeypatch.setattr(module.Progress, "write_epoch", lambda self, record: epochs.append(record))
    train_ensemble(make_job(tmp_path / "both", reuse=reuse))
    assert epochs == []  # nothing was trained
    for name, source in zip(make_job(tmp_path).names, "aba", strict=True):
        for file in (WEIGHTS, CARD):
            copy, original = (tmp_path / ensemble / name / file for ensemble in ("both", source))
            assert copy.read_bytes() == original.read_bytes()
    other_settings = [*SMALL, "training.rate=1e-3"]
    with pytest.raises(ResumeError, match=r"`reuse`: .*a/fold-1-selfatt: .*rate="):
        train_ensemble(make_job(tmp_path / "c", reuse=reuse, settings=other_settings))
    assert not (tmp_path / "c" / "fold-1-selfatt").exists()


def test_an_unfinished_member_is_not_reused(tmp_path, monkeypatch):
    with kill_training_at(3, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        train_one_member(make_job(tmp_path / "cut"), 0)
    monkeypatch.setattr(module, "_copy_model", Mock(side_effect=AssertionError("it is copied")))
    assert train_one_member(make_job(tmp_path / "new", reuse=[tmp_path / "cut"]), 0).epoch == 2
    with pytest.raises(AssertionError, match="it is copied"):
        train_one_member(make_job(tmp_path / "third", reuse=[tmp_path / "new"]), 0)


@pytest.mark.parametrize(
    ("fields", "difference"),
    [({"folds": 2}, r"`folds` 3 \(now 2\)"), ({"seed": 2}, r"`seed` 1 \(now 2\)")],
)
def test_other_folds_are_the_only_difference_that_an_error_names(fields, difference, tmp_path):
    train_one_member(make_job(tmp_path), 0)
    with pytest.raises(ResumeError, match=f"was started with {difference}; resume it"):
        train_one_member(make_job(tmp_path, **fields), 0)


def test_training_in_parallel_gives_the_same_weights(trained_job, tmp_path):
    train_ensemble(make_job(tmp_path, device="cpu,cpu"))
    for name in trained_job.names:
        assert weights(trained_job.directory / name) == weights(tmp_path / name)


@pytest.mark.parametrize(
    ("messages", "status", "error"),
    [
        ([("say", "fold-1: epoch 1"), ("add", "fold-1"), ("remove", "fold-1")], 0, None),
        ([("say", "fold-1: epoch 1"), ("failed", "on cpu: no memory")], 1, "^on cpu: no memory"),
        ([("say", "fold-1: epoch 1")], -9, "ended with status -9; run the same command again"),
    ],
)
def test_messages_of_other_processes_are_shown(messages, status, error):
    receiver, sender = multiprocessing.Pipe(duplex=False)
    for message in messages:
        sender.send(message)
    sender.close()
    stream = io.StringIO()
    with pytest.raises(TrainingError, match=error) if error else nullcontext():
        training._show_messages({receiver: Mock(exitcode=status)}, 3, ProgressBars(stream=stream))
    assert stream.getvalue() == "fold-1: epoch 1\n"


def test_the_error_of_another_process_is_raised(tmp_path):
    job = make_job(tmp_path, device="cpu,cpu")
    train_one_member(job, 1)
    damaged = tmp_path / job.names[1] / FINISHED
    damaged.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"on cpu: .*damaged"):
        train_ensemble(job)


def test_settings_apply_to_the_members_that_have_them(tmp_path):
    recipes = prepare_recipes(make_job(tmp_path, settings=[*SMALL, "encoder.window=9"]), CPU)
    encoders = {name: plan.recipe.parser.encoder for name, plan in recipes.items()}
    assert (encoders["selfatt"].heads, encoders["selfatt"].window) == (2, 9)
    assert encoders["bilstm"] == BiLSTM(layers=1, size=8)


def test_impossible_ensembles_are_rejected(tiny, tmp_path):
    for fields, message in (
        (
            {"recipes": ["bilstm"], "settings": [*SMALL, *ATTENTION]},
            "encoder.heads can only be set with",
        ),
        ({"recipes": ["x.toml"], "config": "y.toml"}, "name only one"),
        ({"recipes": ["nosuch"]}, "no recipe 'nosuch'"),
        ({"folds": 1}, "2 or more"),
    ):
        with pytest.raises(ConfigError, match=message):
            prepare_recipes(make_job(tmp_path, **fields), CPU)
    write(tiny[:2], tmp_path / "two.conllu")
    job = replace(make_job(tmp_path, ["bilstm"]), train=str(tmp_path / "two.conllu"))
    with pytest.raises(DataError, match=r"too few different sentences \(2\) for 3 folds"):
        prepare_recipes(job, CPU)


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
def test_damaged_ensembles_are_rejected(text, message, tmp_path):
    (tmp_path / ENSEMBLE).write_text(text, "utf-8")
    with pytest.raises(ModelError, match=message):
        load(tmp_path, "cpu")


def test_the_ensemble_and_its_members_share_the_tokenizer(tiny, tmp_path):
    settings = [setting for setting in SMALL if "tokenizer" not in setting]
    settings += ["tokenizer.size=8", "training.epochs=1", "scorer.predict=[]"]
    job = make_job(tmp_path, ["bilstm"], 2, settings=settings)
    train_ensemble(job)
    directories = (tmp_path, *tmp_path.glob("fold-*"))
    assert len({(directory / TOKENIZER).read_bytes() for directory in directories}) == 1
    text = "The cat sleeps. The dog barks."
    parsers = [load(tmp_path, "cpu"), load(tmp_path / job.names[0], "cpu")]
    tokens = [[sentence.form for sentence in parser.tokenize(text)] for parser in parsers]
    assert tokens[0] == tokens[1]


def test_ensembles_read_elmo_vectors(tiny, tmp_path):
    features = write_features(tmp_path / "elmo.hdf5", tiny, seed=1, width=4)
    settings = [*SMALL, "inputs.context.source=elmo", "inputs.context.top=2"]
    files = {"elmo": [features], "dev_elmo": features}
    job = make_job(tmp_path / "m", settings=settings, **files)
    scores = train_ensemble(job)
    parser = load(tmp_path / "m", "cpu")
    pairs = list(parser.attach_features(read(TINY), features))
    trees = parser.parse([pair[0] for pair in pairs], context=[pair[1] for pair in pairs])
    assert scores.items() >= score_attachment(tiny, trees).items()


def test_members_share_the_vectors_of_a_frozen_transformer(tiny, tmp_path, monkeypatch):
    model = f"inputs.context.model={save_bert(tmp_path / 'bert')}"
    settings = [*SMALL, "inputs.context.source=transformer", model, "inputs.context.top=2"]
    job = make_job(tmp_path / "m", folds=2, settings=[*settings, "inputs.context.size=4"])
    train_ensemble(job)
    alone = [load(tmp_path / "m" / name, "cpu", precision="float32") for name in job.names]
    indices = np.arange(len(tiny))
    expected = [
        member.engine.score(cpu_batch(member.make_preparer()(tiny, []), indices)).arc
        for member in alone
    ]
    together = load(tmp_path / "m", "cpu", precision="float32")
    first, second = (member.network.transformer for member in together.members)
    assert first is second
    context_layers = Mock(wraps=inputs.context_layers)
    monkeypatch.setattr(inputs, "context_layers", context_layers)
    prepared = together.make_preparer()(tiny, [])
    for batch in (indices, indices[:5], indices):
        scores = together.engine.score(cpu_batch(prepared, batch))
    assert context_layers.call_count == 3
    torch.testing.assert_close(scores.arc, log_mean(expected, "arithmetic"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('family = "tagger"', "of several families .* biaffine, tagger"),
        ("[scorer]\ntree = false", "of several families"),
        ('[decoder]\nroot = "multi"', "of different kinds"),
    ],
)
def test_recipes_that_cannot_be_combined_are_not_trained(text, message, tmp_path):
    (tmp_path / "other.toml").write_text(text, "utf-8")
    job = make_job(tmp_path / "m", ["bilstm", str(tmp_path / "other.toml")], settings=[])
    with pytest.raises(CombinationError, match=message):
        train_ensemble(job)
    assert not (tmp_path / "m").exists()


def test_an_ensemble_and_its_members_are_calibrated_separately(trained_job):
    calibration = Calibration(**read_ensemble(trained_job.directory).calibration)
    assert calibration != Calibration()
    parser = load(trained_job.directory, "cpu")
    assert parser.config.calibration == calibration
    assert combine([parser], "geometric").config.calibration == Calibration()
    assert combine([parser], "arithmetic") is combine([parser]) is parser
    for name in trained_job.names:
        assert load(trained_job.directory / name, "cpu").config.calibration != Calibration()
    card = (trained_job.directory / "README.md").read_text("utf-8")
    assert "- Calibration on 182 words of dev: " in card
