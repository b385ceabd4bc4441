"""Trainings of small models, interrupted or not, and comparisons of what they wrote."""

from contextlib import contextmanager
from itertools import count

import pytest
import torch
from safetensors.torch import load_file

from depkit.nn.settings import BiLSTM, Factored, SelfAttention, Stacked
from depkit.parsers import config
from depkit.parsers.config import BiaffineConfig, Inputs
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
    scorer = config.Scorer(arc=48, label=24, dropout=0.0, predict=list(predict), tag_hidden=64)
    parser = BiaffineConfig(inputs, encoder or ENCODERS[kind], scorer)
    return Recipe(parser, training=Training(**settings))


def run(recipe, sentences, directory, initial=None, **arguments):
    directory.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    recipe = resolve_auto(adopt_parts(recipe, initial.config) if initial else recipe, sentences)
    arguments = {"keep_state": True} | arguments
    return train(
        Plan(
            recipe=recipe, train=sentences, dev=sentences, directory=directory, device=CPU,
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


class Killed(Exception):
    """Raised in place of a signal that kills a run."""


@contextmanager
def kill_training_at(moment, error=Killed):
    """Within the block, training raises an error at this update, counted from 1.

    There is a checkpoint after every update.
    """
    steps = count(1)

    def make_killed_step(step):
        def killed_step(self, *arguments, **keywords):
            if next(steps) == moment:
                raise error
            return step(self, *arguments, **keywords)

        return killed_step

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
        for kind in OPTIMIZERS.values():
            patch.setattr(kind, "step", make_killed_step(kind.step))
        yield
