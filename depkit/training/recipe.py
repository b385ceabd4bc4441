"""Recipes: all settings of a parser and of its training, read from TOML."""

import dataclasses
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_type_hints

from depkit.corpus.io import PathLike
from depkit.files.bounds import MAX_COUNT, setting
from depkit.files.suggestion import describe_unknown
from depkit.parsers.config import Column, ParserConfig
from depkit.parsers.encoders import ENCODERS
from depkit.parsers.families import (
    FAMILIES,
    check_family_settings,
    get_family,
    make_parser_config,
    parser_fields,
)
from depkit.parsers.family import Scoring
from depkit.parsers.settings import (
    ConfigError,
    check_effects,
    from_dict,
    keep_valid,
    overlay,
    parse_setting,
    parse_toml,
    setting_names,
)

DEFAULT = "selfatt"
ALIASES = {"kk2018-factored": "factored"}  # other names of recipes
# Keys of shipped recipes that say which rows of a paper they belong to; see `rows`
ABOUT_ROWS = ("paper", "scores", "needs", "set", "sets", "rows")
MIN_BATCH_TOKENS = 150  # batches are not made smaller than this for `training.updates`


@dataclass(frozen=True)
class Training:
    """The optimiser, its schedule, and when training stops; section [training]."""

    # maximum number of epochs; 0 chooses it by the size of the treebank
    epochs: int = setting(60, maximum=MAX_COUNT)
    # training stops after this many epochs without a better dev score
    patience: int = setting(20, minimum=1, maximum=MAX_COUNT)
    # maximum number of tokens in a batch, padding included
    batch_tokens: int = setting(1000, minimum=1, maximum=MAX_COUNT)
    # batches of a small treebank are reduced to get this many updates; 0: never
    updates: int = setting(0, maximum=MAX_COUNT)
    # batches of each process in an update, which uses their mean gradient
    accumulate: int = setting(1, minimum=1, maximum=MAX_COUNT)
    # sentences of an update, drawn at random; they are read in as many batches as they need. 0: an
    # update has `accumulate` batches
    batch_sentences: int = setting(0, maximum=MAX_COUNT)
    rate: float = 2e-3  # the highest learning rate
    context_rate: float = 5e-5  # the highest rate of the last layer of a fine-tuned transformer
    layer_decay: float = 1.0  # multiplies context_rate from each layer to the layer below
    beta1: float = setting(0.9, below=1)  # of Adam
    beta2: float = setting(0.9, below=1)  # of Adam
    epsilon: float = 1e-12  # of Adam
    # of Adam: an L2 penalty; of AdamW: weights are multiplied by 1 - rate * weight_decay
    weight_decay: float = 0.0
    decay_biases: bool = True  # false: no weight decay of biases and of layer normalisation
    # Adam (Kingma and Ba 2015) or AdamW (Loshchilov and Hutter 2019)
    optimizer: Literal["adam", "adamw"] = "adam"
    clip: float = 5.0  # maximum norm of the gradient; 0 for no maximum
    # Updates over which the rate rises linearly, before the schedule begins; a number below 1 is
    # the share of the training, by updates or by time, whichever ends first. With the schedule
    # "linear", the rise is faster if they would take more than a fifth of the training.
    warmup: float = setting(0.0, maximum=MAX_COUNT)
    # "linear" lowers the rate to 0 at the end of `epochs` (or of --max-time), "constant" keeps it.
    # "exponential" multiplies it by `decay` smoothly over each `decay_updates` updates, "step"
    # after each `decay_updates` updates, "plateau" after each `plateau` epochs without a better dev
    # score. Updates are counted from the end of the warm-up.
    schedule: Literal["linear", "exponential", "step", "plateau", "constant"] = "linear"
    # the factor of the rate in schedules other than "linear" and "constant"
    decay: float = setting(0.75, needs={"schedule": ["exponential", "step", "plateau"]})
    # the number of updates after which the rate has been multiplied by `decay`
    decay_updates: int = setting(
        5000, minimum=1, maximum=MAX_COUNT, needs={"schedule": ["exponential", "step"]}
    )
    # the number of epochs without a better dev score after which the rate is multiplied by `decay`
    plateau: int = setting(5, minimum=1, maximum=MAX_COUNT, needs={"schedule": ["plateau"]})
    # The dev score that selects the best epoch: "LAS" (the default) or "UAS" for a parser, "tags",
    # the mean accuracy of the predicted columns, for a tagger.
    select: str = ""
    # The epoch whose weights are kept: "best", the one that `select` selects, or "last", which is
    # better if dev is too small to tell epochs apart. With "last", `patience` has no effect.
    keep: Literal["best", "last"] = "best"
    # The words that dev scores of trees leave out as punctuation: a policy of depkit eval --punct
    punct: str = "keep"
    # The parameters of EVALB that score the dev trees of a constituency parser: collins, new, nk,
    # spmrl, or a parameter file (.prm). "auto" is spmrl if labels of train carry features, as in
    # NP##f=s##, otherwise collins.
    evalb: str = "auto"
    # The type in which matrices are multiplied; "auto" is bfloat16 if the device computes in it
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    # The type of the weights in the model directory; "int8" is for matrices, with a scale for each
    # row or column
    storage: Literal["float32", "float16", "int8"] = "float32"

    def warmup_updates(self, updates: int) -> float:
        """Return the number of updates of the warm-up; updates: that of the whole training."""
        return self.warmup * updates if self.warmup < 1 else self.warmup

    @property
    def scoring(self) -> Scoring:
        """How the trees of dev are scored."""
        return Scoring(self.punct, self.evalb)


