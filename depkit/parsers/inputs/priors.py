"""The input of the tags of a form: probabilities of values that are estimated from a treebank.

A form is looked up as it is written, in lower case, and by its endings. The estimate of a longer
ending is interpolated with that of the shorter one (as in TnT, Brants 2000, section 2.3, which uses
the endings of rare words only). A node is the set of all words, of the words with an ending, with a
lower-case form, or with a form.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.corpus.letter_case import lower
from depkit.parsers.columns.lemma_dictionary import LemmaDictionary
from depkit.parsers.inputs.append_rows import append_rows
from depkit.parsers.inputs.part import EncodingInput, Part, Rows, SelectedRows
from depkit.parsers.inputs.tables import Table

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary

LONGEST_ENDING = 5  # characters
NUM_VALUES = 8  # number of values that are kept for a form
# Weights of interpolation, in words: of the shorter ending in the estimate of a longer one, and of
# the endings in the estimate of a form
ENDING_WEIGHT, FORM_WEIGHT = 6.0, 1.0
FOLDS = 10  # parts of the training words, see `encode_priors`
_FORMS_AT_ONCE = 1000
MAX_FORMS = 50_000  # the cache is emptied when it has more forms
_LEVELS = LONGEST_ENDING + 3
NO_NODE = ""  # stands for an ending that is longer than the form
# Several threads may parse at the same time. Look-ups are short, so that all parsers share a lock;
# with a lock of its own, a parser could not be copied.
_LOCK = Lock()
_MEMO = "priors"  # the key in `Vocabulary.memo`
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

    def distributions(self, chains: np.ndarray) -> np.ndarray:
        """Compute the distributions of forms, [forms, values].

        Forms share the computation for the nodes with which their chains begin.

        chains: the nodes of the forms, from `Priors.chains`; only adjacent forms share.
        """
        result = np.full((1, self.size), 1 / self.size, dtype=np.float32)
        row = np.zeros(len(chains), dtype=np.int64)  # of each form, in the result
        for level in range(_LEVELS):
            first, next_row = _number_runs(chains[:, : level + 1])
            if len(first) > len(result):
                result = result[row[first]]
            row, nodes = next_row, chains[first, level]
            known = np.flatnonzero(nodes >= 0)
            rows, values, counts = self.entries(nodes)
            weight = FORM_WEIGHT if level > LONGEST_ENDING else ENDING_WEIGHT
            totals = np.bincount(rows, counts, len(result)).astype(np.float32) + weight
            result[known] *= (weight / totals[known])[:, None]
            result[rows, values] += counts / totals[rows]
        return result[row]

    def best(self, chains: np.ndarray) -> "Best":
        """Find the most likely values of forms; chains: the nodes of the forms."""
        order = np.lexsort(chains.T[::-1])
        first, row = _number_runs(chains[order])
        distinct = chains[order[first]]
        kept = min(NUM_VALUES, self.size)
        indices = np.zeros((len(distinct), kept), dtype=np.int64)
        probabilities = np.zeros((len(distinct), kept), dtype=np.float32)
        for start in range(0, len(distinct), _FORMS_AT_ONCE):
            part = slice(start, start + _FORMS_AT_ONCE)
            all_values = self.distributions(distinct[part])
            indices[part] = np.argpartition(-all_values, kept - 1, axis=1)[:, :kept]
            probabilities[part] = np.take_along_axis(all_values, indices[part], axis=1)
        row[order] = row.copy()
        return indices[row], probabilities[row]


def _number_runs(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find runs of equal rows: the index of the first row of each, and for each row its run.

    rows: [rows, values].
    """
    differs = np.ones(len(rows), dtype=np.bool_)
    differs[1:] = (rows[1:] != rows[:-1]).any(1)
    return np.flatnonzero(differs), differs.cumsum() - 1


