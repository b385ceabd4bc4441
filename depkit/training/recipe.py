"""A recipe: everything a training run is made of, as data read from TOML."""

import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from depkit.parsers.config import ConfigError, ParserConfig, from_dict


@dataclass(frozen=True)
class Training:
    """The optimiser, its schedule and when to stop.

    An update sees `accumulate` batches of at most `batch_tokens` padded tokens. The rate
    rises linearly over `warmup` updates; then "exponential" multiplies it by `decay` every
    `decay_updates`, "linear" takes it to nothing at the last of `epochs`, "constant" leaves
    it. `patience`: epochs without a better dev score before stopping. `save_every`: seconds
    between checkpoints inside an epoch; there is one after every epoch anyway. `storage`: of
    the weights in the model directory.
    """

    epochs: int = 60
    patience: int = 20
    batch_tokens: int = 1000
    accumulate: int = 1
    rate: float = 2e-3
    beta1: float = 0.9
    beta2: float = 0.9
    epsilon: float = 1e-12
    weight_decay: float = 0.0
    clip: float = 5.0
    warmup: int = 0
    schedule: Literal["exponential", "linear", "constant"] = "linear"
    decay: float = 0.75
    decay_updates: int = 5000
    select: Literal["LAS", "UAS"] = "LAS"
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
class Recipe(ParserConfig):
    """A parser's parts and how they are trained; `about` goes into the model card."""

    about: str = ""
    training: Training = field(default_factory=Training)
    tokenizer: TokenizerTraining = field(default_factory=TokenizerTraining)


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
    shipped = resources.files("depkit.recipes").joinpath(f"{name}.toml").read_text("utf-8")
    tables = tomllib.loads(shipped)
    if file:
        try:
            given = tomllib.loads(Path(file).read_text("utf-8"))
            given.pop("format_version", None)  # a model's config.toml will do, too
            _overlay(tables, given)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: {error}") from None
    for setting in settings or []:
        _overlay(tables, _nested(setting))
    recipe = from_dict(Recipe, tables)
    if not (recipe.inputs.word or recipe.inputs.tag or recipe.inputs.char):
        raise ConfigError("nothing to read: give inputs.word, inputs.tag or inputs.char a size")
    return recipe


def _overlay(tables: dict[str, Any], over: dict[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(tables.get(key), dict):
            _overlay(tables[key], value)
        else:
            tables[key] = value


def _nested(setting: str) -> dict[str, Any]:
    """`a.b=VALUE` as tables; the value as TOML, else as a bare string."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{setting!r} is not KEY=VALUE, for example training.epochs=10")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    nested: Any = value
    for part in reversed(key.strip().split(".")):
        nested = {part: nested}
    return nested


def adopt(recipe: Recipe, config: ParserConfig) -> Recipe:
    """The recipe's training and decoder with another parser's parts, to go on from its weights."""
    return replace(recipe, inputs=config.inputs, encoder=config.encoder, scorer=config.scorer)


def parts(recipe: Recipe) -> ParserConfig:
    """What a network is built of: the recipe without its training and decoder."""
    return ParserConfig(recipe.inputs, recipe.encoder, recipe.scorer)