@dataclass(frozen=True)
class TokenizerTraining:
    """The tokenizer that is trained along with the parser; section [tokenizer]."""

    enabled: bool = True  # train a tokenizer if the treebank contains its text
    size: int = setting(80, minimum=1)  # of the network's layers
    dropout: float = setting(0.1, below=1)  # of the outputs of the layers
    # number of epochs; more for a small treebank, until there are 300 updates
    epochs: int = setting(12, minimum=1, maximum=MAX_COUNT)
    # The number of embeddings of pairs of neighbouring characters, a power of two; a tokenizer has
    # them if words are written without spaces between them, as in Japanese. 0 for none
    pairs: int = setting(8192, maximum=MAX_COUNT)
    rate: float = 4e-3  # the highest learning rate
    # The share of the parts of paragraphs of which an epoch also has a variant: in capital letters,
    # with made-up names, with less white space and others
    variants: float = 0.3
    # With inputs.treebank, text is split as in the treebank of this name; "" is the largest one
    # that has text. `depkit distill` also parses its text as in this treebank.
    treebank: str = ""


@dataclass(frozen=True)
class Distillation:
    """What a student learns from its teacher (depkit distill only); section [distillation]."""

    # of the teacher's distributions over treebank words; gold has 1 - weight
    weight: float = setting(0.5, maximum=1)
    # Words of additional text in an epoch, as a multiple of the treebank's words. Each epoch
    # begins where the previous epoch ended in the text.
    text: float = 1.0
    # The columns of which the student learns the teacher's distributions, in addition to the tree.
    # It learns the others only from gold.
    columns: list[Column] = field(default_factory=lambda: ["upos", "xpos", "feats", "lemma"])


