"""Sparse linear models over conjunctions of observations, stored in a small file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from depkit.corpus.errors import DataError

_MAX_CONJUNCTIONS = 1000

Observations = tuple[str, ...]
Feature = tuple[int, Observations]  # a conjunction's index, and the values of its observations


class Templates:
    """Conjunctions of observations, each of which makes one feature.

    `observations` are the names of the values, in order; `conjunctions` has one conjunction per
    line, the names of two or more observations.
    """

    def __init__(self, observations: str, conjunctions: str) -> None:
        self.observations = observations.split()
        self.conjunctions = [line.split() for line in conjunctions.split("\n") if line.strip()]
        self.getters: list[Callable[[Observations], Observations]] = [
            itemgetter(*map(self.observations.index, names)) for names in self.conjunctions
        ]

    def features(self, observations: Observations, offset: int = 0) -> list[Feature]:
        """Return one feature per conjunction; conjunctions are numbered from `offset`."""
        return [(offset + i, get(observations)) for i, get in enumerate(self.getters)]


class Model:
    """The weights of features: one for each label of a classifier, a single one for a ranker.

    Args:
        labels: The classes; a single label for a ranker.
        tables: For each conjunction, the row of weights of each combination of observations.
        weights: `[row, label]` float32; row 0 is zero, for features that are not in the tables.
    """

    def __init__(
        self, labels: Sequence[str], tables: list[dict[Observations, int]], weights: np.ndarray
    ) -> None:
        self.labels = labels
        self.tables = tables
        self.weights = weights
        first_column = weights[:, 0].tolist() if len(labels) == 1 else []
        self.ranker_weights: list[dict[Observations, float]] = [
            {key: first_column[row] for key, row in table.items()}
            for table in tables
            if first_column
        ]

    def score(self, templates: Templates, observations: Observations, offset: int = 0) -> float:
        """Return the sum of a ranker's weights; `offset` is the index of the first table."""
        pairs = zip(self.ranker_weights[offset:], templates.getters, strict=False)
        return sum([weights.get(get(observations), 0.0) for weights, get in pairs])

    def best_label(self, templates: Templates, observations: Observations) -> str:
        """Return a classifier's label with the highest score; of equal scores, the first label."""
        tables = zip(self.tables, templates.getters, strict=True)
        rows = [table.get(get(observations), 0) for table, get in tables]
        return self.labels[self.weights[rows].sum(axis=0).argmax()]

    def to_arrays(self, name: str) -> dict[str, np.ndarray]:
        """Return the model as arrays to be saved; their keys begin with `name` and a dot.

        Features are text, one per line: the conjunction's index and the observations, separated by
        tabs. Weights are rounded to 255 steps; rows of zeros are left out.
        """
        step = float(np.abs(self.weights).max()) / 127 or 1.0
        rounded = np.rint(self.weights / step).astype(np.int8)
        lines = sorted(
            (i, key, row)
            for i, table in enumerate(self.tables)
            for key, row in table.items()
            if rounded[row].any()
        )
        saved = rounded[[row for _, _, row in lines]]
        rows, columns = np.nonzero(saved)
        text = "\n".join(["\t".join((str(i), *key)) for i, key, _ in lines])
        arrays = {
            "labels": encode_text("\n".join(self.labels)),
            "features": encode_text(text),
            "counts": np.bincount(rows, minlength=len(lines)).astype(np.uint8),
            "columns": columns.astype(np.uint8),
            "values": saved[rows, columns],
            "step": np.array(step, np.float32),
            "conjunctions": np.array(len(self.tables)),
        }
        return {f"{name}.{key}": array for key, array in arrays.items()}


def encode_text(text: str) -> np.ndarray:
    """Return a text as an array of UTF-8 bytes, to be saved beside other arrays."""
    return np.frombuffer(text.encode(), np.uint8)


def load_text(path: Path, name: str) -> str:
    """Load a text that was saved with `encode_text`. Raises DataError if the file is damaged."""
    with _name_in_errors(path), np.load(path, allow_pickle=False) as file:
        text: str = file[name].tobytes().decode()
    return text


def load(path: Path, name: str) -> Model:
    """Load the model with a name from a file to which numpy saved `Model.to_arrays`.

    Raises DataError if the file is damaged.
    """
    with _name_in_errors(path), np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Any] = {
            key.removeprefix(name + "."): file[key] for key in file.files if key.startswith(name)
        }
        labels = arrays["labels"].tobytes().decode().split("\n")
        count = int(arrays["conjunctions"])
        if not 0 <= count <= _MAX_CONJUNCTIONS:
            raise ValueError(f"it has {count} conjunctions")
        tables: list[dict[Observations, int]] = [{} for _ in range(count)]
        lines = arrays["features"].tobytes().decode().split("\n")
        for row, line in enumerate(lines, start=1):
            conjunction, *key = line.split("\t")
            tables[int(conjunction)][tuple(key)] = row
        weights = np.zeros((len(lines) + 1, len(labels)), np.float32)
        rows = np.repeat(np.arange(1, len(lines) + 1), arrays["counts"])
        weights[rows, arrays["columns"]] = arrays["values"] * arrays["step"]
        if not np.isfinite(weights).all():
            raise ValueError("a weight is not finite")
    return Model(labels, tables, weights)


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Turn any error about the content of a file into a DataError with its name."""
    try:
        yield
    except Exception as error:  # numpy and zipfile raise a dozen unrelated errors
        # An OSError without a name is from a seek to where a damaged archive says.
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.filename):
            raise
        raise DataError(f"{path} is damaged: {type(error).__name__}: {error}") from None