@dataclass(frozen=True)
class Occurrences:
    """How often forms occur with the values of a column; pairs of a form and a value.

    A form is known by its nodes, the last of which is that of the form itself.
    """

    chains: np.ndarray  # [pairs, levels], the nodes of the form
    value: np.ndarray  # [pairs], the index of the value
    number: np.ndarray  # [pairs]
    size: int  # number of values of the column

    def count(self, num_nodes: int) -> ColumnCounts:
        """Count the values at nodes. At endings, each form counts once, at forms each occurrence.

        Pairs that occur several times are added up; those whose sum is 0 or less do not count.
        """
        keys = self.chains[:, -1] * self.size + self.value
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        number = np.bincount(inverse, self.number, len(first))
        first, number = first[number > 0], number[number > 0]
        chains, value = self.chains[first], self.value[first]
        weights = np.ones(chains.shape)
        weights[:, -2:] = number[:, None]
        weights[chains < 0] = 0
        keys = (chains * self.size + value[:, None]).ravel()
        distinct, inverse = np.unique(keys, return_inverse=True)
        sums = np.bincount(inverse, weights.ravel(), len(distinct)).astype(np.float32)
        distinct, sums = distinct[sums > 0], sums[sums > 0]
        starts = np.searchsorted(distinct, np.arange(num_nodes + 1) * self.size)
        return ColumnCounts(starts, distinct % self.size, sums, self.size)

    def without(self, chains: np.ndarray, value: np.ndarray) -> "Occurrences":
        """Leave words out, each with the nodes of its form and the index of its value."""
        known = (chains[:, -1] >= 0) & (value >= 0)
        return Occurrences(
            np.concatenate((self.chains, chains[known])),
            np.concatenate((self.value, value[known])),
            np.concatenate((self.number, np.full(known.sum(), -1))),
            self.size,
        )


# For some forms, the indices of their most likely values and the probabilities of these, both
# [forms, at most NUM_VALUES]
Best = tuple[np.ndarray, np.ndarray]
Tables = dict[str, Best]  # for each column


