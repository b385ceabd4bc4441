"""Settings: dataclasses from the tables of TOML and back, with errors that name the key."""

import dataclasses
import math
import tomllib
import typing
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, TypeVar

from depkit.corpus.suggestion import unknown

T = TypeVar("T")

# Settings of which nothing less makes sense; other numbers are 0 at least, dropouts under 1.
_FROM_ONE = frozenset(
    "layers heads head_size feedforward tag_hidden char_embedding word_min_count"
    " epochs patience batch_tokens batch_characters accumulate decay_updates embedding"
    " encoder.size tokenizer.size scorer.arc scorer.label".split()
)


class ConfigError(ValueError):
    """A setting or an option that is not known, of the wrong kind, or does not fit another."""


def from_dict(
    kind: type[T], values: dict[str, Any], path: str = "", others: Iterable[type] = ()
) -> T:
    """A configuration dataclass from nested tables, as TOML gives them.

    A field whose type is a union of dataclasses becomes the one whose `kind` the table names, the
    first if it names none. Keys that only alternatives to the dataclass have are left out: the
    other members of a union, or `others`.
    Raises ConfigError naming the key, and the keys that there are.
    """
    hints, alternatives = _types_of(kind), list(map(_types_of, others))
    known = list(hints)
    given: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}{key}"
        if key not in known:
            if any(key in each for each in alternatives):
                continue
            raise ConfigError(unknown("setting", name, [path + each for each in known], known))
        classes = _dataclasses_of(hints[key])
        if classes:
            if not isinstance(value, dict):
                raise ConfigError(f"{name} is a table, not {value!r}")
            chosen = _chosen(classes, value, name)
            further = chain(classes, *(_dataclasses_of(each.get(key)) for each in alternatives))
            given[key] = from_dict(chosen, value, f"{name}.", [c for c in further if c != chosen])
        else:
            given[key] = _checked(hints[key], value, name)
    return kind(**given)


def setting_names(kind: type, path: str = "") -> Iterator[str]:
    """The dotted names of all settings in a configuration dataclass, as in --set KEY=VALUE.

    Where a section can be one of several dataclasses, the settings of all of them.
    """
    for key, hint in _types_of(kind).items():
        classes = _dataclasses_of(hint)
        for each in classes:
            yield from setting_names(each, f"{path}{key}.")
        if not classes:
            yield f"{path}{key}"


def _types_of(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields, by name."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _dataclasses_of(hint: Any) -> list[Any]:
    """A dataclass, or the members of a union of them; none for another type."""
    members: Sequence[Any] = typing.get_args(hint) or [hint]
    return [each for each in members if dataclasses.is_dataclass(each)]


def _chosen(classes: Sequence[type], table: dict[str, Any], name: str) -> type:
    """The member of a union that a table is meant for."""
    if len(classes) == 1 or "kind" not in table:
        return classes[0]
    by_kind = {each.kind: each for each in classes}  # type: ignore[attr-defined]
    return by_kind[_checked(Literal[tuple(by_kind)], table["kind"], f"{name}.kind")]


def _checked(hint: Any, value: Any, name: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is Literal:
        if value not in typing.get_args(hint):
            choices = ", ".join(map(str, typing.get_args(hint)))
            raise ConfigError(f"{name} is {value!r}; it can be {choices}")
        return value
    if origin is list:
        (item,) = typing.get_args(hint)
        if not isinstance(value, list):
            raise ConfigError(f"{name} is {value!r}; it takes a list")
        return [_checked(item, each, name) for each in value]
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{name} is {value!r}; it takes a value of type {hint.__name__}")
    if hint in (int, float):
        key = name.rpartition(".")[2]
        least = 1 if key in _FROM_ONE or name in _FROM_ONE else 0
        if name.startswith("calibration.") and not 0 < value < math.inf:
            raise ConfigError(f"{name} is {value!r}; a temperature is above 0")
        if not value >= least or (key.endswith("dropout") and value >= 1):
            bounds = "from 0 to less than 1" if key.endswith("dropout") else f"{least} or more"
            raise ConfigError(f"{name} is {value!r}; it takes {bounds}")
    return value


def overlay(tables: dict[str, Any], over: dict[str, Any]) -> None:
    """Put values over those in nested tables."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(tables.get(key), dict):
            overlay(tables[key], value)
        else:
            tables[key] = value


def nested(setting: str) -> dict[str, Any]:
    """`a.b=VALUE` as tables; the value as TOML, else as a bare string."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{setting!r} is not KEY=VALUE, for example training.epochs=10")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
        if text[:1] == "[" and text[-1:] == "]":  # the shell took the quotes
            value = [each.strip() for each in text[1:-1].split(",")]
    nested: Any = value
    for part in reversed(key.strip().split(".")):
        nested = {part: nested}
    return nested


def to_toml(config: Any) -> str:
    """A configuration dataclass, or its tables, as TOML that `from_dict` reads back to the same."""
    tables = config if isinstance(config, dict) else dataclasses.asdict(config)
    return "".join(_tables(tables, ""))


def _tables(values: dict[str, Any], path: str) -> list[str]:
    scalars = {key: value for key, value in values.items() if not isinstance(value, dict)}
    lines = [f"\n[{path}]\n"] if path and scalars else []
    lines += [f"{key} = {_toml(value)}\n" for key, value in scalars.items()]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _tables(value, f"{path}.{key}" if path else key)
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in escaped) + '"'
    return repr(value)
