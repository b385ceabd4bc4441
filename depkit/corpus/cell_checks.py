"""Checks of what is written to the cells of a sentence, so that it can be read back."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from depkit.corpus.column import Column
from depkit.corpus.formats import Format
from depkit.corpus.heads import HEAD_STRINGS

SURROGATE = re.compile("[\ud800-\udfff]")


def check_columns(
    columns: Mapping[str, Sequence[str | int]], format: Format, size: int, first: int = 0
) -> dict[str, Column[str]]:
    """Copy columns. Raises an error if they cannot be written to `size` rows and read back.

    first: the index of the first word of these rows in its sentence.
    """
    checked = {}
    for name, values in columns.items():
        if format.index(name) == 0:
            raise ValueError("the ids are the words' numbers and cannot be changed")
        if isinstance(values, str) or len(values) != size:
            count = "one text" if isinstance(values, str) else f"{len(values)} values"
            raise ValueError(f"there are {count} of {name} for {size} words")
        if name == "head":
            values = [HEAD_STRINGS[head] for head in values]
        try:
            text = "".join(cast(Sequence[str], values))
        except TypeError:
            kind = next(type(value).__name__ for value in values if not isinstance(value, str))
            message = f"a value of {name} must be a text, _ if there is none, not {kind}"
            raise TypeError(message) from None
        if not text.isprintable():
            for number, value in enumerate(cast(Sequence[str], values), start=first + 1):
                check_text(value, f"the {name.upper()} of word {number}")
        if name == "form" and "" in values:
            raise ValueError("there is an empty form; write _ for a word without a form")
        strings = cast(Sequence[str], values)
        checked[name] = strings if isinstance(strings, Column) else Column(strings)
    return checked


def check_text(text: str, subject: str) -> None:
    """Raise ValueError if a text cannot be a part of a row."""
    if "\t" in text or "\n" in text or "\r" in text:
        raise ValueError(f"a tab or a line end in {subject} would break its row")
    check_surrogates(text, subject)


def check_surrogates(text: str, subject: str) -> None:
    """Raise ValueError if a text has a lone surrogate, which no encoding can write."""
    if not text.isascii() and (match := SURROGATE.search(text)):
        code, number = f"U+{ord(match[0]):04X}", match.start() + 1
        raise ValueError(
            f"{code}, character {number} of {subject}, is a lone surrogate, not a character"
        )
