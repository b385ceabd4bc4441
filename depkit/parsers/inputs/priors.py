"""Probabilities of the values of a column for a form, estimated from a treebank.

A form is looked up as it is written, in lower case, and by its endings. The estimate of a longer
ending is interpolated with that of the shorter one (as in TnT, Brants 2000, section 2.3, which uses
the endings of rare words only). A node is the set of all words, of the words with an ending, with a
lower-case form, or with a form.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from depkit.parsers.inputs.lemma_dictionary import LemmaDictionary

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Table

LONGEST_ENDING = 5  # characters
NUM_VALUES = 8  # number of values that are kept for a form
# Weights of interpolation, in words: of the shorter ending in the estimate of a longer one, and of
# the endings in the estimate of a form
ENDING_WEIGHT, FORM_WEIGHT = 6.0, 1.0
_FORMS_AT_ONCE = 1000
MAX_FORMS = 50_000  # the cache is emptied when it has more forms
_LEVELS = LONGEST_ENDING + 3
_COLUMNS = {"upos": 0, "xpos": 1, "feats": 2}  # their indices in the tags of a reading


@dataclass(frozen=True)
class ColumnCounts:
    """How often each value of a column occurs at each node, as a sparse matrix in CSR format."""

    starts: np.ndarray  # [nodes + 1], where the values of each node start
    values: np.ndarray  # [entries], the indices of the values
    counts: np.ndarray  # [entries]
    size: int  # number of values of the column

    def entries(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the counts of nodes as index in `nodes`, value and count; -1 is no node."""
        known = np.flatnonzero(nodes >= 0)
        starts, stops = self.starts[nodes[known]], self.starts[nodes[known] + 1]
        lengths = stops - starts
        entries = np.repeat(stops - lengths.cumsum(), lengths) + np.arange(lengths.sum())
        return np.repeat(known, lengths), self.values[entries], self.counts[entries]


# For each column, values and their probabilities, both [rows, at most NUM_VALUES]
Tables = dict[str, tuple[np.ndarray, np.ndarray]]


