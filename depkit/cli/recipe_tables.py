"""What `depkit info` prints about recipes: what they are for, and the rows of tables of papers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import groupby
from typing import Any

from depkit.training.recipe import make_recipe, read_recipe_text, recipe_names
from depkit.training.rows import Row, all_rows, recipe_rows

NEEDS = """\
In the commands, TRAIN and DEV are treebanks, DIR is a model directory, VECTORS is a file of word
vectors (GloVe, word2vec or fastText), and TRAIN.hdf5 and DEV.hdf5 are files of ELMo vectors."""


def recipe_facts(name: str) -> dict[str, Any]:
    """Return the facts about a recipe."""
    return {
        "recipe": name,
        "about": _read_comment(name),
        "rows": list(map(_row_facts, recipe_rows(name))),
        "settings": make_recipe(name).tables(),
    }


def all_recipe_facts() -> dict[str, Any]:
    """Return the rows of all recipes, and what each recipe is for."""
    return {
        "rows": list(map(_row_facts, all_rows())),
        "recipes": {name: _read_comment(name) for name in recipe_names()},
    }


def render_recipe(name: str) -> str:
    """Describe a recipe for people."""
    return "\n\n".join([_read_comment(name), *_render_rows(recipe_rows(name))])


def render_recipes() -> str:
    """Describe the rows of all recipes, and list the recipes, for people."""
    lines = []
    for name in recipe_names():
        text = re.sub(r"\s+", " ", _read_comment(name))
        first = re.split(r"(?<! al)[.:;](?: |$)", text)[0]
        lines.append(f"{name:20}  {first}")
    return "\n\n".join(["\n".join(lines), *_render_rows(all_rows())])


def _row_facts(row: Row) -> dict[str, Any]:
    return asdict(row) | {"command": row.command}


def _render_rows(rows: Iterable[Row]) -> Iterator[str]:
    """Yield paragraphs: each row with its score, the data that it needs and its command."""
    is_first = True
    for paper, group in groupby(rows, lambda row: row.paper):
        if is_first:
            yield NEEDS
            is_first = False
        yield paper
        for row in group:
            yield f"{row.table}: {row.score}; needs {row.needs}\n    {row.command}"


def _read_comment(name: str) -> str:
    """Return the comment at the beginning of a recipe's file."""
    lines = []
    for line in read_recipe_text(name).splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    return "\n".join(lines)
