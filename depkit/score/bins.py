"""Bins of whole numbers: `1,2,3-6,7-`, and what lies outside them."""

import re
from dataclasses import dataclass

import numpy as np

ROOT = -(2**40)  # no number but the root's own arc
NONE = ROOT - 1  # no head, or a cycle above
EACH = "each"
_RANGE = re.compile(r"(-?\d+)?(-|\.\.)?(-?\d+)?")


@dataclass(frozen=True)
class Bins:
    """Ranges of numbers, both ends included, and their names.

    `root` comes first; numbers in no range are `other`, and words without a number `none`.
    """

    ends: list[tuple[int, int]]
    names: list[str]

    @property
    def labels(self) -> list[str]:
        """The names of all bins, in order."""
        return ["root", *self.names, "other", "none"]

    def codes(self, values: np.ndarray) -> np.ndarray:
        """[word] the bin of each value, an index into `labels`."""
        code = np.full(values.shape, len(self.names) + 1)
        for i, (low, high) in enumerate(self.ends, start=1):
            code[(values >= low) & (values <= high)] = i
        code[values == ROOT] = 0
        code[values == NONE] = len(self.names) + 2
        return code


def parse_bins(text: str) -> Bins:
    """Bins as they are written on the command line.

    A comma between bins; a bin is a number, a range `3-6` or `3..6`, or one that is open,
    `7-`, `7..` or `..-7`. Raises ValueError for what does not read, for a range whose end comes
    before its beginning, and for bins that overlap.
    """
    ends: list[tuple[int, int]] = []
    names = [part.strip() for part in text.split(",")]
    for name in names:
        match = _RANGE.fullmatch(name)
        if not match or not (match[1] or (match[3] and match[2] == "..")):
            raise ValueError(f"'{name}' in bins '{text}' is no bin: 4, 5-6, 7- and ..-7 are")
        low = int(match[1]) if match[1] else -(2**31)
        high = int(match[3]) if match[3] else 2**31 if match[2] else low
        if high < low:
            raise ValueError(f"bin '{name}' ends before it begins")
        if any(low <= other_high and other_low <= high for other_low, other_high in ends):
            raise ValueError(f"bin '{name}' overlaps one before it in '{text}'")
        ends.append((low, high))
    return Bins(ends, names)


def each(*values: np.ndarray) -> Bins:
    """A bin for every number that occurs."""
    found = np.unique(np.concatenate(values))
    numbers = found[found > ROOT].tolist()
    return Bins([(number, number) for number in numbers], list(map(str, numbers)))
