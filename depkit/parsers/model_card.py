"""The front matter of model cards: a model's language, treebanks, licence and scores.

The Hugging Face hub shows the same front matter, which is YAML between two lines `---`. Cards of
depkit use two of its forms only: `key: value`, and `key:` with lines `- value` below.
"""

import re
from collections.abc import Mapping
from pathlib import Path

CARD = "README.md"  # the name on the Hugging Face hub, which shows it

Facts = dict[str, str | list[str]]
_MAX_CARD = 1 << 16  # bytes
_KEY = re.compile(r"(\w+):(?: +(.*))?")


def make_front_matter(facts: Mapping[str, str | list[str]]) -> str:
    """Return the front matter of a card; facts that are "" or [] are left out."""
    lines = ["---"]
    for key, value in facts.items():
        if value and isinstance(value, str):
            lines.append(f"{key}: {value}")
        elif value:
            lines += [f"{key}:", *(f"- {each}" for each in value)]
    return "\n".join([*lines, "---", ""])


def read_card(directory: Path) -> str | None:
    """Read a model's card, or the beginning of one that is too long; None if there is none."""
    path = directory / CARD
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(_MAX_CARD).decode(errors="replace")


def read_card_facts(directory: Path) -> Facts:
    """Read the front matter of a model's card; {} if there is none."""
    lines = (read_card(directory) or "").splitlines()
    if lines[:1] != ["---"] or "---" not in lines[1:]:
        return {}
    facts: Facts = {}
    values: list[str] = []
    for line in lines[1 : lines.index("---", 1)]:
        if match := _KEY.fullmatch(line.rstrip()):
            values = []
            facts[match[1]] = match[2] if match[2] else values
        elif line.startswith("- "):
            values.append(line[2:].strip())
    return facts
