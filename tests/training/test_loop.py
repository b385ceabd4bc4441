"""The loop learns, ends at its limits, and a resumed run ends like an uninterrupted one."""

import io
import json
import re
from collections import deque
from dataclasses import replace
from functools import cache
from itertools import count, islice
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import depkit
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import new_sentence
from depkit.ensemble.jackknife import accuracies
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.config import Inputs
from depkit.parsers.engine.quantisation import can_quantize
from depkit.parsers.families import get_family
from depkit.parsers.graph.config import BiaffineConfig
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.batching import length_batches, rounded_length
from depkit.parsers.inputs.tables import UNKNOWN
from depkit.parsers.model_directory import WEIGHTS, read_config
from depkit.parsers.settings import ConfigError
from depkit.parsers.tagger.config import TaggerConfig
from depkit.training import budget, loop, start
from depkit.training.budget import fit_to_time
from depkit.training.checkpoint import CHECKPOINT, FINISHED, ResumeError, read_state, save_state
from depkit.training.data import resolve_auto
from depkit.training.loop import count_updates, group_batches
from depkit.training.plan import Feed, TrainingError
from depkit.training.progress import Progress
from depkit.training.recipe import Training, adopt_parts
from depkit.training.schedule import parameter_groups
from tests.conftest import TREES
from tests.drawing.terminal import ClosedTerminal, Terminal, draw_at_once
from tests.parsers.batches import cpu_batch
from tests.parsers.constituency.small_recipes import make_recipe as make_tree_recipe
from tests.parsers.small_parsers import make_parser
from tests.training.small_runs import (
    ENCODERS,
    NO_DROPOUT,
    Killed,
    kill_training_at,
    run,
    run_until,
    same_runs,
    same_weights,
    small_recipe,
    weights,
)


@pytest.mark.parametrize("precision", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ENCODERS)
def test_every_encoder_fits_a_small_treebank(kind, precision, tiny, tmp_path):
    recipe = small_recipe(kind, epochs=60, patience=60, warmup=30, precision=precision)
    best = run_until(99.1, recipe, tiny, tmp_path)
    assert best > 99
    parser = depkit.load(tmp_path, device="cpu", precision=precision)
    untagged = [new_sentence(sentence.form) for sentence in tiny]
    parsed = list(parser.parse(untagged))
    assert depkit.evaluate(tiny, parsed).LAS == best
    # The model is that of the first epoch with correct trees; its tags are still partly wrong. Less
    # than a quarter of the words have the most frequent tag.
    assert accuracies(tiny, parsed, ["upos"])["upos"] > 50


@pytest.mark.parametrize(
    "inputs",
    [
        Inputs(word=0, char=12), Inputs(word=12, tag=8), Inputs(word=0, tag=8),
        Inputs(word=8, char=8, combine="sum", word_unknown=1.0),
        Inputs(word=0, char=12, char_kind="concat"), Inputs(char=32, char_embedding=2,
        char_kind="concat"),
    ],
)  # fmt: skip
def test_parsers_train_with_all_kinds_of_inputs(inputs, tiny, tmp_path):
    assert run(small_recipe(inputs=inputs, epochs=1), tiny, tmp_path).update > 0
    without_tags = small_recipe(inputs=inputs, epochs=1, predict=())
    assert run(without_tags, tiny, tmp_path / "no_tags").best >= 0


def test_a_tagger_learns_tags_and_does_not_change_trees(tiny, tmp_path):
    scorer = TagScorer(dropout=0.0, predict=["upos", "lemma"], tag_hidden=64)
    parser = TaggerConfig(NO_DROPOUT, ENCODERS["bilstm"], scorer)
    recipe = resolve_auto(replace(small_recipe(epochs=30), parser=parser), tiny)
    assert recipe.training.select == "tags"
    state = run(recipe, tiny, tmp_path)
    tagger = depkit.load(tmp_path, device="cpu", precision="float32")
    blank = [s.with_columns({"upos": ["_"] * len(s)}) for s in tiny]
    tagged = list(tagger.tag(blank))
    correct = accuracies(tiny, tagged, ["upos", "lemma"])
    assert sum(correct.values()) / 2 == pytest.approx(state.best)
    assert state.best > 80
    assert [s.head for s in tagged] == [s.head for s in tiny]
    with pytest.raises(ValueError, match="depkit tag"):
        next(tagger.parse(blank))
    # Training of a parser's recipe that starts from a tagger trains a tagger.
    assert run(small_recipe(epochs=1), tiny, tmp_path / "on", initial=tagger).best > 80
    parser_recipe = adopt_parts(recipe, BiaffineConfig())
    assert resolve_auto(parser_recipe, tiny).training.select == "LAS"


@pytest.fixture(scope="module")
def uninterrupted(tiny, tmp_path_factory):
    """Return a function that returns the recipe and the directory of a finished run, per encoder.

    The recipe has dropout, and a checkpoint after every update.
    """

    @cache
    def train(kind):
        recipe = small_recipe(kind, Inputs(word=12, char=12), accumulate=2)
        directory = tmp_path_factory.mktemp(kind)
        run(recipe, tiny, directory)
        return recipe, directory

    return train


