"""Trainings of small models, interrupted or not, and comparisons of what they wrote."""

from contextlib import contextmanager, suppress
from itertools import count

import pytest
import torch
from safetensors.torch import load_file

from depkit.nn.settings import BiLSTM, Factored, SelfAttention, Stacked
from depkit.parsers.config import Inputs
from depkit.parsers.graph.config import BiaffineConfig, Scorer
from depkit.parsers.model_directory import WEIGHTS
from depkit.training import loop
from depkit.training.checkpoint import CHECKPOINT
from depkit.training.data import resolve_auto
from depkit.training.loop import train
from depkit.training.plan import Plan
from depkit.training.recipe import Recipe, Training, adopt_parts
from depkit.training.start import OPTIMIZERS

CPU = torch.device("cpu")
DROPOUTS = dict.fromkeys(["attention_dropout", "feedforward_dropout", "residual_dropout"], 0.0)
ATTENTION = {"heads": 4} | DROPOUTS
ENCODERS = {
    "factored": Factored(
        layers=2, size=24, head_size=6, feedforward=48, window=20, positions="learned", **ATTENTION
    ),
    "bilstm": BiLSTM(layers=1, size=32, dropout=0.0),
    "selfatt": SelfAttention(layers=2, size=48, head_size=12, feedforward=96, **ATTENTION),
    "rotary": SelfAttention(
        layers=2, size=48, head_size=12, feedforward=96, positions="rotary", convolution=3,
        norm_first=True, activation="silu", zero_init=True, **ATTENTION,
    ),
    "stacked": Stacked(
        layers=1, size=48, head_size=12, feedforward=96, lstm_layers=1, lstm_size=24,
        lstm_dropout=0.0, **ATTENTION,
    ),
}  # fmt: skip
NO_DROPOUT = Inputs(word=24, char=24, char_embedding=16, part_dropout=0.0, dropout=0.0)


def small_recipe(kind="bilstm", inputs=NO_DROPOUT, encoder=None, predict=("upos",), **training):
    settings = {
        "epochs": 3, "batch_tokens": 60, "rate": 3e-3, "beta2": 0.98, "epsilon": 1e-8,
        "precision": "float32",
    } | training  # fmt: skip
    scorer = Scorer(arc=48, label=24, dropout=0.0, predict=list(predict), tag_hidden=64)
    parser = BiaffineConfig(inputs, encoder or ENCODERS[kind], scorer)
    return Recipe(parser, training=Training(**settings))


def run(recipe, sentences, directory, initial=None, **arguments):
    directory.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    recipe = resolve_auto(adopt_parts(recipe, initial.config) if initial else recipe, sentences)
    arguments = {"keep_state": True, "dev": sentences} | arguments
    return train(
        Plan(
            recipe=recipe, train=sentences, directory=directory, device=CPU,
            initial=initial, **arguments,
        )
    )  # fmt: skip


def weights(directory):
    return load_file(directory / WEIGHTS)


def same_weights(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


def same_runs(first, second):
    """Whether two runs with `keep_state` ended with the same model and checkpoint."""
    runs = (first, second)
    return all(
        same_weights(*(load_file(run / file) for run in runs)) for file in (WEIGHTS, CHECKPOINT)
    )


class Learned(Exception):
    """Raised to end a training whose dev score is good enough."""


def run_until(score, recipe, sentences, directory):
    """Train until the dev score is at least `score`, or to the end; return the best dev score.

    The recipe has as many epochs as the slowest of its kind needs, and most need half of them.
    """
    scores = [0.0]
    score_dev = loop.score_dev

    def keep_score(*arguments):
        found = score_dev(*arguments)
        scores.append(found[resolve_auto(recipe, sentences).training.select])
        return found

    def end():
        if max(scores) >= score:
            raise Learned

    with (
        pytest.MonkeyPatch.context() as patch,
        call_before_updates(end),
        suppress(Learned),
    ):
        patch.setattr(loop, "score_dev", keep_score)
        run(recipe, sentences, directory)
    return max(scores)


@contextmanager
def call_before_updates(function):
    """Within the block, training calls a function before each update of the weights."""

    def make_step(step):
        def call_and_step(self, *arguments, **keywords):
            function()
            return step(self, *arguments, **keywords)

        return call_and_step

    with pytest.MonkeyPatch.context() as patch:
        for kind in OPTIMIZERS.values():
            patch.setattr(kind, "step", make_step(kind.step))
        yield


class Killed(Exception):
    """Raised in place of a signal that kills a run."""


@contextmanager
def kill_training_at(moment, error=Killed):
    """Within the block, training raises an error at this update, counted from 1.

    There is a checkpoint after every update.
    """
    steps = count(1)

    def kill():
        if next(steps) == moment:
            raise error

    with pytest.MonkeyPatch.context() as patch, call_before_updates(kill):
        patch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        yield
