"""Configuration dataclasses from TOML tables and back, with errors that name the setting."""

import dataclasses
import re
import tomllib
import typing
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, TypeVar

from depkit.files.bounds import Bounds, get_bounds
from depkit.files.suggestion import describe_unknown

T = TypeVar("T")

# A key of more than 32 parts. tomllib needs a time that grows with the square of their number.
_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_LONG_KEY = re.compile(rf"(?<![\w\-\"']){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{32}}")


class ConfigError(ValueError):
    """A setting or an option is unknown, has a wrong value, or contradicts another one."""


def from_dict(
    kind: type[T], values: dict[str, Any], path: str = "", others: Iterable[type] = ()
) -> T:
    """Make a configuration dataclass from nested tables, as `tomllib` returns them.

    If the type of a field is a union of dataclasses, the key `kind` of its table selects the
    dataclass; the default is the first. A key that the dataclass does not have is ignored if an
    alternative dataclass has it: another member of the union, or one of `others`. The dataclass may
    have a method `check`, which raises ValueError if its settings contradict each other.

    Args:
        kind: The dataclass.
        values: The values of its fields by name; the value of a nested dataclass is a table.
        path: The dotted name of the table, followed by a dot, for error messages.
        others: The alternative dataclasses.

    Returns:
        An instance of `kind`; fields without a value have their defaults.

    Raises:
        ConfigError: A key is unknown or has a wrong value, or values contradict each other; the
            message names the settings.
    """
    bounds = {field.name: get_bounds(field) for field in _fields(kind)}
    hints, alternatives = _field_types(kind), list(map(_field_types, others))
    known = list(hints)
    fields: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}{key}"
        if key not in known:
            if any(key in types for types in alternatives):
                continue
            raise ConfigError(
                describe_unknown("setting", name, [path + field for field in known], known)
            )
        classes = _dataclasses_in(hints[key])
        if classes:
            if not isinstance(value, dict):
                raise ConfigError(f"{name} is a table of settings, not {value!r}")
            selected = _select_class(classes, value, name)
            members = chain(classes, *(_dataclasses_in(types.get(key)) for types in alternatives))
            unselected = [member for member in members if member != selected]
            fields[key] = from_dict(selected, value, f"{name}.", unselected)
        else:
            fields[key] = _check_value(hints[key], bounds[key], value, name)
    config = kind(**fields)
    try:
        getattr(config, "check", lambda: None)()
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config


def check_effects(config: Any, written: dict[str, Any], path: str = "") -> None:
    """Raise ConfigError if a setting that the user wrote has no effect in a configuration.

    It has no effect if the setting that it needs is not set (see `bounds.setting`), or if it
    belongs to another kind of the section. A setting may be written with its default in any case.

    Args:
        config: The configuration, into which the written settings have been read.
        written: The tables of settings that the user wrote.
        path: As for `from_dict`.
    """
    hints = _field_types(type(config))
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{path}{field.name}"
        if field.name not in written:
            continue
        if dataclasses.is_dataclass(value):
            table, kinds = written[field.name], _dataclasses_in(hints[field.name])
            for key in table:
                if key not in _field_types(type(value)):
                    _refuse_other_kind(kinds, key, table[key], name)
            check_effects(value, table, f"{name}.")
        elif value != _get_default(field):
            for needed, values in get_bounds(field).needs.items():
                _check_need(config, needed, values, name, path)


def _refuse_other_kind(kinds: Sequence[type], key: str, value: Any, path: str) -> None:
    """Raise ConfigError if only other kinds of a section have a key, unless it has its default."""
    having = {kind: field for kind in kinds for field in _fields(kind) if field.name == key}
    if having and value != _get_default(next(iter(having.values()))):
        names = " or ".join(kind.kind for kind in having)  # type: ignore[attr-defined]
        raise ConfigError(f"{path}.{key} can only be set with {path}.kind={names}")


def _check_need(config: Any, needed: str, values: Sequence[Any], name: str, path: str) -> None:
    """Raise ConfigError if the setting that another one needs does not have one of the values."""
    found = getattr(config, needed)
    if found in values or (found and not values):
        return
    if values:
        raise ConfigError(
            f"{name} has no effect with {path}{needed}={found}; leave it out, or set"
            f" {path}{needed} to {' or '.join(map(str, values))}"
        )
    raise ConfigError(f"{name} has no effect without {path}{needed}; set both, or leave it out")


