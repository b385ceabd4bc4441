"""The columns and lines of a sentence, which cannot be changed in place."""

from typing import Any, NoReturn, TypeVar

T = TypeVar("T", covariant=True)

_ADVICE = (
    "the columns and lines of a sentence cannot be changed in place; assign to a word, as in"
    ' sentence[0].deprel = "obj", assign a whole column, as in sentence.deprel = values, or make a'
    " changed copy with sentence.with_columns or sentence.with_tree"
)


class Column(tuple[T, ...]):
    """A tuple that is also equal to a list of the same values, and that says how to change it.

    A change in place would not reach the lines that are written, so it raises TypeError.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise TypeError(_ADVICE)

    def __delitem__(self, index: Any) -> NoReturn:
        raise TypeError(_ADVICE)
