"""The parts that the contents of all pages share. Contents are data that can be written as JSON.

Most keys of the contents are sections of the page. A section without data is left out, and the page
hides it. Tables are stored as column names and rows, see `as_table`.
"""

import platform
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from depkit.version import __version__

LIMIT = 10_000  # sentences in a page

Table = dict[str, list[Any]]


def describe_page(kind: str) -> dict[str, Any]:
    """Return the kind of a page and the versions of the software."""
    software = {
        "depkit": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
    }
    return {"kind": kind, "software": software}


def as_table(records: Sequence[dict[str, Any]]) -> Table:
    """Return records with the same keys as a table, which contains each key only once."""
    columns = list(records[0]) if records else []
    return {"columns": columns, "rows": [[record[key] for key in columns] for record in records]}


def spread_evenly(total: int, limit: int) -> list[int]:
    """Return the indices of at most `limit` of `total` items, which are spread evenly."""
    return np.unique(np.linspace(0, total - 1, min(limit, total)).astype(int)).tolist()


class Texts:
    """Numbers texts in the order of their first use; `used` are all texts so far."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    @property
    def used(self) -> list[str]:
        return list(self._index)

    def pack(self, texts: Iterable[str]) -> list[int]:
        return [self._index.setdefault(text, len(self._index)) for text in texts]