@pytest.mark.parametrize(
    ("kind", "moment"),
    [*(("bilstm", moment) for moment in (1, 2, 5, 6)), *((kind, 4) for kind in ENCODERS)],
)
def test_a_resumed_run_gives_the_model_of_an_uninterrupted_run(
    kind, moment, tiny, tmp_path, uninterrupted
):
    recipe, whole = uninterrupted(kind)
    with kill_training_at(moment), pytest.raises(Killed):
        run(recipe, tiny, tmp_path)
    state = run(recipe, tiny, tmp_path, resume=True)
    assert state.epoch == 3
    assert same_runs(whole, tmp_path)


ALL_POSITIONS = {"input_norm": True, "drop_positions": False, "positions": "learned"}


@pytest.mark.parametrize(
    ("encoder", "inputs", "training"),
    [
        (
            replace(ENCODERS["selfatt"], **ALL_POSITIONS, position_attention=True),
            {"stop": True, "tag": 12, "word_dropout": 0.4, "tag_dropout": 0.2},
            {"schedule": "plateau", "plateau": 1, "decay": 0.5, "clip": 0.0, "rate": 0.1},
        ),
        (
            replace(ENCODERS["selfatt"], **ALL_POSITIONS, combine_positions="concat"),
            {"char_boundaries": True, "char_vector_dropout": 0.2},
            {"schedule": "step", "decay_updates": 2, "punct": "upos"},
        ),
        (
            replace(ENCODERS["stacked"], recurrent_dropout=0.3, lstm_dropout=0.3),
            {"word_std": 0.07, "stop": True},
            {},
        ),
        (
            ENCODERS["rotary"],
            {"affix": 12, "affix_dropout": 0.2, "prior": 8, "treebank": 4},
            {},
        ),
        (
            replace(ENCODERS["factored"], norm_first=True, relaxed=True),
            {"stop": True, "char_boundaries": True, "char_kind": "concat", "combine": "sum"},
            {},
        ),
    ],
)
def test_settings_of_papers_are_resumed_and_loaded(encoder, inputs, training, tiny, tmp_path):
    inputs = replace(Inputs(word=12, char=12), **inputs)
    recipe = small_recipe(encoder=encoder, inputs=inputs, epochs=4, **training)
    whole = run(recipe, tiny, tmp_path / "whole")
    with kill_training_at(whole.update - 1), pytest.raises(Killed):
        run(recipe, tiny, tmp_path / "cut")
    cut = read_state(tmp_path / "cut")
    assert (cut.reductions > 0) == (recipe.training.schedule == "plateau")
    state = run(recipe, tiny, tmp_path / "cut", resume=True)
    assert state.epoch == 4
    assert same_runs(tmp_path / "whole", tmp_path / "cut")
    parser = depkit.load(tmp_path / "cut", device="cpu", precision="float32")
    assert (parser.config.encoder, parser.config.inputs) == (encoder, inputs)
    parsed = parser.parse(tiny)
    punct = training.get("punct", "keep")
    assert depkit.evaluate(tiny, parsed, punct).LAS == pytest.approx(state.best)


def test_a_parser_that_reads_predicted_tags_is_trained_and_loaded(tiny, tmp_path):
    # The predicted tags of these CoNLL-09 sentences, PPOS, are their UPOS.
    lines = []
    for sentence in tiny:
        columns = sentence.form, sentence.xpos, sentence.upos, sentence.head, sentence.deprel
        for number, (form, pos, ppos, head, relation) in enumerate(zip(*columns, strict=True), 1):
            cells = (number, form, "_", "_", pos, ppos, "_", "_", head, head, relation, relation)
            lines.append("\t".join(map(str, (*cells, "_", "_"))) + "\n")
        lines.append("\n")
    sentences = list(read_lines(lines))
    inputs = Inputs(word=12, tag=12, tag_column="ppos", tag_dropout=0.1)
    state = run(small_recipe(inputs=inputs, epochs=4, predict=()), sentences, tmp_path)
    parser = depkit.load(tmp_path, device="cpu", precision="float32")
    assert parser.vocabulary.tables["tags"].symbols[3:5] == ["NOUN", "VERB"]
    parsed = list(parser.parse(sentences))
    assert depkit.evaluate(sentences, parsed).LAS == pytest.approx(state.best)
    assert parsed[0].column("pxpos") == sentences[0].column("pxpos")


def test_the_plateau_schedule_halves_the_rate_after_epochs_without_improvement(
    tiny, tmp_path, monkeypatch
):
    scores = [5.0, 6.0, 6.0, 5.5, 6.0, 7.0, 1.0, 1.0, 1.0, 1.0]
    given = iter(scores)
    monkeypatch.setattr(loop, "score_dev", lambda *_: {"LAS": next(given), "UAS": 0.0})
    recipe = small_recipe(
        epochs=len(scores), schedule="plateau", plateau=2, decay=0.5, rate=1e-3, warmup=1
    )
    run(recipe, tiny, tmp_path, progress=Progress(tmp_path, quiet=True))
    log = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    # Better scores came after epochs 1, 2 and 6, so the rate falls after epochs 4, 8 and 10.
    assert [line["rate"] * 1e3 for line in log] == pytest.approx([1] * 4 + [0.5] * 4 + [0.25] * 2)


