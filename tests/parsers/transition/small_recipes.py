"""Recipes of small transition parsers, one for each kind of model."""

from depkit.nn.settings import PretrainedEncoder, SelfAttention
from depkit.parsers.config import Inputs
from depkit.parsers.inputs.context import Context
from depkit.parsers.transition.config import TransitionConfig, TransitionScorer
from depkit.training.recipe import Recipe, Training

ENCODER = SelfAttention(
    layers=2, size=48, heads=4, head_size=12, feedforward=96, attention_dropout=0.0,
    feedforward_dropout=0.0, residual_dropout=0.0, positions="rotary", convolution=3,
    norm_first=True, activation="silu", zero_init=True,
)  # fmt: skip
INPUTS = Inputs(
    word=32, char=16, word_min_count=1, char_embedding=16, part_dropout=0.0, dropout=0.0
)
PIECES = Inputs(
    word=0, tag=3, tag_column="upos", dropout=0.0,
    context=Context(source="transformer", model="bert", tune=True, size=0, available=4, width=16),
)  # fmt: skip
# All kinds of models: rows of Tables 1 and 2 of the paper
KINDS = {
    "sentence": {"reads": "sentence", "graph": False},
    "sentence-graph": {"reads": "sentence", "graph": True},
    "state": {"reads": "state", "graph": False, "composition": True, "history": 12},
    "state-composed-heads": {
        "reads": "state",
        "graph": False,
        "composition": True,
        "history": 12,
        "compose": "head",
        "compose_skip": False,
        "own_root": False,
    },
    "state-summary": {"reads": "state", "graph": False, "summary": True},
    "state-graph": {"reads": "state", "graph": True, "history": 12},
    "state-graph-composition": {"reads": "state", "graph": True, "composition": True},
    "state-graph-summary": {"reads": "state", "graph": True, "summary": True},
}


def make_config(kind, pretrained=False, **scorer):
    settings = {"hidden": 64, "label_hidden": 32, "dropout": 0.0} | KINDS[kind] | scorer
    inputs, encoder = (PIECES, PretrainedEncoder()) if pretrained else (INPUTS, ENCODER)
    return TransitionConfig(inputs, encoder, TransitionScorer(**settings))


def make_recipe(kind, states=3, **training):
    settings = {"epochs": 3, "batch_tokens": 60, "rate": 3e-3, "beta2": 0.98, "epsilon": 1e-8}
    config = make_config(kind, states=states)
    return Recipe(config, training=Training(**(settings | {"precision": "float32"} | training)))
