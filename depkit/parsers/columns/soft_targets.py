"""Soft targets: a teacher's distributions over a word's heads, relations and tags.

A student learns them beside the gold targets (Hinton et al. 2015). Only the most probable values
of a distribution are stored; all distributions of a word are packed into a row of small integers.
"""

from collections.abc import Collection, Sequence

import numpy as np

MAX_VALUES = 4  # the number of stored values of a distribution; others have probability 0
MAX_INTEGER = 65_535  # the integer that represents probability 1
LABEL_HEAD = "soft.label_head"  # the array of the heads that the relations' distributions are for
WEIGHT = "soft.weight"  # what all batches share: see `nn.soft_targets`


def column_slices(column: int) -> tuple[slice, slice]:
    """Return the slices of a row that have the indices and the probabilities of a column."""
    start = 1 + 2 * MAX_VALUES * column
    return slice(start, start + MAX_VALUES), slice(start + MAX_VALUES, start + 2 * MAX_VALUES)


def soft_arrays(
    rows: np.ndarray, columns: Sequence[str], learned: Collection[str]
) -> dict[str, np.ndarray]:
    """Name the parts of packed rows as arrays of a Dataset, one row a word.

    Args:
        rows: [total, 1 + 2 * MAX_VALUES * columns] uint16, made by `ensemble.teacher.pack`; zeros
            if unknown.
        columns: "head", "deprel", "upos", ... in the order of a row.
        learned: The columns whose distributions are returned.
    """
    arrays = {LABEL_HEAD: rows[:, 0]}
    for i, name in enumerate(columns):
        if name not in learned:
            continue
        values, probabilities = column_slices(i)
        arrays[f"soft.{name}.values"] = rows[:, values]
        arrays[f"soft.{name}.probabilities"] = rows[:, probabilities]
    return arrays