@dataclass(frozen=True)
class Recipe:
    """The configuration of a parser and the settings of its training.

    In TOML the sections of the parser are on the same level as the other sections.
    """

    parser: ParserConfig
    about: str = ""  # a text for the model card
    training: Training = field(default_factory=Training)
    tokenizer: TokenizerTraining = field(default_factory=TokenizerTraining)
    distillation: Distillation = field(default_factory=Distillation)

    def tables(self) -> dict[str, Any]:
        """Return the settings as nested tables, for TOML."""
        tables = dataclasses.asdict(self)
        return tables.pop("parser") | tables


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with depkit."""
    folder = resources.files("depkit.recipes")
    return sorted(
        file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")
    )


def recipe_settings() -> list[str]:
    """Return the names of all settings of KEY=VALUE, for any family and encoder."""
    shared = (name for name in setting_names(Recipe) if not name.startswith("parser."))
    parsers = (setting_names(family.config) for family in FAMILIES.values())
    names = dict.fromkeys(chain(shared, *parsers))
    return [name for name in names if not name.startswith("calibration.")]


def make_recipe(
    name: str = DEFAULT,
    file: PathLike = "",
    settings: Sequence[str] = (),
    shared: bool = False,
) -> Recipe:
    """Make a recipe from a shipped recipe, overridden by a TOML file and then by settings.

    Args:
        name: The name of a shipped recipe, or a TOML file, see `split_name`.
        file: A TOML file, whose key `base` can name the shipped recipe instead of `name`. A model's
            config.toml replaces the sections of the recipe that it has.
        settings: Texts of the form KEY=VALUE.
        shared: Whether the file and the settings are for several recipes. Settings that this
            recipe's encoder does not have are then ignored.

    Raises:
        ConfigError: For an unknown name, key or value.
    """
    if file and name.endswith(".toml"):
        raise ConfigError(
            f"`config` {file} cannot be combined with the recipe file {name}; name only one of them"
        )
    name, overrides = split_name(name)
    if file:
        overrides = _read_file(file)
        base = str(overrides.pop("base", name))
        if name not in (DEFAULT, base):
            raise ConfigError(f"`config` {file} changes the recipe {base}, not {name}; name one")
        name = ALIASES.get(base, base)
    if name not in recipe_names():
        raise ConfigError(describe_unknown("recipe", name, recipe_names(), recipe_names()))
    tables = read_shipped(name)
    # whether the file has all settings, and not only those to be changed
    is_complete = "format_version" in overrides
    if is_complete:
        # It is a model's config.toml. A setting that it lacks must have its default value, as when
        # the model is loaded, and not the value in the recipe.
        tables = {key: table for key, table in tables.items() if key not in overrides}
    for key in ("format_version", "calibration"):  # only a model's config.toml has these
        overrides.pop(key, None)
    changes: dict[str, Any] = {}
    for text in settings:
        overlay(changes, parse_setting(text))
    overlay(overrides, changes)
    written = changes if is_complete else overrides  # by the user
    if "calibration" in overrides:
        raise ConfigError(
            "calibration is measured when training is finished and cannot be set; leave it out"
        )
    encoder = overrides.get("encoder", {})
    if not isinstance(encoder, dict):
        raise ConfigError(f"encoder is a table of settings, not {encoder!r}")
    for kind in ENCODERS:  # The recipe may have values that another kind does not take.
        if encoder.get("kind") == kind.kind:
            tables["encoder"] = keep_valid(kind, tables.get("encoder", {}))
    overlay(tables, overrides)
    recipe = from_tables(tables)
    check_recipe(recipe)
    check_family_settings(recipe.parser, written)
    if not shared:
        check_effects(recipe, written)
        check_effects(recipe.parser, written)
    return recipe


def split_name(name: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a shipped recipe, and the changes to it if the name is that of a file.

    A recipe file ends with .toml; its key `base` names the recipe that it changes, or else it is
    selfatt.
    """
    changes = _read_file(name) if name.endswith(".toml") else {}
    name = str(changes.pop("base", DEFAULT)) if name.endswith(".toml") else name
    return ALIASES.get(name, name), changes


