"""The table of families: the one place that knows which kinds of parser there are."""

import dataclasses
from typing import Any

from depkit.parsers.config import ParserConfig
from depkit.parsers.family import Family
from depkit.parsers.graph.family import Biaffine
from depkit.parsers.settings import ConfigError, from_dict
from depkit.parsers.tagger.family import Tagger

FAMILIES: dict[str, Family] = {family.name: family for family in (Biaffine(), Tagger())}


def family_of(config: ParserConfig) -> Family:
    """The family of a parser with this configuration."""
    return FAMILIES[config.family]


def parser_fields() -> set[str]:
    """The keys and sections that the parser of some family has in a configuration file."""
    configs = [family.config for family in FAMILIES.values()]
    return {field.name for config in configs for field in dataclasses.fields(config)}


def parser_config(tables: dict[str, Any]) -> ParserConfig:
    """A parser's configuration from the tables of a TOML file. Raises ConfigError.

    Without the key `family` it is a biaffine parser or, where scorer.tree is false, a tagger, as
    it was before there were families.
    """
    scorer = tables.get("scorer")
    tree = None
    if isinstance(scorer, dict):
        tree = scorer.get("tree")
        scorer = {key: value for key, value in scorer.items() if key != "tree"}
        tables = tables | {"scorer": scorer}
    name = tables.get("family", "tagger" if tree is False else "biaffine")
    if name not in list(FAMILIES):  # it may be a list or a table, which cannot be hashed
        raise ConfigError(f"family is {name!r}; it can be {', '.join(FAMILIES)}")
    if tree is not None and (name, tree) not in (("biaffine", True), ("tagger", False)):
        raise ConfigError(f"scorer.tree is {tree!r}, but family is {name!r}; leave scorer.tree out")
    others = [family.config for family in FAMILIES.values() if family.name != name]
    return from_dict(FAMILIES[name].config, tables | {"family": name}, others=others)
