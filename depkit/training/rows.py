"""The rows of the tables of papers: what they need, and the commands that train or test a model.

A shipped recipe says in its TOML file which rows it belongs to:

    paper = "Author (year), Title"
    scores = "UAS/LAS"                # what the scores of the rows are
    needs = "PTB"                     # the data of all rows, unless a row has its own
    set = ["inputs.word=0"]           # settings of all rows
    sets.TAGS = ["inputs.tag=100"]    # settings with a name, for several rows

    [[rows]]
    table = "Table 1, row 2"
    score = "dev 95.57/93.72"
    set = ["TAGS", "encoder.layers=10"]
    recipes = "a,b"                   # an ensemble of these recipes instead
    command = "parse"                 # a trained model is tested with the settings instead
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from depkit.training.recipe import make_recipe, read_shipped_file, recipe_names


@dataclass(frozen=True)
class Row:
    """A row of a table.

    settings: KEY=VALUE; recipes: those of an ensemble, or the only one; tests: whether the settings
    are for parsing with a trained model.
    """

    paper: str
    table: str
    score: str
    needs: str
    recipes: tuple[str, ...]
    settings: tuple[str, ...]
    is_ensemble: bool
    tests: bool

    @property
    def command(self) -> str:
        """The command line; words in capital letters stand for files and directories."""
        settings = "".join(f" --set {shlex.quote(text)}" for text in self.settings)
        if self.tests:
            return f"depkit parse DEV --model DIR -o PARSED{settings}"
        inputs = make_recipe(self.recipes[0]).parser.inputs
        elmo = " --elmo TRAIN.hdf5 --dev-elmo DEV.hdf5" if inputs.context.source == "elmo" else ""
        command, option = ("ensemble", "recipes") if self.is_ensemble else ("train", "recipe")
        recipes = ",".join(self.recipes)
        return f"depkit {command} TRAIN --dev DEV -o DIR --{option} {recipes}{elmo}{settings}"


def recipe_rows(name: str) -> list[Row]:
    """Return the rows that a shipped recipe belongs to."""
    tables = read_shipped_file(name)
    return [_make_row(name, tables, row) for row in tables.get("rows", ())]


def all_rows() -> list[Row]:
    """Return the rows of all shipped recipes, in the order of papers and tables."""
    rows = [row for name in recipe_names() for row in recipe_rows(name)]
    return sorted(rows, key=lambda row: (row.paper, _table_number(row.table)))


def _table_number(table: str) -> tuple[bool, int]:
    number = re.match(r"Tables? (\d+)", table)
    return (not number, int(number[1]) if number else 0)


def _make_row(name: str, tables: Mapping[str, Any], row: Mapping[str, Any]) -> Row:
    names = tables.get("sets", {})
    recipes = row.get("recipes", name)
    return Row(
        tables["paper"], row["table"], f"{row['score']} {tables['scores']}",
        row.get("needs", tables["needs"]), tuple(recipes.split(",")),
        tuple(_expand([*tables.get("set", ()), *row.get("set", ())], names)),
        "recipes" in row, row.get("command") == "parse",
    )  # fmt: skip


def _expand(settings: Iterable[str], names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield settings, with those that a name stands for in its place."""
    for text in settings:
        yield from names.get(text, [text])
