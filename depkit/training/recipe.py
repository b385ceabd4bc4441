"""A recipe: everything a training run is made of, as data read from TOML."""

import math
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from depkit.parsers.config import (
    Calibration,
    ConfigError,
    ParserConfig,
    check_encoder,
    from_dict,
    nested,
    overlay,
)

LEAST_TOKENS = 150


@dataclass(frozen=True)
class Training:
    """The optimiser, its schedule and when to stop.

    An update sees `accumulate` batches of at most `batch_tokens` padded tokens; of fewer, down to
    LEAST_TOKENS, where a small treebank would else not see `updates` in all `epochs`. The rate
    rises linearly over `warmup` updates; then "exponential" multiplies it by `decay` every
    `decay_updates`, "linear" takes it to nothing at the last of `epochs`, "constant" leaves
    it. `context_rate`: that of a transformer's last layer, where it is trained, too; `layer_decay`
    multiplies it from each layer to the one below. `select`: the dev score that chooses the
    epoch; "tags" is the mean accuracy of the predicted columns. `patience`: epochs without a
    better dev score before stopping. `save_every`: seconds between checkpoints inside an epoch;
    there is one after every epoch anyway. `storage`: of the weights in the model directory.
    """

    epochs: int = 60
    patience: int = 20
    batch_tokens: int = 1000
    updates: int = 0
    accumulate: int = 1
    rate: float = 2e-3
    context_rate: float = 5e-5
    layer_decay: float = 1.0
    beta1: float = 0.9
    beta2: float = 0.9
    epsilon: float = 1e-12
    weight_decay: float = 0.0
    clip: float = 5.0
    warmup: int = 0
    schedule: Literal["exponential", "linear", "constant"] = "linear"
    decay: float = 0.75
    decay_updates: int = 5000
    select: Literal["LAS", "UAS", "tags"] = "LAS"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    save_every: float = 300.0
    storage: Literal["float32", "float16"] = "float32"


@dataclass(frozen=True)
class TokenizerTraining:
    """The tokenizer beside the parser, and how it is trained."""

    enabled: bool = True
    embedding: int = 32
    size: int = 80
    dropout: float = 0.2
    epochs: int = 12
    batch_characters: int = 3000
    rate: float = 4e-3


@dataclass(frozen=True)
class Distillation:
    """What a student learns from (depkit distill); no other training looks at it.

    weight: of the teacher's distributions over treebank words, gold has the rest; text: words of
    text in an epoch, for one of the treebank; the next epoch has the following ones.
    """

    weight: float = 0.5
    text: float = 1.0


@dataclass(frozen=True)
class Recipe(ParserConfig):
    """A parser's parts and how they are trained; `about` goes into the model card."""

    about: str = ""
    training: Training = field(default_factory=Training)
    tokenizer: TokenizerTraining = field(default_factory=TokenizerTraining)
    distillation: Distillation = field(default_factory=Distillation)


def recipe_names() -> list[str]:
    """The names of the recipes that come with depkit."""
    folder = resources.files("depkit.recipes")
    return sorted(
        each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")
    )


def make_recipe(
    name: str = "bilstm", file: str | None = None, settings: list[str] | None = None
) -> Recipe:
    """A shipped recipe, overlaid with a TOML file, overlaid with KEY=VALUE settings.

    Raises ConfigError for an unknown name, key or value.
    """
    if name not in recipe_names():
        raise ConfigError(f"no recipe {name!r}; there are {', '.join(recipe_names())}")
    tables = _shipped(name)
    if file:
        try:
            given = tomllib.loads(Path(file).read_text("utf-8"))
            for name in ("format_version", "calibration"):  # a model's config.toml will do, too
                given.pop(name, None)
            overlay(tables, given)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: {error}") from None
    for setting in settings or []:
        overlay(tables, nested(setting))
    recipe = from_dict(Recipe, tables)
    check_parts(recipe)
    return recipe


def _shipped(name: str) -> dict[str, Any]:
    """A recipe of the package, over the one that it names as its base."""
    text = resources.files("depkit.recipes").joinpath(f"{name}.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    if "base" not in tables:
        return tables
    whole = _shipped(tables.pop("base"))
    overlay(whole, tables)
    return whole


def check_parts(recipe: Recipe) -> None:
    """Raises ConfigError for settings that do not go together; widths may be still unknown."""
    inputs, context = recipe.inputs, recipe.inputs.context
    pretrained = inputs.vectors.file or context.source != "none"
    if not (inputs.word or inputs.tag or inputs.char or pretrained):
        raise ConfigError(
            "nothing to read: give inputs.word, inputs.tag or inputs.char a size, or set"
            " inputs.vectors.file or inputs.context.source"
        )
    if (context.source == "transformer") != bool(context.model):
        raise ConfigError("inputs.context.source=transformer and inputs.context.model go together")
    if context.tune and context.source != "transformer":
        raise ConfigError("inputs.context.tune is for inputs.context.source=transformer")
    if context.source != "none" and context.layers == "single" and not context.top:
        raise ConfigError("inputs.context.top is 0; a single layer is 1 (the last) or more")
    check_encoder(recipe.encoder)
    if not recipe.scorer.tree and not recipe.scorer.predict:
        raise ConfigError("nothing to predict: scorer.tree is false and scorer.predict empty")
    if recipe.calibration != Calibration():
        raise ConfigError("calibration is measured when a training is through, and cannot be set")
    if not math.isfinite(recipe.distillation.text):
        raise ConfigError("distillation.text is a number: words of text for one of the treebank")
    if recipe.distillation.weight > 1:
        raise ConfigError("distillation.weight is a share, from 0 to 1")
    if (recipe.training.select == "tags") != (not recipe.scorer.tree):
        raise ConfigError("training.select=tags and scorer.tree=false go together")


def adopt(recipe: Recipe, config: ParserConfig) -> Recipe:
    """The recipe's training and decoder with another parser's parts, to go on from its weights.

    What chooses the epoch is what that parser predicts: a tree, or tags alone.
    """
    training = recipe.training
    if config.scorer.tree == (training.select == "tags"):
        training = replace(training, select="LAS" if config.scorer.tree else "tags")
    return replace(
        recipe, inputs=config.inputs, encoder=config.encoder, scorer=config.scorer,
        training=training,
    )  # fmt: skip


def parts(recipe: Recipe) -> ParserConfig:
    """What a network is built of: the recipe without its training and decoder."""
    return ParserConfig(recipe.inputs, recipe.encoder, recipe.scorer)
