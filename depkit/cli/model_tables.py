"""What `depkit info --models` prints about the bundled models."""

from collections.abc import Callable, Iterable, Mapping
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
    "words/s": "words_per_second",
    "licence": "license",
}
NUMBERS: dict[str, Callable[[str], float]] = {
    "las_gold": float,
    "las_raw": float,
    "words_per_second": int,
}


def model_facts() -> list[dict[str, Any]]:
    """Return the facts about each bundled model: those of its card, and its size."""
    return [
        {
            "model": name,
            "bytes": sum(path.stat().st_size for path in model_files(find_model(name))),
            **{
                key: NUMBERS[key](str(value)) if key in NUMBERS else value
                for key, value in read_card_facts(find_model(name)).items()
            },
        }
        for name in bundled_models()
    ]


def model_rows(facts: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return the row of each model in the table with the columns COLUMNS."""
    return [
        [_format_fact(row, fact) for fact in COLUMNS.values()]
        for row in ({**each, "megabytes": each["bytes"] / 1e6} for each in facts)
    ]


def _format_fact(facts: Mapping[str, Any], name: str) -> str:
    value = facts.get(name, "-")
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def render_models() -> str:
    """List the bundled models for people."""
    note = (
        "LAS on the dev part, as in the CoNLL 2018 shared task; words/s from raw text to trees, in"
        " processor time of one core of a server (AMD EPYC); it was measured on repeated text,"
        " other text takes 1.1 to 2.1 times as long; depkit info MODEL says more"
    )
    return render_table(Table("", list(COLUMNS), model_rows(model_facts()), note))