def test_the_plateau_schedule_counts_from_the_end_of_the_warm_up(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "score_dev", lambda *_: {"LAS": 5.0, "UAS": 0.0})
    settings = {"schedule": "plateau", "plateau": 2, "decay": 0.5}
    per_epoch = run(small_recipe(epochs=1, **settings), tiny, tmp_path / "one").update
    # The warm-up ends with epoch 3, and epochs 4 and 5 are not better.
    for epochs, reductions in ((4, 0), (5, 1)):
        recipe = small_recipe(epochs=epochs, warmup=3 * per_epoch, **settings)
        assert run(recipe, tiny, tmp_path / str(epochs)).reductions == reductions


def test_the_plateau_schedule_counts_from_a_warm_up_that_time_ends(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "score_dev", lambda *_: {"LAS": 5.0, "UAS": 0.0})
    seconds = count()
    monkeypatch.setattr(loop, "clock", lambda: next(seconds))
    # The time ends after few of the updates, but the warm-up takes half of the time only.
    recipe = small_recipe(epochs=1000, warmup=0.5, schedule="plateau", plateau=1, decay=0.5)
    state = run(recipe, tiny, tmp_path, max_time=60)
    assert state.epoch < 100
    assert state.reductions > 1


def test_without_a_maximum_the_gradient_is_not_clipped(tiny, tmp_path):
    ends = {}
    for clip in (0.0, 1e9, 1e-3):
        recipe = small_recipe(epochs=1, clip=clip, epsilon=1.0)
        run(recipe, tiny, tmp_path / str(clip))
        ends[clip] = load_file(tmp_path / str(clip) / CHECKPOINT)
    assert same_weights(ends[0.0], ends[1e9])
    assert not same_weights(ends[0.0], ends[1e-3])


def test_punctuation_is_left_out_of_the_dev_score(tiny, tmp_path):
    for punct in ("keep", "upos"):
        run(small_recipe(epochs=1, punct=punct), tiny, tmp_path / punct)
        parsed = list(depkit.load(tmp_path / punct, device="cpu", precision="float32").parse(tiny))
        (line,) = (tmp_path / punct / "log.jsonl").read_text().splitlines()
        scores = {name: depkit.evaluate(tiny, parsed, name).UAS for name in ("keep", "upos")}
        assert json.loads(line)["UAS"] == pytest.approx(scores[punct])
        assert scores["keep"] != scores["upos"]


