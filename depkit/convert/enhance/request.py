"""Find the conventions for the enhancements that a user asks for."""

from collections.abc import Sequence
from dataclasses import replace

from depkit.convert.enhance.conventions import (
    ENHANCEMENTS,
    GUIDELINES,
    Conventions,
    known_conventions,
)
from depkit.convert.enhance.learn import learn_conventions
from depkit.corpus.io import read
from depkit.files.errors import ArgumentError, FormatError


def resolve_conventions(like: str = "", types: Sequence[str] = ()) -> Conventions:
    """Return the conventions that are asked for.

    Args:
        like: The name of a known treebank, a treebank with DEPS from which they are learned, or ""
            for those of the UD guidelines.
        types: The enhancements, or "all"; by default, those of the treebank. Spaces around a name
            are ignored.

    Raises:
        ArgumentError: There is no such enhancement, or the treebank has no DEPS.
        FormatError, OSError: The treebank cannot be read.
    """
    types = [name.strip() for name in types]
    if "all" in types:
        types = ENHANCEMENTS
    if unknown := [name for name in types if name not in ENHANCEMENTS]:
        message = f"there is no enhancement {unknown[0]!r}; choose among {', '.join(ENHANCEMENTS)}"
        raise ArgumentError("enhance", message)
    conventions = GUIDELINES
    if like in known_conventions():
        conventions = known_conventions()[like]
    elif like:
        try:
            conventions = learn_conventions(read(like))
        except FormatError:
            raise
        except ValueError as error:
            raise ArgumentError("enhance_like", f"{like}: {error}") from None
    return replace(conventions, types=tuple(types)) if types else conventions
