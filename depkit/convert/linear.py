"""Linear models over conjunctions of observations, kept sparse in a small file."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

Observed = tuple[str, ...]
Key = tuple[int, Observed]  # which conjunction, and what its observations were


class Templates:
    """Which observations are looked at together.

    observations: names, in the order in which they are given; conjunctions: one a line, names
    of the observations. Every conjunction has two observations at least.
    """

    def __init__(self, observations: str, conjunctions: str) -> None:
        self.names = observations.split()
        self.lines = [line.split() for line in conjunctions.split("\n") if line.strip()]
        self.getters: list[Callable[[Observed], Observed]] = [
            itemgetter(*map(self.names.index, line)) for line in self.lines
        ]

    def features(self, observed: Observed, offset: int = 0) -> list[Key]:
        """The features of what was observed, by the conjunctions' numbers from `offset`."""
        return [(offset + i, get(observed)) for i, get in enumerate(self.getters)]


class Model:
    """Weights of features; one a feature for a ranker, one a label for a classifier.

    labels: the classes, a single one for a ranker; tables: for every conjunction, the rows of
    its observations; weights: [row, label] float32, row 0 for what has none.
    """

    def __init__(
        self, labels: Sequence[str], tables: list[dict[Observed, int]], weights: np.ndarray
    ) -> None:
        self.labels = labels
        self.tables = tables
        self.weights = weights
        first = weights[:, 0].tolist() if len(labels) == 1 else []
        self.singles: list[dict[Observed, float]] = [
            {key: first[row] for key, row in table.items()} for table in tables if first
        ]

    def score(self, templates: Templates, observed: Observed, offset: int = 0) -> float:
        """The sum of a ranker's weights; offset: the number of the templates' first table."""
        pairs = zip(self.singles[offset:], templates.getters, strict=False)
        return sum([weights.get(get(observed), 0.0) for weights, get in pairs])

    def label(self, templates: Templates, observed: Observed) -> str:
        """A classifier's best label, the first of those that are as good."""
        tables = zip(self.tables, templates.getters, strict=True)
        rows = [table.get(get(observed), 0) for table, get in tables]
        return self.labels[self.weights[rows].sum(axis=0).argmax()]

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The model as arrays to be saved, their names beginning with its own.

        Features are text, a line a row: the number of the conjunction and what was observed,
        between tabs. Weights are rounded to 255 steps; rows of zeros are left out.
        """
        step = float(np.abs(self.weights).max()) / 127 or 1.0
        rounded = np.rint(self.weights / step).astype(np.int8)
        lines = sorted(
            (i, key, row)
            for i, table in enumerate(self.tables)
            for key, row in table.items()
            if rounded[row].any()
        )
        kept = rounded[[row for _, _, row in lines]]
        rows, columns = np.nonzero(kept)
        text = "\n".join(["\t".join((str(i), *key)) for i, key, _ in lines])
        arrays = {
            "labels": as_bytes("\n".join(self.labels)),
            "features": as_bytes(text),
            "counts": np.bincount(rows, minlength=len(lines)).astype(np.uint8),
            "columns": columns.astype(np.uint8),
            "values": kept[rows, columns],
            "step": np.array(step, np.float32),
            "conjunctions": np.array(len(self.tables)),
        }
        return {f"{name}.{key}": array for key, array in arrays.items()}


def as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def load_text(path: Path, name: str) -> str:
    """A text that stands beside the models."""
    with np.load(path, allow_pickle=False) as file:
        text: str = file[name].tobytes().decode()
    return text


def load(path: Path, name: str) -> Model:
    """The model of that name in a file that was made of `Model.arrays` by numpy."""
    with np.load(path, allow_pickle=False) as file:
        part: dict[str, Any] = {
            key.removeprefix(name + "."): file[key] for key in file.files if key.startswith(name)
        }
    labels = part["labels"].tobytes().decode().split("\n")
    tables: list[dict[Observed, int]] = [{} for _ in range(int(part["conjunctions"]))]
    lines = part["features"].tobytes().decode().split("\n")
    for row, line in enumerate(lines, start=1):
        number, *key = line.split("\t")
        tables[int(number)][tuple(key)] = row
    weights = np.zeros((len(lines) + 1, len(labels)), np.float32)
    rows = np.repeat(np.arange(1, len(lines) + 1), part["counts"])
    weights[rows, part["columns"]] = part["values"] * part["step"]
    return Model(labels, tables, weights)
