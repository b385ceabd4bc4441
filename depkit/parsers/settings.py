"""Configuration dataclasses from TOML tables and back, with errors that name the setting."""

import contextlib
import dataclasses
import math
import re
import tomllib
import typing
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeVar

from depkit.files.bounds import Bounds, get_bounds
from depkit.files.errors import ConfigError
from depkit.files.suggestion import describe_unknown

T = TypeVar("T")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # the characters that a TOML string can only have escaped
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # halves of characters, which UTF-8 does not have

# A key of more than 32 parts. tomllib needs a time that grows with the square of their number.
_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_LONG_KEY = re.compile(rf"(?<![\w\-\"']){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{32}}")


def from_dict(
    kind: type[T], values: dict[str, Any], path: str = "", others: Iterable[type] = ()
) -> T:
    """Make a configuration dataclass from nested tables, as `tomllib` returns them.

    If a field's metadata name several `kinds` of dataclasses, the key `kind` of its table selects
    the dataclass; the default is the first. A key that the dataclass does not have is ignored if an
    alternative dataclass has it: another kind, or one of `others`. The dataclass may have a method
    `check`, which raises ValueError if its settings contradict each other.

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
    known, alternatives = read_fields(kind), list(map(read_fields, others))
    values_of_fields: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{path}{key}"
        if key not in known:
            if any(key in fields for fields in alternatives):
                continue
            raise ConfigError(
                describe_unknown("setting", name, [path + field for field in known], known)
            )
        if kinds := known[key].kinds:
            if not isinstance(value, dict):
                raise ConfigError(f"{name} is a table of settings, not {value!r}")
            selected = _select_kind(kinds, value, name)
            others_of_key = (fields[key].kinds for fields in alternatives if key in fields)
            unselected = [other for other in chain(kinds, *others_of_key) if other != selected]
            values_of_fields[key] = from_dict(selected, value, f"{name}.", unselected)
        else:
            values_of_fields[key] = _check_value(known[key].type, known[key].bounds, value, name)
    config = kind(**values_of_fields)
    try:
        getattr(config, "check", lambda: None)()
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return config


def check_effects(
    config: Any,
    written: dict[str, Any],
    path: str = "",
    *,
    check_needs: bool = True,
) -> None:
    """Raise ConfigError if a setting that the user wrote has no effect in a configuration.

    It has no effect if the setting that it needs is not set (see `bounds.setting`), or if it
    belongs to another kind of the section. A setting may be written with its default in any case.

    Args:
        config: The configuration, into which the written settings have been read.
        written: The tables of settings that the user wrote.
        path: As for `from_dict`.
        check_needs: Whether to check what a setting needs. The error advises the user to set what
            is needed, which is wrong if it cannot be set.
    """
    for key, field in read_fields(type(config)).items():
        value, name = getattr(config, key), f"{path}{key}"
        if key not in written:
            continue
        if field.kinds:
            own = read_fields(type(value))
            for other in (name for name in written[key] if name not in own):
                _refuse_other_kind(field.kinds, other, written[key][other], name)
            check_effects(value, written[key], f"{name}.", check_needs=check_needs)
        elif check_needs and value != field.default:
            for needed, needed_values in field.bounds.needs.items():
                _check_need(config, needed, needed_values, name=name, path=path)


def _refuse_other_kind(kinds: Sequence[type], key: str, value: Any, path: str) -> None:
    """Raise ConfigError if only other kinds of a section have a key, unless it has its default."""
    fields = {kind: read_fields(kind) for kind in kinds}
    having = [kind for kind in kinds if key in fields[kind]]
    if having and value != fields[having[0]][key].default:
        names = " or ".join(kind.kind for kind in having)  # type: ignore[attr-defined]
        raise ConfigError(f"{path}.{key} can only be set with {path}.kind={names}")


def _check_need(config: Any, needed: str, values: Sequence[Any], *, name: str, path: str) -> None:
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
    names = []
    for key, field in read_fields(kind).items():
        for section in field.kinds:
            names += setting_names(section, f"{path}{key}.", at_test_time)
        if not field.kinds and (field.bounds.at_test_time or not at_test_time):
            names.append(f"{path}{key}")
    return list(dict.fromkeys(names))


class SettingField(NamedTuple):
    """A field of a configuration dataclass: a setting or a section."""

    type: Any
    kinds: Sequence[type]  # of a section: the dataclasses that it can be; otherwise none
    bounds: Bounds
    default: Any


def read_fields(kind: Any) -> dict[str, SettingField]:
    """Return the fields of a dataclass, by name."""
    fields = {}
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        hint, default = hints[field.name], field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        kinds = field.metadata.get("kinds", [hint] if dataclasses.is_dataclass(hint) else [])
        fields[field.name] = SettingField(hint, list(kinds), get_bounds(field), default)
    return fields


def _select_kind(kinds: Sequence[type], table: dict[str, Any], name: str) -> type:
    """Return the dataclass that the key `kind` of a table names, or the first one."""
    if len(kinds) == 1 or "kind" not in table:
        return kinds[0]
    by_name = {kind.kind: kind for kind in kinds}  # type: ignore[attr-defined]
    return by_name[_check_value(Literal[tuple(by_name)], Bounds(), table["kind"], f"{name}.kind")]


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
        value = float(value) if abs(value) < 1 << 1023 else math.copysign(math.inf, value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{name} is {value!r}; it takes a value of type {hint.__name__}")
    if hint is str and _SURROGATE.search(value):
        raise ConfigError(
            f"{name} is {value!r}, which cannot be stored in UTF-8; rename the file if it is a path"
        )
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


def flatten_tables(tables: dict[str, Any], path: str = "") -> dict[str, Any]:
    """Return the values in nested tables by their dotted names; path: as for `from_dict`."""
    values: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict):
            values |= flatten_tables(value, f"{path}{key}.")
        else:
            values[f"{path}{key}"] = value
    return values


def keep_valid(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of settings that a dataclass takes, and those that it does not have."""
    fields, valid = read_fields(kind), {}
    for key, value in values.items():
        with contextlib.suppress(ConfigError):
            if key in fields:
                _check_value(fields[key].type, fields[key].bounds, value, key)
            valid[key] = value
    return valid


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
        value = parse_toml(f"value = {text}")["value"]
    except ConfigError:
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
        return '"' + _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
    return repr(value)
