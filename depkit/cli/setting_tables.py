"""What `depkit info --settings` prints about the settings of `--set KEY=VALUE`."""

from collections.abc import Iterable
from textwrap import fill
from typing import Any

from depkit.files.suggestion import describe_unknown
from depkit.parsers.settings import ConfigError
from depkit.training.recipe import DEFAULT
from depkit.training.reference import Setting, all_settings

NOTE = (
    "In a recipe, a setting has the value of the recipe, or else this default. Without --recipe,"
    f" depkit train uses the recipe {DEFAULT}."
)
_WIDTH = 100  # characters of a line


def select_settings(name: str = "") -> list[Setting]:
    """Return the settings of a section and of the sections within it, or those of one name.

    Without a name, all settings are returned. Raises ConfigError for an unknown name.
    """
    settings = all_settings()
    found = [each for each in settings if not name or f"{each.name}.".startswith(f"{name}.")]
    if not found:
        sections = list(dict.fromkeys(each.section for each in settings if each.section))
        known = [*sections, *(each.name for each in settings)]
        raise ConfigError(describe_unknown("section or setting", name, known, sections))
    return found


def setting_facts(settings: Iterable[Setting]) -> list[dict[str, Any]]:
    """Return the facts about settings, for JSON."""
    return [
        {
            "setting": each.name,
            "section": each.section,
            "default": each.default,
            "takes": each.takes,
            "needs": {name: list(values) for name, values in each.bounds.needs.items()},
            "only": list(each.only),
            "at_test_time": each.bounds.at_test_time,
            "meaning": each.meaning,
            "recipes": each.recipes,
        }
        for each in settings
    ]


def render_settings(settings: Iterable[Setting]) -> str:
    """Describe settings for people."""
    paragraphs = [fill(NOTE, _WIDTH)]
    for each in settings:
        lines = [f"{each.name} = {show_value(each.default)}"]
        lines += [f"takes {each.takes}", *setting_notes(each), each.meaning]
        by_value = recipes_by_value(each).items()
        if by_value:
            texts = (f"{value} in {', '.join(names)}" for value, names in by_value)
            lines.append(f"recipes: {'; '.join(texts)}")
        paragraphs.append("\n".join([lines[0], *map(_indent, lines[1:])]))
    return "\n\n".join(paragraphs)


def _indent(line: str) -> str:
    indent = " " * 4
    return fill(
        line, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def setting_notes(setting: Setting) -> list[str]:
    """Say when a setting exists and has an effect."""
    notes = [f"only with {' or '.join(setting.only)}"] if setting.only else []
    for name, values in setting.bounds.needs.items():
        needed = f"{setting.section}.{name}"
        choices = " or ".join(f"{needed}={show_value(value)}" for value in values)
        notes.append(f"has no effect without {choices or needed}")
    if setting.bounds.at_test_time:
        notes.append("can be changed for a trained model, see --set of depkit parse")
    return notes


def recipes_by_value(setting: Setting) -> dict[str, list[str]]:
    """Return the names of the recipes that set a setting, by its value, in the order of values."""
    values: dict[str, list[str]] = {}
    for name, value in setting.recipes.items():
        values.setdefault(show_value(value), []).append(name)
    return dict(sorted(values.items()))


def show_value(value: Any) -> str:
    """Write a value as for --set: as in TOML, but strings of words without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if value != "" else '""'
