"""Conditions on one value: a feature of a node, or the label of an edge.

A condition is a mapping from values to answers, which are computed when they are first needed. A
treebank repeats its values, so a search mostly looks answers up.
"""

import re
from collections.abc import Sequence
from functools import cached_property

_MAX_ANSWERS = 100_000  # the number of answers that a condition remembers
SECONDS = 1.0  # for which a regular expression may be matched with one value
ENHANCED = "E:"  # before the label of an enhanced relation


class RegexError(ValueError):
    """A regular expression is invalid, or its matching takes too long."""


class Regex:
    r"""A regular expression, which must match a whole value.

    Args:
        text: The expression as in a pattern.
        syntax: "str" for re"...", the syntax of OCaml's module Str, in which `\|`, `\(` and `\)`
            are operators and `|`, `(` and `)` are characters; "pcre" for /.../, and "pcre-i" for
            /.../i, which ignores case.

    Raises:
        RegexError: The expression is invalid.
    """

    def __init__(self, text: str, syntax: str) -> None:
        # Unlike re, it can end a match that takes too long.
        import regex  # type: ignore[import-untyped]

        self.text = text
        source = _translate_str(text) if syntax == "str" else text
        try:
            self._compiled = regex.compile(source, regex.IGNORECASE if syntax == "pcre-i" else 0)
        except regex.error as error:
            raise RegexError(f"the regular expression {text!r} is invalid: {error}") from None
        except RecursionError:
            message = f"the regular expression {text[:40]!r}... has too many nested groups"
            raise RegexError(message) from None

    def matches(self, value: str) -> bool:
        """Return whether the expression matches the whole value. Raises RegexError, see SECONDS."""
        try:
            return self._compiled.fullmatch(value, timeout=SECONDS) is not None
        except TimeoutError:
            raise RegexError(
                f"matching the regular expression {self.text!r} with {value[:40]!r} takes more than"
                f" {SECONDS:g} s; write it without nested repetitions such as (a+)+"
            ) from None


def _translate_str(text: str) -> str:
    r"""Translate a regular expression of OCaml's Str: its `\|` is `|`, and its `|` is `\|`."""
    parts = re.findall(r"\\[\s\S]|\[\^?+\]?+[^\]]*+(?:\]|\Z)|[\s\S]", text)
    return "".join(map(_translate_part, parts))


def _translate_part(part: str) -> str:
    if part[0] == "[" and part[-1] == "]" and len(part) > 2:  # Within a set, Str has no escapes.
        start = 2 if part[1] == "^" else 1
        inner = part[start:-1].replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
        return part[:start] + re.sub(r"([&~|-])(?=\1)", r"\\\1", inner) + "]"
    if part in (r"\|", r"\(", r"\)"):
        return part[1]
    if part[0] == "\\" and len(part) > 1:
        return part if part[1] in "b123456789" else re.escape(part[1])
    return "\\" + part if part in "|(){}#&~-" else part


class Condition(dict[str | None, bool]):
    """A condition on a value; None is the value of a feature that is not defined.

    Args:
        values: The values that are allowed, or forbidden.
        regex: The regular expression that must match, or must not match, instead of `values`.
        negative: Whether the values are forbidden. Even then, the feature must be defined.
        absent: Whether the feature must not be defined; there is nothing else to say then.

    `condition[value]` is the answer. Raises RegexError as `Regex.matches`.
    """

    def __init__(
        self,
        values: Sequence[str] = (),
        *,
        regex: Regex | None = None,
        negative: bool = False,
        absent: bool = False,
    ) -> None:
        super().__init__({None: absent})
        self.listed = frozenset(values)
        self.regex = regex
        self.negative = negative
        self.absent = absent

    def __missing__(self, value: str) -> bool:
        if len(self) >= _MAX_ANSWERS:
            self.clear()
            self[None] = self.absent
        found = self.regex.matches(value) if self.regex else value in self.listed
        self[value] = answer = not self.absent and found != self.negative
        return answer

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__  # type: ignore[assignment]

    @cached_property
    def required_values(self) -> frozenset[str]:
        """The values of which one is necessary; empty if that is not known."""
        is_list = not (self.regex or self.negative or self.absent)
        return self.listed if is_list else frozenset()


class LabelCondition(dict[str, bool]):
    """A condition on the label of an edge: on the whole label or on its parts.

    Args:
        label: The condition on the whole label.
        parts: Conditions on parts of the label by their names, as in `edge_feature`.
    """

    def __init__(
        self, label: Condition | None = None, parts: Sequence[tuple[str, Condition]] = ()
    ) -> None:
        super().__init__()
        self.label = label
        self.parts = parts

    def __missing__(self, label: str) -> bool:
        if len(self) >= _MAX_ANSWERS:
            self.clear()
        answer = (self.label is None or self.label[label]) and all(
            condition[edge_feature(label, name)] for name, condition in self.parts
        )
        self[label] = answer
        return answer

    @property
    def names_enhanced(self) -> bool:
        """Whether the condition names enhanced relations."""
        values = self.label.listed if self.label else ()
        return any(value.startswith(ENHANCED) for value in values) or any(
            name == "enhanced" for name, _ in self.parts
        )


def edge_feature(label: str, name: str) -> str | None:
    """Return a part of a label by its name, None if there is none.

    Of E:nsubj:pass, 1 is nsubj, 2 is pass and enhanced is yes. `label` is the whole label.
    """
    if name == "label":
        return label
    is_enhanced = label.startswith(ENHANCED)
    if name == "enhanced":
        return "yes" if is_enhanced else None
    parts = label.removeprefix(ENHANCED).split(":")
    index = int(name) - 1 if name.isascii() and name.isdigit() and len(name) < 3 else -1
    return parts[index] if 0 <= index < len(parts) else None
