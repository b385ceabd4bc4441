"""A recipe: everything a training run is made of, as data read from TOML."""

import dataclasses
import math
import tomllib
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_type_hints

from depkit.corpus.suggestion import unknown
from depkit.parsers.config import ParserConfig, check_encoder
from depkit.parsers.families import FAMILIES, family_of, parser_config, parser_fields
from depkit.parsers.settings import ConfigError, from_dict, nested, overlay, setting_names

LEAST_TOKENS = 150


@dataclass(frozen=True)
class Training:
    """The optimiser, its schedule and when to stop.

    An update sees `accumulate` batches of at most `batch_tokens` padded tokens; where the treebank
    is too small for `updates` updates in all `epochs`, batches are smaller, down to LEAST_TOKENS.
    The rate rises linearly over `warmup` updates; then "exponential" multiplies it by `decay` every
    `decay_updates`, "linear" takes it to nothing at the last of `epochs`, "constant" leaves it.
    `context_rate`: that of a transformer's last layer, where it is trained, too; `layer_decay`
    multiplies it from each layer to the one below. `select`: the dev score that chooses the epoch,
    by default the family's first: LAS or UAS of trees, "tags" of a tagger, the mean accuracy of the
    predicted columns. `patience`: epochs without a better dev score before stopping. `save_every`:
    seconds between checkpoints inside an epoch; there is one after every epoch anyway. `storage`:
    of the weights in the model directory.
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
    select: str = ""
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
class Recipe:
    """A parser's parts and how they are trained; `about` goes into the model card.

    In TOML the parser's sections stand beside the others.
    """

    parser: ParserConfig
    about: str = ""
    training: Training = field(default_factory=Training)
    tokenizer: TokenizerTraining = field(default_factory=TokenizerTraining)
    distillation: Distillation = field(default_factory=Distillation)

    def tables(self) -> dict[str, Any]:
        """As nested tables, for TOML."""
        tables = dataclasses.asdict(self)
        return tables.pop("parser") | tables


def recipe_names() -> list[str]:
    """The names of the recipes that come with depkit."""
    folder = resources.files("depkit.recipes")
    return sorted(
        each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")
    )


def recipe_settings() -> list[str]:
    """The settings that --set takes: those of all families' parsers, and of training."""
    own = (name for name in setting_names(Recipe) if not name.startswith("parser."))
    parsers = (setting_names(family.config) for family in FAMILIES.values())
    found = dict.fromkeys(chain(own, *parsers))
    return [name for name in found if not name.startswith("calibration.")]


def make_recipe(
    name: str = "bilstm",
    file: str | None = None,
    settings: list[str] | None = None,
    shared: bool = False,
) -> Recipe:
    """A shipped recipe, overlaid with a TOML file, overlaid with KEY=VALUE settings.

    shared: settings of the user that this recipe's encoder does not have are ignored rather than
    refused, as other recipes get them, too.
    Raises ConfigError for an unknown name, key or value.
    """
    if name not in recipe_names():
        raise ConfigError(unknown("recipe", name, recipe_names(), recipe_names()))
    tables = _shipped(name)
    given: dict[str, Any] = {}
    if file:
        try:
            overlay(given, tomllib.loads(Path(file).read_text("utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{file}: {error}") from None
        for key in ("format_version", "calibration"):  # a model's config.toml will do, too
            given.pop(key, None)
    for setting in settings or []:
        overlay(given, nested(setting))
    if "calibration" in given:
        raise ConfigError("calibration is measured when a training is through, and cannot be set")
    overlay(tables, given)
    recipe = from_tables(tables)
    check_encoder(recipe.parser.encoder, {} if shared else given.get("encoder", {}))
    check_recipe(recipe)
    return recipe


def from_tables(tables: dict[str, Any]) -> Recipe:
    """A recipe from nested tables. Raises ConfigError naming a key that is not known."""
    own = {name: kind for name, kind in get_type_hints(Recipe).items() if name != "parser"}
    known = parser_fields() | own.keys()
    for key in tables:
        if key not in known:
            raise ConfigError(unknown("setting", key, [*known, *recipe_settings()], sorted(known)))
    parser = parser_config({key: value for key, value in tables.items() if key not in own})
    rest = {key: value for key, value in tables.items() if key in own}
    return replace(from_dict(Recipe, {"parser": {}} | rest), parser=parser)


def _shipped(name: str) -> dict[str, Any]:
    """A recipe of the package, over the one that it names as its base."""
    text = resources.files("depkit.recipes").joinpath(f"{name}.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    if "base" not in tables:
        return tables
    whole = _shipped(tables.pop("base"))
    overlay(whole, tables)
    return whole


def check_recipe(recipe: Recipe) -> None:
    """Raises ConfigError for settings that do not go together; widths may be still unknown."""
    inputs, context = recipe.parser.inputs, recipe.parser.inputs.context
    family = family_of(recipe.parser)
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
    family.check(recipe.parser)
    if not math.isfinite(recipe.distillation.text):
        raise ConfigError("distillation.text is a number: words of text for one of the treebank")
    if recipe.distillation.weight > 1:
        raise ConfigError("distillation.weight is a share, from 0 to 1")
    if recipe.training.select not in ("", *family.metrics):
        choices = ", ".join(family.metrics)
        raise ConfigError(
            f"training.select is {recipe.training.select!r}; with family={family.name} it can be"
            f" {choices}"
        )


def adopt(recipe: Recipe, config: ParserConfig) -> Recipe:
    """The recipe with another parser's parts, to go on from its weights.

    What is not trained (a decoder, say) stays the recipe's, where the families are the same.
    """
    if type(recipe.parser) is not type(config):
        recipe = replace(
            recipe, parser=type(config)(), training=replace(recipe.training, select="")
        )
    return replace(recipe, parser=replace(recipe.parser, **trained_parts(config)))


def trained_parts(config: ParserConfig) -> dict[str, Any]:
    """The sections that a parser's network is made by."""
    return {
        each.name: getattr(config, each.name)
        for each in dataclasses.fields(config)
        if each.metadata.get("trained", True)
    }
