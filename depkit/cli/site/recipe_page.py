"""The page of recipes: the facts of `depkit info --recipes`, and what each file sets."""

from collections.abc import Callable, Iterator
from html import escape
from itertools import groupby
from textwrap import dedent
from typing import Any

from depkit.cli.recipe_tables import NEEDS, all_recipe_facts
from depkit.cli.site.markdown import render_code, render_inline
from depkit.cli.site.page import Entry, Page
from depkit.parsers.settings import to_toml
from depkit.training.recipe import ABOUT_ROWS, read_shipped_file

_INTRODUCTION = """\
A recipe is a set of settings for `--recipe` of `depkit train`. Some stand for rows of the tables of
papers, which are listed with the score of the paper, the data that they need and the command.
`depkit info RECIPE` describes one, `depkit info --recipes` lists all."""


def make_page(find_target: Callable[[str], str]) -> Page:
    """Return the page of all recipes."""
    facts = all_recipe_facts()
    lines = [
        f'<h1>Recipes</h1>\n<p class="lead">{render_inline(_INTRODUCTION, find_target)}</p>',
        f"<p>{escape(NEEDS)}</p>",
    ]
    entries = []
    for name, about in facts["recipes"].items():
        rows = [row for row in facts["rows"] if name in row["recipes"]]
        lines.append(f'<h2 id="{name}">{name}</h2>')
        lines += _render_about(about, find_target)
        lines.append(
            _render_rows(rows)
            or render_code(f"depkit train TRAIN --dev DEV -o DIR --recipe {name}")
        )
        tables = {k: v for k, v in read_shipped_file(name).items() if k not in ABOUT_ROWS}
        toml = render_code(to_toml(tables).strip())
        lines.append(f"<details><summary>Settings of {name}</summary>{toml}</details>")
        entries.append(Entry(name, "recipe", name, " ".join(about.split())))
    return Page("recipes", "Recipes", "\n".join(lines), "Reference", "", entries)


def _render_about(text: str, find_target: Callable[[str], str]) -> Iterator[str]:
    """Yield the text about a recipe, in which indented lines are commands."""
    for paragraph in text.split("\n\n"):
        for is_code, group in groupby(paragraph.splitlines(), lambda line: line[:2] == "  "):
            lines = "\n".join(group)
            html = render_inline(lines, find_target)
            yield render_code(dedent(lines)) if is_code else f"<p>{html}</p>"


def _render_rows(rows: list[dict[str, Any]]) -> str:
    """Return the rows of tables, by paper, with their scores, their data and their commands."""
    lines = []
    for paper, group in groupby(rows, lambda row: row["paper"]):
        lines.append(f"<h3>{escape(paper)}</h3>\n<dl>")
        for row in group:
            score = escape(f"{row['score']}; needs {row['needs']}")
            command = render_code(row["command"])
            lines.append(f"<dt>{escape(row['table'])}</dt>\n<dd>{score}\n{command}</dd>")
        lines.append("</dl>")
    return "\n".join(lines)
