"""The means of the scores of several exported networks.

The functions are those of `nn.means` for arrays, and the class is that of `columns.network`.
"""

import math
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from depkit.parsers.columns.arrays import ColumnArrays, log_softmax
from depkit.parsers.ensemble_config import Mean
from depkit.parsers.inputs.vocabulary import Vocabulary

if TYPE_CHECKING:
    from depkit.parsers.base import Parser

MIN_PROBABILITY = 1e-10  # as in `nn.means`


def log_mean(scores: Iterable[np.ndarray], mean: Mean, *, is_padded: bool = False) -> np.ndarray:
    """Compute the normalised logarithm of the mean of softmax(scores), as `nn.means.log_mean`.

    is_padded: as for `log_softmax`.
    """
    combine = np.logaddexp if mean == "arithmetic" else np.add
    logarithms = [log_softmax(network_scores, is_padded=is_padded) for network_scores in scores]
    combined = reduce(combine, logarithms)
    if mean == "geometric":
        combined = combined / len(logarithms)
    return log_softmax(combined, is_padded=is_padded)


def align_values(scores: np.ndarray, indices: np.ndarray, size: int) -> np.ndarray:
    """Convert logits of some values to logarithms of probabilities, as `nn.means.align_values`."""
    shape = (*scores.shape[:-1], size)
    aligned = np.full(shape, math.log(MIN_PROBABILITY), dtype=np.float32)
    aligned[..., indices] = log_softmax(scores)
    return aligned


class MeanArrays:
    """The exported networks of several parsers of a family, whose probabilities are averaged.

    A batch is a list of one batch for each parser. Labels and tags are matched by name; a column is
    averaged over the parsers that predict it.
    """

    transformer = None

    def __init__(self, members: Sequence["Parser"], mean: Mean, vocabulary: Vocabulary) -> None:
        self.networks: list[Any] = [member.network for member in members]
        self.mean: Mean = mean
        tables = vocabulary.columns
        self.sizes = {name: len(table) for name, table in tables.items()}
        self.indices = [
            {
                name: np.array([tables[name].indices[x] for x in table.symbols], dtype=np.int64)
                for name, table in member.vocabulary.columns.items()
                if name in tables
            }
            for member in members
        ]

    def scores_of(self, batch: Sequence[Any]) -> list[Any]:
        """Score the batch of each network."""
        return [network.score(part) for network, part in zip(self.networks, batch, strict=True)]

    def tag_scores(self, batch: Sequence[Any]) -> ColumnArrays:
        """Compute the logarithms of the mean probabilities of each predicted column."""
        pairs = zip(self.networks, batch, strict=True)
        return self.mean_columns([network.tag_scores(part) for network, part in pairs])

    def mean_columns(self, scores: Sequence[ColumnArrays]) -> ColumnArrays:
        """Average the scores of each column; scores: those of each parser."""
        names = dict.fromkeys(name for member_scores in scores for name in member_scores)
        return ColumnArrays(
            {name: self.mean_column(name, [part.get(name) for part in scores]) for name in names}
        )

    def mean_column(self, column: str, scores: Sequence[np.ndarray | None]) -> np.ndarray:
        """Return the logarithms of mean probabilities, [..., value].

        scores: the logits of each parser over its own values; None if it has none.
        """
        return log_mean(
            [
                align_values(member_scores, indices[column], self.sizes[column])
                for indices, member_scores in zip(self.indices, scores, strict=True)
                if member_scores is not None
            ],
            self.mean,
        )
