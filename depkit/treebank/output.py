"""Text from files, escaped for terminals and for JSON."""

import json
from typing import Any


def escape_unprintable(text: str) -> str:
    """Escape line ends and all other characters that a terminal cannot print."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def to_json(record: Any, indent: int | None = None) -> str:
    """Return a record as JSON that is valid UTF-8, even if it contains undecodable bytes."""
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    return text.encode(errors="backslashreplace").decode()  # escapes surrogates within strings


def broken_sentences_warning(file: str, broken: int, sentences: int) -> str:
    """Return a warning about the number of broken sentences of a file."""
    number = f"{broken} of {sentences} sentence{'s' * (sentences != 1)}"
    verb = "is" if broken == 1 else "are"
    name = escape_unprintable(file)
    return f"depkit: warning: {name}: {number} {verb} broken; see depkit check {name}"