def setting_names(kind: type, path: str = "", at_test_time: bool = False) -> list[str]:
    """List the dotted names of all settings in a configuration dataclass, as in --set KEY=VALUE.

    Args:
        kind: The dataclass. If a section can be one of several dataclasses, the settings of all of
            them are included.
        path: As for `from_dict`.
        at_test_time: Whether to list only those that can be changed for a trained model.
    """
    names, hints = [], _field_types(kind)
    for field in _fields(kind):
        classes = _dataclasses_in(hints[field.name])
        for section in classes:
            names += setting_names(section, f"{path}{field.name}.", at_test_time)
        if not classes and (get_bounds(field).at_test_time or not at_test_time):
            names.append(f"{path}{field.name}")
    return list(dict.fromkeys(names))


def _field_types(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, by name."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in _fields(kind)}


def _fields(kind: Any) -> tuple[dataclasses.Field, ...]:
    return dataclasses.fields(kind)


def _get_default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _dataclasses_in(hint: Any) -> list[Any]:
    """List the dataclasses in a type: the type itself, or members of a union; else []."""
    members: Sequence[Any] = typing.get_args(hint) or [hint]
    return [member for member in members if dataclasses.is_dataclass(member)]


def _select_class(classes: Sequence[type], table: dict[str, Any], name: str) -> type:
    """Return the class that the key `kind` of a table names; the first if it has no such key."""
    if len(classes) == 1 or "kind" not in table:
        return classes[0]
    by_kind = {member.kind: member for member in classes}  # type: ignore[attr-defined]
    return by_kind[_check_value(Literal[tuple(by_kind)], Bounds(), table["kind"], f"{name}.kind")]


def _check_value(hint: Any, bounds: Bounds, value: Any, name: str) -> Any:
    """Check the value of a setting, and return it; an int is converted if the type is float.

    Raises ConfigError if the value does not have the type or is out of bounds.
    """
    origin = typing.get_origin(hint)
    if origin is Literal:
        if value not in typing.get_args(hint):
            choices = ", ".join(map(str, typing.get_args(hint)))
            raise ConfigError(f"{name} is {value!r}; it can be {choices}")
        return value
    if origin is list:
        (item_type,) = typing.get_args(hint)
        if not isinstance(value, list):
            raise ConfigError(f"{name} is {value!r}; it takes a list")
        return [_check_value(item_type, bounds, item, name) for item in value]
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{name} is {value!r}; it takes a value of type {hint.__name__}")
    if hint in (int, float) and (violation := bounds.violation(value)):
        raise ConfigError(f"{name} {violation}")
    return value


def overlay(tables: dict[str, Any], values: dict[str, Any]) -> None:
    """Replace values in nested tables, in place, by the values in other tables."""
    for key, value in values.items():
        if isinstance(value, dict) and isinstance(tables.get(key), dict):
            overlay(tables[key], value)
        else:
            tables[key] = value


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises ConfigError for other text, for tables within too many others, and for an integer of so
    many digits that Python does not print it.
    """
    if _LONG_KEY.search(text):
        raise ConfigError("it has a key of too many parts")
    try:
        tables = tomllib.loads(text)
        repr(tables)
        return tables
    except RecursionError:
        raise ConfigError("its values are nested too deeply") from None
    except ValueError as error:
        raise ConfigError(str(error)) from None


def parse_setting(setting: str) -> dict[str, Any]:
    """Parse the text `a.b=VALUE` into nested tables.

    A VALUE that is not valid TOML is a string. Raises ConfigError for another syntax.
    """
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"{setting!r} is not KEY=VALUE, for example training.epochs=10")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
        if text[:1] == "[" and text[-1:] == "]":  # a list whose quotes the shell removed
            value = [member.strip() for member in text[1:-1].split(",")]
    tables: Any = value
    for part in reversed(key.strip().split(".")):
        tables = {part: tables}
    return tables


def to_toml(config: Any) -> str:
    """Convert a configuration dataclass, or its tables, to TOML; `from_dict` reverses this."""
    tables = config if isinstance(config, dict) else dataclasses.asdict(config)
    return "".join(_table_lines(tables, ""))


def _table_lines(values: dict[str, Any], path: str) -> list[str]:
    scalars = {key: value for key, value in values.items() if not isinstance(value, dict)}
    lines = [f"\n[{path}]\n"] if path and scalars else []
    lines += [f"{key} = {_toml_value(value)}\n" for key, value in scalars.items()]
    for key, value in values.items():
        if isinstance(value, dict):
            lines += _table_lines(value, f"{path}.{key}" if path else key)
    return lines


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c >= " " else f"\\u{ord(c):04x}" for c in escaped) + '"'
    return repr(value)
