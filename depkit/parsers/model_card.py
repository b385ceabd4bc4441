"""The front matter of model cards: a model's language, treebanks, licence and scores.

The Hugging Face hub shows the same front matter, which is YAML between two lines `---`. Cards of
depkit use two of its forms only: `key: value`, and `key:` with lines `- value` below.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from depkit.parsers.model_directory import ALIASES, BUNDLED, CARD, bundled_models

Facts = dict[str, str | list[str]]
_MAX_CARD = 1 << 16  # bytes
_KEY = re.compile(r"(\w+):(?: +(.*))?")


def make_front_matter(facts: Mapping[str, str | list[str]]) -> str:
    """Return the front matter of a card; facts that are "" or [] are left out."""
    lines = ["---"]
    for key, value in facts.items():
        if isinstance(value, str):
            lines += [f"{key}: {value}"] * bool(value)
        elif value:
            lines += [f"{key}:", *(f"- {each}" for each in value)]
    return "\n".join([*lines, "---", ""])


def read_card_facts(directory: Path) -> Facts:
    """Read the front matter of a model's card; {} if there is none."""
    path = directory / CARD
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        lines = file.read(_MAX_CARD).decode(errors="replace").splitlines()
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


def find_similar_models(name: str) -> list[str]:
    """Return the bundled models whose name or language is similar to an unknown name.

    For example, pt for `PT`, `pt_BR`, `Portuguese` and `portugese`.
    """
    from difflib import get_close_matches

    models: dict[str, list[str]] = {}  # by language and by name, in lower case
    for model in bundled_models():
        language = str(read_card_facts(BUNDLED / model).get("language_name", "")).lower()
        for key in {model, language, *language.split()} - {""}:
            models.setdefault(key, []).append(model)
    models |= {alias: [model] for alias, model in ALIASES.items()}
    models |= {"no": ["nb", "nn"], "norsk": ["nb", "nn"], "deutsch": ["de"]}
    wanted = name.lower()
    similar = get_close_matches(wanted, models, 1, 0.8) if len(wanted) > 2 else []
    for key in (wanted, *similar, re.sub("[-_][a-z]{2}$|[-_](gsd|ewt|pud)$", "", wanted)):
        if key in models:
            return [model for model in models[key] if model in bundled_models()]
    return []
