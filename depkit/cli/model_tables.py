"""What `depkit info --models` prints about the bundled models."""

from collections.abc import Iterable, Mapping
from typing import Any

from depkit.cli.tables import Table, render_table
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import bundled_models, find_model, model_files

COLUMNS = {  # the fact of each column
    "model": "model",
    "language": "language_name",
    "LAS, gold words": "las_gold",
    "LAS, raw text": "las_raw",
    "measured on": "dev",
    "MB": "megabytes",
    "licence": "license",
}


def model_facts() -> list[dict[str, Any]]:
    """Return the facts about each bundled model: those of its card, and its size."""
    return [
        {
            "model": name,
            "bytes": sum(path.stat().st_size for path in model_files(find_model(name))),
            **{
                key: float(str(value)) if key.startswith("las_") else value
                for key, value in read_card_facts(find_model(name)).items()
            },
        }
        for name in bundled_models()
    ]


def model_rows(facts: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return the row of each model in the table with the columns COLUMNS."""
    return [
        [str(row.get(fact, "-")) for fact in COLUMNS.values()]
        for row in ({**each, "megabytes": f"{each['bytes'] / 1e6:.1f}"} for each in facts)
    ]


def render_models() -> str:
    """List the bundled models for people."""
    note = "LAS on the dev part, as in the CoNLL 2018 shared task; depkit info MODEL says more"
    return render_table(Table("", list(COLUMNS), model_rows(model_facts()), note))