class Priors:
    """The distributions of the values of columns for any form.

    Args:
        dictionary: The analyses of the forms of a treebank.
        columns: The values of each predicted column.
    """

    def __init__(self, dictionary: LemmaDictionary, columns: dict[str, Table]) -> None:
        self.dotless = dictionary.dotless
        self._rows: dict[str, int] = {}  # of the forms in the cache
        self._cache: Tables = {}
        self.nodes: dict[str, int] = {}  # for the name of a node, its number
        levels = list(_name_nodes(dictionary.forms, self.dotless))
        for names in levels:
            distinct = [name for name in dict.fromkeys(names) if name != NO_NODE]
            self.nodes.update(zip(distinct, count(len(self.nodes)), strict=False))
        chains = self._find_nodes(levels)
        flat = list(dictionary.forms.values())
        sizes = np.array([len(readings) // 3 for readings in flat], dtype=np.int64)
        triples = np.array([n for readings in flat for n in readings], dtype=np.int64)
        tags, _, number = triples.reshape(-1, 3).T
        form = np.repeat(np.arange(len(flat)), sizes)
        self.occurrences = {}
        for name, table in columns.items():
            if name in _COLUMNS:
                symbols = [reading[_COLUMNS[name]] for reading in dictionary.tags]
                indices = [table.indices.get(symbol, -1) for symbol in symbols]
                value = np.array(indices, dtype=np.int64)[tags]
                known = value >= 0
                self.occurrences[name] = Occurrences(
                    chains[form[known]], value[known], number[known], len(table)
                )
        self.counts = {
            name: pairs.count(len(self.nodes)) for name, pairs in self.occurrences.items()
        }

    def chains(self, forms: Sequence[str]) -> np.ndarray:
        """Find the nodes of forms, [forms, levels]; -1 stands for a node that does not exist."""
        return self._find_nodes(_name_nodes(forms, self.dotless))

    def _find_nodes(self, levels: Iterable[Sequence[str]]) -> np.ndarray:
        """Find nodes by their names at each level, as `chains` returns them."""
        chains = [list(map(self.nodes.get, names, repeat(-1))) for names in levels]
        return np.array(chains, dtype=np.int64).T

    def look_up(self, forms: Sequence[str]) -> Tables:
        """Return the best values of forms in all columns, from a cache as far as possible."""
        with _LOCK:
            if len(self._rows) > MAX_FORMS:
                self._rows, self._cache = {}, {}
            self._add([form for form in dict.fromkeys(forms) if form not in self._rows])
            rows = [self._rows[form] for form in forms]
            return {
                name: (values[rows], probabilities[rows])
                for name, (values, probabilities) in self._cache.items()
            }

    def _add(self, forms: Sequence[str]) -> None:
        """Add forms to the cache. The first rows become the table."""
        used, chains = len(self._rows), self.chains(forms)
        for name, counts in self.counts.items():
            new = counts.best(chains)
            values, probabilities = self._cache.get(name, new)
            self._cache[name] = (
                append_rows(values, used, new[0]),
                append_rows(probabilities, used, new[1]),
            )
        self._rows |= {form: row for row, form in enumerate(forms, start=used)}


def _name_nodes(forms: Collection[str], dotless: bool) -> Iterator[list[str]]:
    """Name the nodes of forms: all words, endings by growing length, lower case, the form.

    An ending that is longer than the form is NO_NODE. Endings of words in lower case differ from
    those of other words. Yields, for each level, the names of the nodes of all forms.
    """
    lows = [lower(form, dotless) for form in forms]
    kinds = ["l" if form == low else "o" for form, low in zip(forms, lows, strict=True)]
    yield kinds
    for size in range(1, LONGEST_ENDING + 1):
        yield [
            kind + low[-size:] if len(low) >= size else NO_NODE
            for kind, low in zip(kinds, lows, strict=True)
        ]
    yield [f"w{low}" for low in lows]
    yield [f"f{form}" for form in forms]


def encode_priors(
    priors: Priors,
    forms: Sequence[str],
    form: np.ndarray,
    targets: dict[str, np.ndarray],
) -> tuple[np.ndarray, Tables]:
    """Compute the distributions of the words of a dataset.

    The words with gold values, which were counted, are divided into FOLDS parts of consecutive
    words. For each word its part is left out of the counts; so they are as incomplete in training
    as they are for other texts.

    Args:
        priors: The counts.
        forms: The distinct forms; the first two are the keys of padding and w0.
        form: [total], for each entry of the dataset its form.
        targets: The gold values of the entries, negative for those that have none; {} if no entry
            has one.

    Returns:
        For each entry the index of a row, [total], and for each column the rows. The probabilities
        of padding and w0 are zeros.
    """
    gold = {name: targets[name] for name in priors.counts if name in targets}
    if not gold:
        tables = priors.look_up(forms)
        for _, probabilities in tables.values():
            probabilities[:2] = 0
        return form, tables
    counted = np.flatnonzero(np.stack(list(gold.values())).max(0) >= 0)
    fold = np.zeros(len(form), dtype=np.int64)  # 0: the entries without gold values
    fold[counted] = 1 + np.arange(len(counted)) * FOLDS // max(1, len(counted))
    keys, rows = np.unique(fold * len(forms) + form, return_inverse=True)
    chains = priors.chains(forms)
    fold_of_row, form_of_row = keys // len(forms), keys % len(forms)
    tables = {}
    for name, pairs in priors.occurrences.items():
        parts = []
        for number in np.unique(fold_of_row):
            counts = priors.counts[name]
            if number and name in gold:
                left_out = fold == number
                rest = pairs.without(chains[form[left_out]], gold[name][left_out])
                counts = rest.count(len(priors.nodes))
            parts.append(counts.best(chains[form_of_row[fold_of_row == number]]))
        values, probabilities = map(np.concatenate, zip(*parts, strict=True))
        tables[name] = values, probabilities * (form_of_row >= 2)[:, None]
    return rows, tables


@dataclass(frozen=True)
class PriorSettings:
    """The settings of section inputs for the tags of forms."""

    # size of a vector of the probabilities that tags and FEATS have for the word regardless of its
    # context, estimated from the words of train with the same form or the same endings
    prior: int = 0


class Prior(Part):
    """Vectors of the tags that a form has regardless of its context."""

    settings = PriorSettings
    inputs: PriorSettings
    name = main_setting = "prior"
    group = "prior"
    reads_dictionary = True
    depends_on_form = True

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        priors = get_priors(vocabulary)
        row, tables = encode_priors(priors, source.forms, source.form, source.targets)
        arrays: dict[str, Rows] = {}
        for name, (values, probabilities) in tables.items():
            arrays[f"prior.{name}.values"] = SelectedRows(values, row)
            arrays[f"prior.{name}.probabilities"] = SelectedRows(probabilities, row)
        return arrays

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from depkit.nn.expectation import ExpectedVectors

        sizes = {name: len(table) for name, table in vocabulary.columns.items() if name in _COLUMNS}
        return ExpectedVectors(sizes, self.size)

    def vectors(self, module: Any, batch: Any) -> Any:
        columns = {
            name: (batch[f"prior.{name}.values"], batch[f"prior.{name}.probabilities"])
            for name in module.tables
        }
        return module(columns, batch["form"])

    def describe(self) -> str:
        return "tags of the form and its endings in train"


def get_priors(vocabulary: "Vocabulary") -> Priors:
    """Return the distributions of the values of columns, which a vocabulary keeps."""
    assert vocabulary.lemmas is not None
    if _MEMO not in vocabulary.memo:
        vocabulary.memo[_MEMO] = Priors(vocabulary.lemmas, vocabulary.columns)
    priors: Priors = vocabulary.memo[_MEMO]
    return priors