class Priors:
    """The distributions of the values of columns for any form.

    Args:
        dictionary: The analyses of the forms of a treebank.
        columns: The values of each predicted column.
    """

    def __init__(self, dictionary: LemmaDictionary, columns: "dict[str, Table]") -> None:
        nodes: dict[str | None, int] = defaultdict(count().__next__)
        nodes[None] = -1
        self._rows: dict[str, int] = {}  # of the forms in the cache
        self._cache: Tables = {}
        forms = list(dictionary.forms)
        chains = np.array([[nodes[name] for name in _node_names(form)] for form in forms])
        chains = chains.reshape(-1, _LEVELS)
        self.nodes = dict(nodes)  # for the name of an ending or a form, its number
        flat = [dictionary.forms[form] for form in forms]
        sizes = np.array([len(readings) // 3 for readings in flat], dtype=np.int64)
        triples = np.array([n for readings in flat for n in readings], dtype=np.int64).reshape(
            -1, 3
        )
        row = np.repeat(np.arange(len(forms)), sizes)
        self.counts = {}
        for name, table in columns.items():
            if name not in _COLUMNS:
                continue
            symbols = [tags[_COLUMNS[name]] for tags in dictionary.tags]
            indices = np.array([table.indices.get(symbol, -1) for symbol in symbols])
            value = indices[triples[:, 0]]
            known = value >= 0
            keys = row[known] * len(table) + value[known]
            distinct, inverse = np.unique(keys, return_inverse=True)
            counts = np.bincount(inverse, triples[known, 2], len(distinct))
            self.counts[name] = self._count(
                chains[distinct // len(table)], distinct % len(table), counts, len(table)
            )

    def chains(self, forms: Sequence[str]) -> np.ndarray:
        """Find the nodes of forms, [forms, levels]; -1 stands for a node that does not exist."""
        get = self.nodes.get
        chains = [[get(name, -1) for name in _node_names(form)] for form in forms]
        return np.array(chains, dtype=np.int64).reshape(-1, _LEVELS)

    def _count(
        self, chains: np.ndarray, value: np.ndarray, number: np.ndarray, size: int
    ) -> ColumnCounts:
        """Count the values at nodes. At endings, each form counts once, at forms each occurrence.

        chains: [pairs, nodes]; value and number: the value of each pair of a form and a value, and
        the number of its occurrences.
        """
        weights = np.ones(chains.shape)
        weights[:, -2:] = number[:, None]
        weights[chains < 0] = 0
        keys = (chains * size + value[:, None]).ravel()
        distinct, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, weights.ravel()).astype(np.float32)
        distinct, sums = distinct[sums > 0], sums[sums > 0]
        starts = np.searchsorted(distinct, np.arange(len(self.nodes)) * size)
        return ColumnCounts(starts, distinct % size, sums, size)

    def distributions(
        self, column: str, chains: np.ndarray, gold: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the distributions of forms, [forms, values].

        Args:
            column: The name of the column.
            chains: The nodes of the forms, from `chains`.
            gold: For each form, the index of the value of an occurrence that is left out of the
                counts, or a negative number to leave out none.
        """
        table = self.counts[column]
        num_forms = len(chains)
        # Forms that occur with the gold value only once. Without this occurrence, their endings do
        # not count them either.
        is_last = np.zeros(num_forms, dtype=bool)
        if gold is not None:
            rows, values, counts = table.entries(chains[:, -1])
            is_last[rows[(values == gold[rows]) & (counts == 1)]] = True
        result = np.full((num_forms, table.size), 1 / table.size, dtype=np.float32)
        for level in range(_LEVELS):
            is_form = level > LONGEST_ENDING
            rows, values, counts = table.entries(chains[:, level])
            if gold is not None:
                counts -= (values == gold[rows]) & (is_form | is_last[rows])
            weight = FORM_WEIGHT if is_form else ENDING_WEIGHT
            totals = np.bincount(rows, counts, num_forms).astype(np.float32) + weight
            result *= (weight / totals)[:, None]
            result[rows, values] += counts / totals[rows]
        return result

    def best(
        self, column: str, chains: np.ndarray, gold: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the most likely values of forms; arguments: as for `distributions`.

        Returns:
            The indices of the values, [forms, at most NUM_VALUES], and their probabilities.
        """
        kept = min(NUM_VALUES, self.counts[column].size)
        indices = np.zeros((len(chains), kept), dtype=np.int64)
        probabilities = np.zeros((len(chains), kept), dtype=np.float32)
        for start in range(0, len(chains), _FORMS_AT_ONCE):
            part = slice(start, start + _FORMS_AT_ONCE)
            all_values = self.distributions(
                column, chains[part], None if gold is None else gold[part]
            )
            indices[part] = np.argpartition(-all_values, kept - 1, axis=1)[:, :kept]
            probabilities[part] = np.take_along_axis(all_values, indices[part], axis=1)
        return indices, probabilities

    def look_up(self, forms: Sequence[str]) -> Tables:
        """Return the best values of forms in all columns, from a cache as far as possible."""
        if len(self._rows) > MAX_FORMS:
            self._rows, self._cache = {}, {}
        new = [form for form in dict.fromkeys(forms) if form not in self._rows]
        self._rows |= {form: row for row, form in enumerate(new, start=len(self._rows))}
        rows = [self._rows[form] for form in forms]
        chains = self.chains(new)
        tables = {}
        for name in self.counts:
            values, probabilities = self.best(name, chains)
            if name in self._cache:
                values = np.concatenate((self._cache[name][0], values))
                probabilities = np.concatenate((self._cache[name][1], probabilities))
            self._cache[name] = values, probabilities
            tables[name] = values[rows], probabilities[rows]
        return tables


def _node_names(form: str) -> list[str | None]:
    """Name the nodes of a form: all words, endings by growing length, lower case, the form.

    None stands for an ending that is longer than the form. Endings of words in lower case differ
    from those of other words.
    """
    lower = form.lower()
    kind = "l" if form == lower else "o"
    endings = [kind + lower[-size:] for size in range(1, min(LONGEST_ENDING, len(lower)) + 1)]
    missing = [None] * (LONGEST_ENDING - len(endings))
    return [kind, *endings, *missing, "w" + lower, "f" + form]


def encode_priors(
    priors: Priors,
    forms: Sequence[str],
    form: np.ndarray,
    targets: dict[str, list[int]],
) -> tuple[np.ndarray, Tables]:
    """Compute the distributions of the words of a dataset.

    Args:
        priors: The counts.
        forms: The distinct forms; the first two are the keys of padding and w0.
        form: [total], for each entry of the dataset its form.
        targets: The gold values of the entries, which are left out of the counts; {} if there are
            none.

    Returns:
        For each entry the index of a row, [total], and for each column the rows, as `Priors.best`
        returns them. The probabilities of padding and w0 are zeros.
    """
    names = [name for name in priors.counts if name in targets]
    if not names:
        tables = priors.look_up(forms)
        rows, is_word = form, np.arange(len(forms)) >= 2
    else:
        keys = np.stack([form, *(np.array(targets[name]) for name in names)])
        distinct, rows = np.unique(keys, axis=1, return_inverse=True)
        chains = priors.chains(forms)[distinct[0]]
        tables = {
            name: priors.best(
                name, chains, distinct[1 + names.index(name)] if name in names else None
            )
            for name in priors.counts
        }
        rows, is_word = rows.ravel(), distinct[0] >= 2
    for _, probabilities in tables.values():
        probabilities *= is_word[:, None]
    return rows, tables
