"""Conversion of HEAD from the text in a file to numbers, and back."""

import sys
from collections.abc import Sequence


class _HeadNumbers(dict[str, int]):
    """A mapping of HEAD from strings to ints: `_` is -1, and an invalid string is sys.maxsize."""

    def __missing__(self, text: str) -> int:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else sys.maxsize


HEAD_NUMBERS = _HeadNumbers({str(number): number for number in range(1000)} | {"_": -1})


class _HeadStrings(dict[int | str, str]):
    """A mapping of HEAD from ints to strings.

    A look-up in this mapping or in `_HeadNumbers` is faster than a function call.
    """

    def __missing__(self, head: int | str) -> str:
        return str(head)


HEAD_STRINGS = _HeadStrings({number: text for text, number in HEAD_NUMBERS.items()})
HEAD_STRINGS |= {text: text for text in HEAD_NUMBERS}  # A string is returned as it is.


class HeadError(ValueError):
    """An invalid HEAD of the word with the 0-based index `word`."""

    def __init__(self, word: int, message: str) -> None:
        super().__init__(message)
        self.word = word


def parse_heads(column: Sequence[str], size: int | None = None) -> list[int]:
    """Convert a HEAD column to integers, `_` to -1. Raises HeadError for any other value.

    size: the number of words of the sentence, if the column has the values of some of them only.
    """
    head = [HEAD_NUMBERS[text] for text in column]
    size = len(head) if size is None else size
    if max(head, default=0) > size:
        word = next(i for i, number in enumerate(head) if number > size)
        message = f"HEAD is {column[word][:40]!r}, not a word's number (1 to {size}), 0 or _"
        raise HeadError(word, message)
    return head