def _read_file(file: PathLike) -> dict[str, Any]:
    try:
        tables = parse_toml(Path(file).read_text("utf-8"))
        # It may be a copy of a shipped recipe.
        return {k: v for k, v in tables.items() if "rows" not in tables or k not in ABOUT_ROWS}
    except (ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from None


def from_tables(tables: dict[str, Any]) -> Recipe:
    """Make a recipe from nested tables. Raises ConfigError for an unknown key."""
    sections = {name: hint for name, hint in get_type_hints(Recipe).items() if name != "parser"}
    known = parser_fields() | sections.keys()
    for key in tables:
        if key not in known:
            raise ConfigError(
                describe_unknown("setting", key, [*known, *recipe_settings()], sorted(known))
            )
    parser = make_parser_config(
        {key: value for key, value in tables.items() if key not in sections}
    )
    recipe_tables = {key: value for key, value in tables.items() if key in sections}
    return replace(from_dict(Recipe, {"parser": {}} | recipe_tables), parser=parser)


def read_recipe_text(name: str) -> str:
    """Read the file of a shipped recipe."""
    return resources.files("depkit.recipes").joinpath(f"{name}.toml").read_text("utf-8")


def read_shipped_file(name: str) -> dict[str, Any]:
    """Read the tables in the file of a shipped recipe, without those of its base recipe."""
    return tomllib.loads(read_recipe_text(name))


def read_shipped(name: str) -> dict[str, Any]:
    """Read the tables of a shipped recipe, which override those of its base recipe, if any."""
    tables = read_shipped_file(name)
    for key in ABOUT_ROWS:
        tables.pop(key, None)
    if "base" not in tables:
        return tables
    base = read_shipped(tables.pop("base"))
    overlay(base, tables)
    return base


def check_recipe(recipe: Recipe) -> None:
    """Raise ConfigError for settings that cannot be combined.

    Settings that are derived from the data, such as widths of vectors, may still be unknown.
    """
    inputs = recipe.parser.inputs
    family = get_family(recipe.parser)
    if inputs.treebank_name:
        raise ConfigError(
            "inputs.treebank_name is a setting of parsing, not of training; leave it out"
        )
    if inputs.draft and not family.corrects_parses:
        raise ConfigError(
            f"parsers of the family {family.name} cannot correct parses; leave inputs.draft out"
        )
    pairs = recipe.tokenizer.pairs
    if pairs & (pairs - 1):
        raise ConfigError(f"tokenizer.pairs is {pairs}; it must be 0 or a power of two, as 8192")
    family.check_scoring(recipe.training.scoring)
    training = recipe.training
    for name, unset in (("accumulate", 1), ("updates", 0)):
        if training.batch_sentences and getattr(training, name) != unset:
            raise ConfigError(
                f"training.batch_sentences and training.{name} both set the size of an update; set"
                f" training.{name}={unset}"
            )
    if training.schedule == "plateau" and training.keep == "last":
        raise ConfigError(
            'training.schedule is "plateau", which waits for better dev scores, but'
            ' training.keep is "last", which does not compare them; choose another schedule'
        )
    if training.schedule == "plateau" and training.plateau >= training.patience:
        raise ConfigError(
            f"training.plateau is {training.plateau}, but training stops after"
            f" training.patience={training.patience} epochs without a better dev score; set"
            " training.plateau to a smaller number, or `patience` to a larger one"
        )
    family.select(training.select, recipe.parser)


def adopt_parts(recipe: Recipe, config: ParserConfig) -> Recipe:
    """Return the recipe with the parts of another parser, to start from that parser's weights.

    Sections that the network does not depend on (such as the decoder) are not changed if both
    parsers belong to the same family.
    """
    if type(recipe.parser) is not type(config):
        recipe = replace(
            recipe, parser=type(config)(), training=replace(recipe.training, select="")
        )
    return replace(recipe, parser=replace(recipe.parser, **trained_parts(config)))


def trained_parts(config: ParserConfig) -> dict[str, Any]:
    """Return the sections of a parser's configuration that its network depends on."""
    return {
        section.name: getattr(config, section.name)
        for section in dataclasses.fields(config)
        if section.metadata.get("trained", True)
    }
