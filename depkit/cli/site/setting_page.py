"""The page of settings: the facts of `depkit info --settings`."""

from collections.abc import Callable
from html import escape
from itertools import groupby

from depkit.cli.setting_tables import NOTE, recipes_by_value, setting_notes, show_value
from depkit.cli.site.markdown import render_inline
from depkit.cli.site.page import Entry, Page
from depkit.training.reference import Setting, all_settings

_INTRODUCTION = """\
A setting is changed by `--set KEY=VALUE` of the commands that train, such as `depkit train`, or in
a TOML file for `--config`. A setting that has no effect is refused. `depkit info --settings` prints
this page."""


def make_page(find_target: Callable[[str], str]) -> Page:
    """Return the page of all settings, by section."""
    settings = all_settings()
    lines = [
        f'<h1>Settings</h1>\n<p class="lead">{render_inline(_INTRODUCTION, find_target)}</p>',
        f"<p>{escape(NOTE)}</p>",
    ]
    ids = _setting_ids(settings)
    entries = []
    for section, group in groupby(settings, lambda setting: setting.section):
        title = f"Section {section}" if section else "Outside all sections"
        lines.append(f'<h2 id="section-{section}">{title}</h2>\n<dl>')
        for setting in group:
            name = ids[id(setting)]
            lines.append(_render_setting(setting, name, find_target))
            entries.append(Entry(setting.name, "setting", name, setting.meaning))
        lines.append("</dl>")
    return Page("settings", "Settings", "\n".join(lines), "Reference", "", entries)


def _setting_ids(settings: list[Setting]) -> dict[int, str]:
    """Return the ids of the elements of settings: their names, with a number for a second one."""
    counts: dict[str, int] = {}
    ids = {}
    for setting in settings:
        counts[setting.name] = count = counts.get(setting.name, 0) + 1
        ids[id(setting)] = f"{setting.name}-{count}" if count > 1 else setting.name
    return ids


def _render_setting(setting: Setting, name: str, find_target: Callable[[str], str]) -> str:
    facts = [f"takes {setting.takes}", *setting_notes(setting)]
    lines = [
        f'<dt id="{name}"><code>{setting.name} = {escape(show_value(setting.default))}</code></dt>',
        f"<dd>{render_inline(setting.meaning, find_target)}",
        f'<br><span class="facts">{escape("; ".join(facts))}</span>',
    ]
    if setting.recipes:
        texts = (
            f"{escape(value)} in {', '.join(map(_link, names))}"
            for value, names in recipes_by_value(setting).items()
        )
        lines.append(f'<br><span class="facts">recipes: {"; ".join(texts)}</span>')
    return "".join(lines) + "</dd>"


def _link(recipe: str) -> str:
    return f'<a href="recipes.html#{recipe}">{recipe}</a>'