def test_a_run_killed_before_its_first_checkpoint_can_be_resumed(tiny, tmp_path, monkeypatch):
    run(small_recipe(), tiny, tmp_path / "whole")

    def kill(*arguments):
        if (tmp_path / "cut" / WEIGHTS).exists():
            raise Killed
        save_state(*arguments)

    with monkeypatch.context() as patch:
        for module in (start, loop):
            patch.setattr(module, "save_state", kill)
        with pytest.raises(Killed):
            run(small_recipe(), tiny, tmp_path / "cut")
    run(small_recipe(), tiny, tmp_path / "cut", resume=True)
    assert same_weights(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_the_seed_determines_the_weights(tiny, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(small_recipe(epochs=1), tiny, tmp_path / name, seed=seed)
    assert same_weights(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not same_weights(weights(tmp_path / "a"), weights(tmp_path / "c"))


def read_files(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("keep_state", [False, True])
def test_a_finished_run_is_not_changed(keep_state, tiny, tmp_path):
    first = run(small_recipe(epochs=2), tiny, tmp_path, keep_state=keep_state)
    before = read_files(tmp_path)
    assert (CHECKPOINT in before, FINISHED in before) == (keep_state, not keep_state)
    for epochs in (2, 1):
        recipe = small_recipe(epochs=epochs)
        assert run(recipe, tiny, tmp_path, resume=True, keep_state=False) == first
    assert read_files(tmp_path) == before


@pytest.mark.parametrize(
    ("settings", "resumed_settings"),
    [
        ({"epochs": 1}, {"epochs": 2}),
        ({"rate": 0.0, "patience": 1}, {"rate": 0.0, "patience": 2}),
        ({"epochs": 3, "max_time": 0.001}, {"epochs": 3}),
    ],
)
def test_a_finished_run_is_resumed_only_with_its_state(settings, resumed_settings, tiny, tmp_path):
    def start(directory, keep_state, max_time=60.0, resume=False, **training):
        recipe = small_recipe(**training)
        return run(recipe, tiny, directory, max_time=max_time, keep_state=keep_state, resume=resume)

    num_epochs = start(tmp_path / "with_state", True, **settings).epoch
    assert start(tmp_path / "with_state", False, resume=True, **resumed_settings).epoch > num_epochs
    names = read_files(tmp_path / "with_state").keys()
    assert FINISHED in names and CHECKPOINT not in names
    start(tmp_path / "without_state", False, **settings)
    before = read_files(tmp_path / "without_state")
    with pytest.raises(ResumeError, match=r"`keep_state`; .* with `init` /\S+$"):
        start(tmp_path / "without_state", True, resume=True, **resumed_settings)
    assert read_files(tmp_path / "without_state") == before


def test_a_run_resumed_with_more_epochs_keeps_its_batch_size(tiny, tmp_path):
    def size(epochs, resume=False):
        recipe = small_recipe(epochs=epochs, batch_tokens=1000, updates=1)
        run(recipe, tiny, tmp_path, resume=resume)
        assert f"\nepochs = {epochs}\n" in (tmp_path / "config.toml").read_text("utf-8")
        return read_config(tmp_path)[1]["training"]["batch_tokens"]

    first = size(1)
    assert 150 < first < 1000
    assert size(2, True) == size(3, True) == first


def test_resuming_with_other_data_or_a_damaged_checkpoint_is_rejected(tiny, tmp_path):
    run(small_recipe(epochs=1), tiny, tmp_path)
    for training, sentences, seed, message in (
        ({"rate": 1.0}, tiny, 1, r"with training\.rate=0\.003 \(now 1\.0\); resume"),
        ({}, tiny[1:], 1, "other training sentences, other dev sentences; resume"),
        ({}, tiny, 2, r"`seed` 1 \(now 2\)"),
    ):
        with pytest.raises(ResumeError, match=message):
            recipe = small_recipe(epochs=1, **training)
            run(recipe, sentences, tmp_path, resume=True, seed=seed)
    for file in (CHECKPOINT, FINISHED):
        for content in (b"nonsense", b"{}"):
            (tmp_path / CHECKPOINT).unlink(missing_ok=True)
            (tmp_path / file).write_bytes(content)
            with pytest.raises(ResumeError, match=f"{file}: damaged"):
                run(small_recipe(epochs=1), tiny, tmp_path, resume=True)
    origin = {"settings": {}, "data": {}}
    for damage in (
        {"epoch": "2"}, {"epoch": None}, {"best": None}, {"seed": True}, {"more": 1},
        {"origin": origin | {"settings": []}}, {"origin": origin | {"data": None}},
        {"origin": {"settings": {"training.batch_tokens": 5}, "data": {}}},
    ):  # fmt: skip
        state = {"origin": origin, "seed": 1, "epoch": 1} | damage
        (tmp_path / FINISHED).write_text(json.dumps(state))
        with pytest.raises(ResumeError, match=f"{FINISHED}: damaged"):
            run(small_recipe(epochs=1), tiny, tmp_path, resume=True)
    (tmp_path / FINISHED).unlink()  # a model without a checkpoint is not overwritten
    with pytest.raises(ResumeError, match="no last"):
        run(small_recipe(epochs=1), tiny, tmp_path, resume=True)


def test_the_time_limit_ends_a_run_with_a_model(tiny, tmp_path):
    state = run(small_recipe(epochs=1000), tiny, tmp_path, max_time=0.5)
    assert state.epoch < 1000
    assert depkit.load(tmp_path, device="cpu")


@pytest.mark.parametrize(("patience", "scored"), [(20, [3, 6, 8]), (2, [2, 3, 4])])
def test_a_large_dev_part_is_scored_after_some_epochs(
    patience, scored, tiny, tmp_path, monkeypatch
):
    monkeypatch.setattr(loop, "SMALL_DEV", 0)
    recipe = small_recipe(epochs=8, patience=patience, rate=0.0)
    assert run(recipe, tiny, tmp_path).epoch == scored[-1]
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in records if "LAS" in record] == scored


@pytest.mark.parametrize(("epochs", "updates", "last"), [(2, 0, 2), (2, 1, 3), (4, 0, 4)])
def test_a_run_resumed_with_fewer_epochs_ends_with_a_scored_model(
    epochs, updates, last, tiny, tmp_path, monkeypatch
):
    """The run is killed after epoch 2 or in epoch 3, the first that is scored, or after epoch 4."""
    monkeypatch.setattr(loop, "SMALL_DEV", 0)
    per_epoch = run(small_recipe(epochs=1), tiny, tmp_path / "one").update
    directory = tmp_path / "cut"
    arguments = {"keep_state": False, "progress": Progress(directory, quiet=True)}
    with kill_training_at(epochs * per_epoch + updates + 1), pytest.raises(Killed):
        run(small_recipe(epochs=60, keep="last"), tiny, directory, **arguments)
    recipe = small_recipe(epochs=1, keep="last")
    state = run(recipe, tiny, directory, resume=True, **arguments)
    assert (state.epoch, state.best_epoch) == (last, last)
    assert state.update == epochs * per_epoch + updates
    parsed = depkit.load(directory, device="cpu", precision="float32").parse(tiny)
    assert depkit.evaluate(tiny, parsed).LAS == pytest.approx(state.best)
    assert json.loads((directory / "log.jsonl").read_text().splitlines()[-1])["LAS"] == state.best
    before = read_files(directory)
    assert FINISHED in before and CHECKPOINT not in before
    assert run(recipe, tiny, directory, resume=True, **arguments) == state
    assert read_files(directory) == before


def test_a_member_that_ends_when_it_is_resumed_has_not_trained_unseen_words(tiny, tmp_path):
    recipe = small_recipe(epochs=60, keep="last")
    vocabulary = get_family(recipe.parser).vocabulary(tiny, recipe.parser)
    arguments = {"vocabulary": vocabulary, "dev": tiny}
    with kill_training_at(2), pytest.raises(Killed):
        run(recipe, tiny[:12], tmp_path / "m", **arguments)
    run(recipe, tiny[:12], tmp_path / "m", max_time=1e-9, resume=True, **arguments)
    table = depkit.load(tmp_path / "m", "cpu", precision="float32").network.inputs.word.weight
    seen = {form.lower() for sentence in tiny[:12] for form in sentence.form}
    unseen = [word for word in vocabulary.words.symbols[3:] if word not in seen]
    assert unseen
    for word in unseen:
        assert torch.equal(table[vocabulary.words.get(word)], table[UNKNOWN]), word


def test_a_run_resumed_with_less_patience_keeps_its_best_model(tiny, tmp_path):
    per_epoch = run(small_recipe(epochs=1), tiny, tmp_path / "one").update
    directory = tmp_path / "cut"
    with kill_training_at(4 * per_epoch + 2), pytest.raises(Killed):
        run(small_recipe(epochs=60, rate=0.0), tiny, directory)
    state = run(small_recipe(epochs=60, rate=0.0, patience=1), tiny, directory, resume=True)
    assert (state.epoch, state.best_epoch, state.update) == (4, 1, 4 * per_epoch + 1)
    depkit.load(directory, device="cpu")


@pytest.mark.parametrize(("large_seconds", "tokens"), [(1.01, 60), (1.6, 46), (4.0, 20)])
def test_smaller_batches_must_save_time(large_seconds, tokens, tiny, monkeypatch):
    """If no batch fits, batches stay so large that at most half of their time is a fixed cost."""
    monkeypatch.setattr(budget, "MIN_BATCH_TOKENS", 20)
    seconds = {20: 1.0, 60: large_seconds}
    monkeypatch.setattr(budget, "_time_update", lambda update, sizes, tokens: seconds[tokens])
    sizes = np.array([len(sentence) + 1 for sentence in tiny])
    fitted = fit_to_time(Training(batch_tokens=60, updates=10), sizes, print, 0.1)
    assert fitted.batch_tokens == tokens


def test_batches_suit_the_time(tiny, tmp_path, monkeypatch):
    """The batches are as large as the required number of updates allows, and stay so."""
    monkeypatch.setattr(budget, "MIN_BATCH_TOKENS", 20)
    seconds = {20: 0.5, 60: 1.5}  # of an update, by the size of its batch
    monkeypatch.setattr(budget, "_time_update", lambda update, sizes, tokens: seconds[tokens])
    sizes = np.array([len(sentence) + 1 for sentence in tiny])
    for available, tokens in ((0.1, 20), (0.5, 20), (1.0, 40), (1.5, 60), (9.0, 60)):
        time = available * 10 / budget.UPDATE_SHARE
        fitted = fit_to_time(Training(batch_tokens=60, updates=10), sizes, print, time)
        assert fitted.batch_tokens == tokens
    accumulated = Training(batch_tokens=60, updates=5, accumulate=2)
    assert fit_to_time(accumulated, sizes, print, 12.5).batch_tokens == 40
    recipe = small_recipe(epochs=1000, updates=2)
    state = run(recipe, tiny, tmp_path, max_time=2.5)
    assert state.origin.settings["training.batch_tokens"] == "40"
    resumed = run(recipe, tiny, tmp_path, max_time=3.0, resume=True)
    assert resumed.origin == state.origin
    assert read_config(tmp_path)[1]["training"]["batch_tokens"] == 40


def test_the_time_of_an_update_is_the_shortest_of_some(monkeypatch):
    clock = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(budget.time, "perf_counter", lambda: next(clock))
    update = Mock()
    assert budget._time_update(update, np.full(20, 10), 50) == 1.0
    assert [len(call.args[0]) for call in update.call_args_list] == [5, 5, 5]


def test_two_treebanks_are_annotated_in_their_own_way(tiny, tmp_path):
    """The same sentences have other relations in the second treebank, and the vector decides."""
    other = [
        sentence.with_columns({"deprel": [f"{label}:x" for label in sentence.deprel]})
        for sentence in tiny
    ]
    treebanks = []
    for name, sentences in (("aa_b", tiny), ("cc_d", other)):
        file = tmp_path / f"{name}-ud-train.conllu"
        depkit.write(sentences, file)
        treebanks.append(list(depkit.read(file)))
    first, second = treebanks
    inputs = replace(NO_DROPOUT, treebank=8)
    recipe = small_recipe("bilstm", inputs, epochs=40, patience=40, rate=1e-2)
    run(recipe, [*first, *second], tmp_path)
    parser = depkit.load(tmp_path, device="cpu", precision="float32")
    assert parser.vocabulary.tables["treebanks"].symbols == ["aa_b", "cc_d"]
    for sentences in (first, second):
        assert depkit.evaluate(sentences, parser.parse(sentences)).LAS > 90
    setting = ['inputs.treebank_name="cc_d"']
    parser = depkit.load(tmp_path, device="cpu", precision="float32", settings=setting)
    assert depkit.evaluate(second, parser.parse(first)).LAS > 90
    with pytest.raises(ConfigError, match="'dd'; those that it was trained on are aa_b, cc"):
        depkit.load(tmp_path, settings=["inputs.treebank_name=dd"])


def test_patience_ends_a_run_without_improvement(tiny, tmp_path):
    state = run(small_recipe(epochs=50, rate=0.0, patience=3), tiny, tmp_path)
    assert (state.epoch, state.best_epoch) == (4, 1)


@pytest.mark.parametrize(("keep", "ends"), [("best", (4, 1)), ("last", (6, 6))])
def test_the_weights_of_the_best_or_of_the_last_epoch_are_kept(
    keep, ends, tiny, tmp_path, monkeypatch
):
    scores = iter([50.0, 40.0, 45.0, 30.0, 20.0, 10.0])
    epochs = []

    def score_dev(parser, *arguments):
        epochs.append({name: x.clone() for name, x in parser.network.state_dict().items()})
        return {"UAS": 0.0, "LAS": next(scores)}

    monkeypatch.setattr(loop, "score_dev", score_dev)
    state = run(small_recipe(epochs=6, patience=3, keep=keep), tiny, tmp_path)
    assert (state.epoch, state.best_epoch) == ends
    assert state.best == {"best": 50.0, "last": 10.0}[keep]
    saved = weights(tmp_path)
    kept = [same_weights(saved, network) for network in epochs]
    assert kept == [epoch == state.best_epoch for epoch in range(1, state.epoch + 1)]


def test_a_loss_that_is_not_finite_ends_the_run(tiny, tmp_path):
    with pytest.raises(TrainingError, match=r"lower training\.rate"):
        run(small_recipe(rate=1e30, epochs=5), tiny, tmp_path)


def test_the_log_has_one_line_per_epoch(tiny, tmp_path):
    progress = Progress(tmp_path, quiet=True)
    run(small_recipe(epochs=2, schedule="constant"), tiny, tmp_path, progress=progress)
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"epoch": 3}\n{"epoch": 4, "lo')  # as a killed run may leave it
    recipe = small_recipe(epochs=3, schedule="constant")
    run(recipe, tiny, tmp_path, progress=progress, resume=True)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in records] == [1, 2, 3]
    assert {"loss", "UAS", "LAS", "rate", "words_per_second", "seconds"} <= records[0].keys()


def train_first_model(tiny, tmp_path, precision="float32", **settings):
    run(small_recipe(**settings), tiny, tmp_path / "first")
    return depkit.load(tmp_path / "first", device="cpu", precision=precision)


def test_fine_tuning_starts_from_the_initial_model(tiny, tmp_path):
    parser = train_first_model(tiny, tmp_path, epochs=40, patience=40)
    before = depkit.evaluate(tiny, parser.parse(tiny)).LAS
    assert run(small_recipe(epochs=1, rate=0.0), tiny, tmp_path / "second", parser).best == before


def test_fine_tuning_learns_new_relations_words_and_characters(tiny, tmp_path):
    parser = train_first_model(tiny, tmp_path, epochs=1)
    new_sentences = [
        new_sentence(
            [form.upper() + "ß" for form in sentence.form], {"upos": ["X"] * len(sentence)}
        ).with_tree(sentence.head, [f"x:{deprel}" for deprel in sentence.deprel])
        for sentence in tiny
    ]
    state = run(small_recipe(epochs=40, patience=40), new_sentences, tmp_path / "second", parser)
    assert state.best > 80
    tuned = depkit.load(tmp_path / "second", device="cpu")
    assert tuned.config.decoder.root_label == "x:root"
    old, new = (model.vocabulary.columns["deprel"].symbols for model in (parser, tuned))
    assert new[: len(old)] == old


def test_the_initial_model_is_part_of_a_runs_origin(tiny, tmp_path):
    parser = train_first_model(tiny, tmp_path, epochs=1)
    run(small_recipe(epochs=1), tiny, tmp_path / "second", parser)
    with pytest.raises(ResumeError, match=r"was started with `init` \(now none\)"):
        run(small_recipe(epochs=1), tiny, tmp_path / "second", resume=True)


def test_recurrent_dropout_changes_a_run_and_is_the_same_when_resumed(tiny, tmp_path):
    encoder = replace(ENCODERS["bilstm"], recurrent_dropout=0.3)

    def start(name, encoder, epochs, resume=False):
        recipe = small_recipe(encoder=encoder, epochs=epochs, schedule="constant")
        run(recipe, tiny, tmp_path / name, resume=resume)

    start("without", ENCODERS["bilstm"], 2)
    start("whole", encoder, 2)
    start("cut", encoder, 1)
    with pytest.raises(ResumeError, match=r"encoder\.recurrent_dropout=0\.3 \(now 0\.0\)"):
        start("cut", ENCODERS["bilstm"], 2, resume=True)
    start("cut", encoder, 2, resume=True)
    states = {name: load_file(tmp_path / name / CHECKPOINT) for name in ("without", "whole", "cut")}
    assert same_weights(states["whole"], states["cut"])
    assert not same_weights(states["whole"], states["without"])
    loaded = depkit.load(tmp_path / "whole", device="cpu")  # in int8, where there are kernels
    assert loaded.config.encoder == encoder
    assert list(map(len, loaded.parse(tiny))) == list(map(len, tiny))


def test_a_batch_that_does_not_fit_in_memory_is_an_error(tiny, tmp_path, monkeypatch):
    no_memory = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory"))
    monkeypatch.setattr(BiaffineNetwork, "forward", no_memory)
    with pytest.raises(TrainingError, match=r"lower training\.batch_tokens"):
        run(small_recipe(), tiny, tmp_path)


def test_a_closed_stderr_does_not_stop_a_run(tiny, tmp_path):
    progress = Progress(tmp_path, stream=ClosedTerminal())
    assert run(small_recipe(), tiny, tmp_path, progress=progress).epoch == 3


def test_a_terminal_shows_a_bar_and_the_same_lines(tiny, tmp_path, monkeypatch):
    draw_at_once(monkeypatch)
    outputs = []
    for stream in (io.StringIO(), Terminal()):
        directory = tmp_path / type(stream).__name__
        directory.mkdir()
        progress = Progress(directory, stream=stream)
        with progress.bar():
            run(small_recipe(), tiny, directory, progress=progress)
        outputs.append(stream.getvalue())
    plain, drawn = outputs
    assert re.findall(r"epoch +(\d)  loss .* dev UAS .* LAS .* left", plain) == ["1", "2", "3"]
    assert re.findall(r"epoch +(\d)  loss .* dev UAS .* LAS .* left", drawn) == ["1", "2", "3"]
    assert "training" not in plain
    assert set(re.findall(r"training .*%.* epoch (\d) of 3  loss", drawn)) == {"1", "2", "3"}


@pytest.mark.parametrize("accumulate", [1, 2, 3, 50])
def test_an_update_uses_the_mean_loss_of_its_batches(accumulate, tiny, tmp_path):
    # with a large epsilon, gradients that are only rounding errors do not move any weight
    settings = {"epochs": 1, "batch_tokens": 30, "schedule": "constant", "epsilon": 1e-3}
    recipe = resolve_auto(small_recipe(accumulate=accumulate, **settings), tiny)
    run(recipe, tiny, tmp_path, progress=Progress(tmp_path, quiet=True))

    family = get_family(recipe.parser)
    vocabulary = family.vocabulary(tiny, recipe.parser)
    torch.manual_seed(1)
    network = family.network(recipe.parser, vocabulary)
    data = family.examples(tiny, vocabulary, recipe.parser)
    batches = length_batches(data.sizes, 30, np.random.default_rng([1, 0]))
    assert len(batches) > 4
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-3)
    losses = []
    for first in range(0, len(batches), accumulate):
        group = batches[first : first + accumulate]
        loss = torch.stack([network(cpu_batch(data, indices)) for indices in group]).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), recipe.training.clip)
        optimizer.step()
        losses.append(loss.item())
    logged = json.loads((tmp_path / "log.jsonl").read_text())["loss"]
    assert logged == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    torch.testing.assert_close(weights(tmp_path), network.state_dict(), rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(not can_quantize(), reason="this torch has no int8 kernels for this processor")
@pytest.mark.parametrize("kind", ["bilstm", "selfatt"])
def test_a_model_in_int8_parses_but_cannot_be_trained(kind, tiny, tmp_path):
    parser = train_first_model(tiny, tmp_path, "int8", kind=kind, epochs=60, patience=60, warmup=30)
    assert depkit.evaluate(tiny, parser.parse(tiny)).LAS > 95
    with pytest.raises(ValueError, match="precision='float32'"):
        run(small_recipe(epochs=1), tiny, tmp_path / "second", parser)


@pytest.mark.skipif(not can_quantize(), reason="this torch has no int8 kernels for this processor")
def test_attention_to_positions_alone_is_not_quantized(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "depkit.parsers.engine.quantisation.best_precision", lambda device: torch.float32
    )
    encoder = replace(ENCODERS["selfatt"], **ALL_POSITIONS, position_attention=True)
    parser = train_first_model(tiny, tmp_path, "auto", encoder=encoder, epochs=1)
    assert len(list(parser.parse(tiny))) == len(tiny)
    with pytest.raises(ValueError, match=r"without .*position_attention"):
        depkit.load(tmp_path / "first", device="cpu", precision="int8")


def test_a_model_in_bfloat16_cannot_be_trained(tiny, tmp_path):
    parser = train_first_model(tiny, tmp_path, "bfloat16", epochs=1)
    with pytest.raises(ValueError, match="precision='float32'"):
        run(small_recipe(epochs=1), tiny, tmp_path / "second", parser)


def test_a_feed_of_the_treebank_gives_the_model_of_no_feed(tiny, tmp_path):
    recipe = resolve_auto(small_recipe(inputs=Inputs(word=12, char=12, word_unknown=0.5)), tiny)
    family = get_family(recipe.parser)
    data = family.examples(tiny, family.vocabulary(tiny, recipe.parser), recipe.parser)
    feed = Feed(lambda epoch: data.sizes, lambda epoch: data)
    run(recipe, tiny, tmp_path / "without")
    run(recipe, tiny, tmp_path / "fed", feed=feed)
    assert same_weights(weights(tmp_path / "without"), weights(tmp_path / "fed"))


def test_updates_are_counted_by_the_batches_of_each_epoch(tiny):
    recipe = small_recipe(epochs=4, accumulate=2)
    sizes = [np.array([len(sentence) + 1 for sentence in tiny[: 4 + 5 * i]]) for i in range(4)]
    feed = Feed(lambda epoch: sizes[epoch], lambda epoch: None)
    random = np.random.default_rng(1)
    batches = [len(length_batches(part, recipe.training.batch_tokens, random)) for part in sizes]
    assert len(set(batches)) == 4
    assert count_updates(feed, recipe) == sum((count + 1) // 2 for count in batches)


def test_compiling_the_decoder_does_not_count_as_training_time(tiny, tmp_path, monkeypatch):
    seconds = count(0.0, 0.001)
    for module in (loop, start):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(GraphParser, "warm_up", lambda self: deque(islice(seconds, 100_000), 0))
    state = run(small_recipe(epochs=3), tiny, tmp_path, max_time=60)
    assert next(seconds) > 100 and state.epoch == 3


@pytest.mark.parametrize("update", [{"batch_sentences": 100}, {"accumulate": 50}], ids=str)
def test_an_update_of_a_constituency_parser_is_the_mean_over_trees(update, tmp_path):
    """However many batches the trees are read in, each has the same weight."""
    trees = list(depkit.read(TREES))
    settings = {"epochs": 1, "schedule": "constant", "epsilon": 1e-3}
    for tokens in (40, 10_000):
        recipe = make_tree_recipe(predict=(), **settings | update | {"batch_tokens": tokens})
        run(resolve_auto(recipe, trees), trees, tmp_path / str(tokens))
    split, whole = (weights(tmp_path / name) for name in ("40", "10000"))
    torch.testing.assert_close(split, whole, rtol=1e-4, atol=1e-6)


def test_an_update_has_random_sentences_in_batches_of_similar_length():
    sizes = np.arange(10, 110)
    training = Training(batch_tokens=300, batch_sentences=30)
    groups = group_batches(sizes, training, np.random.default_rng(1))
    assert [sum(map(len, batches)) for batches in groups] == [30, 30, 30, 10]
    batches = [batch for group in groups for batch in group]
    assert sorted(np.concatenate(batches).tolist()) == list(range(100))
    assert all(len(batch) * rounded_length(int(sizes[batch].max())) <= 300 for batch in batches)
    assert min(sizes[np.concatenate(group)].max() for group in groups[:3]) > 80


def test_words_count_the_same_in_the_batches_of_an_update(tiny, tmp_path):
    settings = {"epochs": 1, "schedule": "constant", "epsilon": 1e-3, "batch_sentences": 100}
    for tokens in (30, 10_000):
        recipe = small_recipe(**settings | {"batch_tokens": tokens})
        run(resolve_auto(recipe, tiny), tiny, tmp_path / str(tokens))
    split, whole = (weights(tmp_path / name) for name in ("30", "10000"))
    torch.testing.assert_close(split, whole, rtol=1e-4, atol=1e-6)


def test_weight_decay_can_leave_out_biases_and_layer_normalisation(tiny):
    recipe = resolve_auto(small_recipe("selfatt"), tiny)
    family = get_family(recipe.parser)
    network = family.network(recipe.parser, family.vocabulary(tiny, recipe.parser))
    (every,) = parameter_groups(network, recipe.training)
    assert len(every["params"]) == len(list(network.parameters()))
    decayed, plain = parameter_groups(network, replace(recipe.training, decay_biases=False))
    assert "weight_decay" not in decayed and plain["weight_decay"] == 0.0
    names = {id(weight): name for name, weight in network.named_parameters()}
    plain_names = {names[id(weight)] for weight in plain["params"]}
    assert plain_names == {n for n in names.values() if "norm" in n or "bias" in n}


def test_dev_scores_of_columns_are_those_of_an_evaluation(tiny):
    parser = make_parser(tiny)
    columns = {"upos": "UPOS", "feats": "FEATS", "lemma": "Lemmas"}
    predicted = {columns[name] for name in parser.config.predicted_tags if name in columns}
    scores = loop.score_dev(parser, tiny, None)
    evaluation = depkit.evaluate(tiny, parser.predict(tiny))
    assert predicted and predicted == scores.keys() & set(columns.values())
    for name in ("LAS", *predicted):
        assert scores[name] == pytest.approx(evaluation.scores[name])
