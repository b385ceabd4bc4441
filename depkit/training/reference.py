"""What is known about each setting: type, default, bounds, meaning, and the recipes that set it.

The meaning of a setting is the comment beside its field; see `field_comments`.
"""

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from depkit.files.bounds import Bounds
from depkit.files.field_comments import field_comment
from depkit.parsers.families import FAMILIES
from depkit.parsers.settings import SettingField, read_fields
from depkit.training.recipe import (
    Recipe,
    make_recipe,
    read_shipped,
    recipe_names,
    recipe_settings,
)

_TYPES = {bool: "true or false", str: "a text", int: "a whole number, ", float: "a number, "}


@dataclass(frozen=True)
class Setting:
    """A setting, for all configurations in which it has the same meaning.

    A name can have several entries, with other defaults or meanings. A condition is the setting
    that selects a configuration: "family=tagger" or "encoder.kind=bilstm".

    default: the value without a recipe; takes: a text that says which values it can have; only: the
    conditions of which one must hold, none if the setting always exists; recipes: its value in each
    recipe that sets it, directly or through its base.
    """

    name: str
    default: Any
    takes: str
    bounds: Bounds
    meaning: str
    only: tuple[str, ...]
    recipes: dict[str, Any]

    @property
    def section(self) -> str:
        """The section that the setting belongs to; "" for those outside all sections."""
        return self.name.rpartition(".")[0]


@dataclass(frozen=True)
class _Field:
    """A field of a dataclass that is a setting, and the condition for this dataclass."""

    name: str
    kind: type
    condition: str
    field: SettingField

    @property
    def is_selector(self) -> bool:
        """Whether its only value selects the dataclass."""
        return typing.get_origin(self.field.type) is Literal and len(self.values) == 1

    @property
    def values(self) -> tuple[Any, ...]:
        return typing.get_args(self.field.type)

    @property
    def meaning(self) -> str:
        return field_comment(self.kind, self.name.rpartition(".")[2])


def all_settings() -> list[Setting]:
    """Return all settings of `--set KEY=VALUE`, by section."""
    groups: dict[tuple[str, ...], list[_Field]] = {}
    for field in _walk_all():
        same = "" if field.is_selector else repr((*field.field, field.meaning))
        groups.setdefault((field.name, same), []).append(field)
    values = {name: _read_values(name) for name in recipe_names()}
    settings = [_make_setting(fields, values) for fields in groups.values()]
    names = recipe_settings()
    sections = list(dict.fromkeys(name.rpartition(".")[0] for name in names))
    known = [setting for setting in settings if setting.name in names]
    return sorted(known, key=lambda s: (sections.index(s.section), names.index(s.name)))


def _walk_all() -> Iterator[_Field]:
    for field in _walk(Recipe):
        if not field.name.startswith("parser."):
            yield field
    for name, family in FAMILIES.items():
        yield from _walk(family.config, "", f"family={name}")


def _walk(kind: type, path: str = "", condition: str = "") -> Iterator[_Field]:
    for key, field in read_fields(kind).items():
        name = f"{path}{key}"
        for section in field.kinds:
            only = f"{name}.kind={section.kind}" if len(field.kinds) > 1 else condition  # type: ignore[attr-defined]
            yield from _walk(section, f"{name}.", only)
        if not field.kinds:
            yield _Field(name, kind, condition, field)


def _make_setting(fields: list[_Field], values: dict[str, dict[str, tuple[type, Any]]]) -> Setting:
    """Merge the fields that are one setting; values: those of each recipe, see `_read_values`."""
    first = fields[0]
    conditions = tuple(dict.fromkeys(field.condition for field in fields))
    is_everywhere = first.is_selector or set(conditions) >= {f"family={name}" for name in FAMILIES}
    kinds = [field.kind for field in fields]
    recipes = {
        recipe: set_values[first.name][1]
        for recipe, set_values in values.items()
        if first.name in set_values and set_values[first.name][0] in kinds
    }
    meaning = first.meaning
    if first.is_selector:
        described = {field.values[0]: _describe_kind(field.kind) for field in fields}
        meaning += "".join(f'; "{value}": {text}' for value, text in described.items())
    return Setting(
        first.name, first.field.default, _describe_values(fields), first.field.bounds, meaning,
        () if is_everywhere else tuple(filter(None, conditions)), recipes,
    )  # fmt: skip


def _describe_kind(kind: type) -> str:
    """Return what the first line of a dataclass's docstring says after its section or name."""
    line = (kind.__doc__ or "").partition("\n")[0].removesuffix(".")
    return line.partition(": ")[2] or line.removeprefix("The configuration of ")


def _describe_values(fields: list[_Field]) -> str:
    """Say which values a setting takes: those of its type, within its bounds."""
    hint = fields[0].field.type
    if typing.get_origin(hint) is list:
        (item,) = typing.get_args(hint)
        return f"a list of {', '.join(map(str, typing.get_args(item)))}"
    if typing.get_origin(hint) is Literal:
        return ", ".join(str(v) for v in dict.fromkeys(v for f in fields for v in f.values))
    numbers = fields[0].field.bounds.describe().removeprefix("a number ")
    return _TYPES[hint] + (numbers if hint in (int, float) else "")


def _read_values(recipe_name: str) -> dict[str, tuple[type, Any]]:
    """Return the settings in a recipe's file or those of its bases: their dataclasses and values.

    A setting of the base that the recipe's own family or encoder does not have is left out.
    """
    recipe = make_recipe(recipe_name)
    values = {}
    for name in _flatten(read_shipped(recipe_name)):
        section, _, key = name.rpartition(".")
        root: Any = recipe if hasattr(recipe, name.partition(".")[0]) else recipe.parser
        owner = attrgetter(section)(root) if section else root
        if hasattr(owner, key):
            values[name] = (type(owner), getattr(owner, key))
    return values


def _flatten(tables: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in tables.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"
