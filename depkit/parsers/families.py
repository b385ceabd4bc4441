"""The table of families: every kind of parser is registered here, and only here."""

import dataclasses
from typing import Any

from depkit.files.suggestion import describe_unknown
from depkit.parsers.config import ParserConfig
from depkit.parsers.constituency.family import Constituency
from depkit.parsers.family import Family
from depkit.parsers.graph.family import Biaffine
from depkit.parsers.settings import (
    ConfigError,
    flatten_tables,
    from_dict,
    setting_names,
)
from depkit.parsers.tagger.family import Tagger
from depkit.parsers.transition.family import Transition

FAMILIES: dict[str, Family] = {
    family.name: family for family in (Biaffine(), Constituency(), Tagger(), Transition())
}


def get_family(config: ParserConfig) -> Family:
    """Return the family of a parser's configuration."""
    return FAMILIES[config.family]


def parser_fields() -> set[str]:
    """Return the keys and sections that parsers of any family have in a configuration file."""
    configs = [family.config for family in FAMILIES.values()]
    return {field.name for config in configs for field in dataclasses.fields(config)}


def check_family_settings(config: ParserConfig, written: dict[str, Any]) -> None:
    """Raise ConfigError if the user wrote a setting that only parsers of other families have.

    Such a setting has no effect. It may be written with its default in one of these families.
    ConfigError is also raised for an unknown setting in a section that only other families have.

    Args:
        config: The configuration, into which the written settings have been read.
        written: The tables of settings that the user wrote.
    """
    own = setting_names(type(config))
    other_sections = parser_fields() - {field.name for field in dataclasses.fields(config)}
    defaults = {
        family.name: flatten_tables(dataclasses.asdict(family.config()))
        for family in FAMILIES.values()
    }
    for setting, value in flatten_tables(written).items():
        having = [name for name, settings in defaults.items() if setting in settings]
        if not having and setting.partition(".")[0] in other_sections:
            known = sorted(set().union(*defaults.values()))
            raise ConfigError(describe_unknown("setting", setting, known))
        if setting not in own and having and all(value != defaults[n][setting] for n in having):
            raise ConfigError(
                f"{setting} can only be set with family={' or '.join(having)}, not with"
                f" family={config.family}"
            )


def make_parser_config(tables: dict[str, Any]) -> ParserConfig:
    """Make a parser's configuration from the tables of a TOML file. Raises ConfigError.

    Without a key `family`, the parser is a tagger if scorer.tree is false, or else biaffine.
    """
    scorer = tables.get("scorer")
    tree = None
    if isinstance(scorer, dict):
        tree = scorer.get("tree")
        scorer = {key: value for key, value in scorer.items() if key != "tree"}
        tables = tables | {"scorer": scorer}
    name = tables.get("family", "tagger" if tree is False else "biaffine")
    if name not in list(FAMILIES):  # a name in the file may be a list, which cannot be hashed
        raise ConfigError(f"family is {name!r}; it can be {', '.join(FAMILIES)}")
    if tree is not None and (name, tree) not in (("biaffine", True), ("tagger", False)):
        raise ConfigError(f"scorer.tree is {tree!r}, but family is {name!r}; leave scorer.tree out")
    other_configs = [family.config for family in FAMILIES.values() if family.name != name]
    return from_dict(FAMILIES[name].config, tables | {"family": name}, others=other_configs)
