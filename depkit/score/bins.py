"""Bins of integers such as `1,2,3-6,7-`, with further bins for values outside of them."""

import re
from dataclasses import dataclass

import numpy as np

ROOT = -(2**40)  # the value of a word whose head is the root
NONE = ROOT - 1  # the value of a word without a head, or on or below a cycle
EACH = "each"
_RANGE = re.compile(r"(-?\d++)?(-|\.\.)?(-?\d++)?")


@dataclass(frozen=True)
class Bins:
    """Ranges of integers, both ends included, and their names.

    Three more bins exist always: `root` comes first, then, after the ranges, `other` for integers
    in no range and `none` for words without a value.
    """

    ends: list[tuple[int, int]]
    names: list[str]

    @property
    def labels(self) -> list[str]:
        """The names of all bins, in order."""
        return ["root", *self.names, "other", "none"]

    def assign(self, values: np.ndarray) -> np.ndarray:
        """Return the bin of each value as an index into `labels`; same shape as the values."""
        index = np.full(values.shape, len(self.names) + 1)
        for i, (low, high) in enumerate(self.ends, start=1):
            index[(values >= low) & (values <= high)] = i
        index[values == ROOT] = 0
        index[values == NONE] = len(self.names) + 2
        return index


def parse_bins(text: str) -> Bins:
    """Parse bins as they are written on the command line, separated by commas.

    A bin is an integer, a range `3-6` or `3..6`, or an open range `7-`, `7..` or `..-7`.
    Raises ValueError for any other text, for a range that ends before it begins and for bins that
    overlap.
    """
    ends: list[tuple[int, int]] = []
    names = [part.strip() for part in text.split(",")]
    for name in names:
        match = _RANGE.fullmatch(name)
        if not match or not (match[1] or (match[3] and match[2] == "..")):
            raise ValueError(
                f"'{name}' in bins '{text}' is not a bin; write bins like 4, 5-6, 7- and ..-7"
            )
        low = int(match[1]) if match[1] else -(2**31)
        high = int(match[3]) if match[3] else 2**31 if match[2] else low
        if high < low:
            raise ValueError(f"bin '{name}' ends before it begins")
        if any(low <= other_high and other_low <= high for other_low, other_high in ends):
            raise ValueError(f"bin '{name}' overlaps an earlier bin in '{text}'")
        ends.append((low, high))
    return Bins(ends, names)


def bin_each_value(*values: np.ndarray) -> Bins:
    """Return bins of one integer each, for all integers that occur in any of the arrays."""
    distinct = np.unique(np.concatenate(values))
    numbers = distinct[distinct > ROOT].tolist()
    return Bins([(number, number) for number in numbers], list(map(str, numbers)))
