"""The bounds of settings, as metadata of the fields of dataclasses."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field
from typing import Any

MAX_SIZE = 1 << 24  # of integers; most of them are sizes
MAX_COUNT = 1 << 31  # of numbers of updates, tokens and so on


@dataclass(frozen=True)
class Bounds:
    """The numbers that a setting can be, and the settings that it needs; see `setting`."""

    minimum: float = 0
    above: float | None = None
    below: float | None = None
    maximum: float | None = None
    needs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    at_test_time: bool = False

    def violation(self, value: float) -> str:
        """Say which numbers the setting takes if it does not take this one; otherwise ""."""
        above = -math.inf if self.above is None else self.above
        below = math.inf if self.below is None else self.below
        maximum = self.maximum
        if maximum is None:
            maximum = MAX_SIZE if isinstance(value, int) else math.inf
        if max(self.minimum, above) <= value <= maximum and above < value < below:
            return ""
        if isinstance(value, int) and value > maximum:
            return f"is too large; it takes {maximum} at most"
        numbers = self.describe()
        if self.above is None and self.below is None:
            if value > maximum:
                numbers = f"from {self.minimum:g} to {maximum:g}"
            elif value == math.inf:
                numbers = "a finite number"
        return f"is {value!r}; it takes {numbers}"

    def describe(self) -> str:
        """Say which numbers the setting takes, without the limits of all sizes and counts."""
        if self.above is not None:
            return f"a number above {self.above:g}"
        if self.below is not None:
            return f"from {self.minimum:g} to less than {self.below:g}"
        if self.maximum is not None and self.maximum < MAX_SIZE:
            return f"from {self.minimum:g} to {self.maximum:g}"
        return f"{self.minimum:g} or more"


def setting(
    default: Any,
    *,
    minimum: float = 0,
    above: float | None = None,
    below: float | None = None,
    maximum: float | None = None,
    needs: str | Mapping[str, Sequence[Any]] = "",
    at_test_time: bool = False,
) -> Any:
    """Make the field of a setting. By default, a number must be at least 0.

    Args:
        default: The value without the setting; for a list, use `dataclasses.field` with
            `default_factory` and the metadata {"bounds": Bounds(...)}.
        minimum: The smallest number.
        above: The number must be greater than this.
        below: The number must be less than this, as 1 for a dropout.
        maximum: The greatest number; the default is `MAX_SIZE` for integers.
        needs: The settings of the same section without which this one has no effect, each with the
            values that it must have; or the name of one that must not be zero or empty.
        at_test_time: Whether it can be changed for a trained model, whose weights do not depend on
            it.
    """
    needed = {needs: ()} if isinstance(needs, str) and needs else needs or {}
    bounds = Bounds(minimum, above, below, maximum, needed, at_test_time)
    return field(default=default, metadata={"bounds": bounds})


def get_bounds(field: Field) -> Bounds:
    """Return what `setting` says about a field, or the bounds of a field without them."""
    return field.metadata.get("bounds", Bounds())
