"""Recipes that learn a small treebank of constituents."""

from depkit.nn.settings import BiLSTM, Factored, SelfAttention
from depkit.parsers.config import Inputs
from depkit.parsers.constituency.config import ConstituencyConfig, ConstituentScorer
from depkit.training.recipe import Recipe, Training

ATTENTION = {
    "heads": 4, "attention_dropout": 0.0, "feedforward_dropout": 0.0, "residual_dropout": 0.0,
}  # fmt: skip
ENCODERS = {
    "factored": Factored(
        layers=2, size=32, head_size=8, feedforward=64, positions="learned", **ATTENTION
    ),
    "bilstm": BiLSTM(layers=1, size=32, dropout=0.0),
    "rotary": SelfAttention(
        layers=2, size=64, head_size=16, feedforward=96, positions="rotary", convolution=3,
        norm_first=True, activation="silu", zero_init=True, **ATTENTION,
    ),
}  # fmt: skip
INPUTS = Inputs(
    word=32, char=32, word_min_count=1, char_embedding=16, lowercase=False, combine="sum",
    part_dropout=0.0, dropout=0.0, stop=True,
)  # fmt: skip


def make_recipe(kind="rotary", predict=("xpos",), **training):
    scorer = ConstituentScorer(dropout=0.0, predict=list(predict), hidden=64, tag_hidden=64)
    settings = {"epochs": 3, "batch_tokens": 60, "rate": 3e-3, "beta2": 0.98, "epsilon": 1e-8}
    parser = ConstituencyConfig(INPUTS, ENCODERS[kind], scorer)
    return Recipe(parser, training=Training(**(settings | {"precision": "float32"} | training)))
