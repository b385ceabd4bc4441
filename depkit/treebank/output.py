"""What comes from a file, made fit for a terminal and for JSON."""

import json
from typing import Any


def printable(text: str) -> str:
    """A text in one line, fit for a terminal: what cannot be printed is escaped."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def json_text(record: Any, indent: int | None = None) -> str:
    """A record as JSON that is valid UTF-8, whatever bytes could not be decoded."""
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    return text.encode(errors="backslashreplace").decode()  # surrogates, within strings


def broken_sentences(file: str, broken: int, sentences: int) -> str:
    """A warning of a file's broken sentences."""
    number = f"{broken} of {sentences} sentence{'s' * (sentences != 1)}"
    what = f"{number} {'is' if broken == 1 else 'are'} broken"
    return f"depkit: warning: {printable(file)}: {what}; see depkit check {printable(file)}"
