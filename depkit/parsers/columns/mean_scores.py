"""The mean of the scores of several parsers, whatever engine runs them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from depkit.parsers.ensemble_config import Mean
from depkit.parsers.inputs.vocabulary import Vocabulary

if TYPE_CHECKING:
    from depkit.parsers.base import Parser


class MeanScores(ABC):
    """Several parsers of a family, whose probabilities are averaged.

    A batch is a list of one batch for each parser. Labels and tags are matched by name; a column is
    averaged over the parsers that predict it. The arrays of scores are those of the engine.
    """

    column_scores: ClassVar[type]  # the scores of columns by name

    def __init__(self, members: Sequence["Parser"], mean: Mean, vocabulary: Vocabulary) -> None:
        self.engines = [member.engine for member in members]
        self.mean: Mean = mean
        tables = vocabulary.columns
        self.sizes = {name: len(table) for name, table in tables.items()}
        self.indices = [
            {
                name: self.make_indices([tables[name].indices[x] for x in table.symbols], member)
                for name, table in member.vocabulary.columns.items()
                if name in tables
            }
            for member in members
        ]

    @abstractmethod
    def make_indices(self, indices: list[int], member: "Parser") -> Any:
        """Convert indices to an array of the member's engine."""

    @abstractmethod
    def align(self, scores: Any, indices: Any, size: int) -> Any:
        """Convert logits of the values of a parser; see `nn.means.align_values`."""

    @abstractmethod
    def average(self, scores: Iterable[Any]) -> Any:
        """Compute the logarithm of mean probabilities; see `nn.means.log_mean`."""

    def scores_of(self, batch: Sequence[Any]) -> list[Any]:
        """Score the batch of each parser."""
        return [engine.score(part) for engine, part in zip(self.engines, batch, strict=True)]

    def tag_scores(self, batch: Sequence[Any]) -> Any:
        """Compute the logarithms of the mean probabilities of each predicted column."""
        pairs = zip(self.engines, batch, strict=True)
        return self.mean_columns([engine.tag_scores(part) for engine, part in pairs])

    def mean_columns(self, scores: Sequence[Any]) -> Any:
        """Average the scores of each column; scores: those of each parser."""
        names = dict.fromkeys(name for member_scores in scores for name in member_scores)
        return self.column_scores(
            {name: self.mean_column(name, [part.get(name) for part in scores]) for name in names}
        )

    def mean_column(self, column: str, scores: Sequence[Any]) -> Any:
        """Return the logarithms of mean probabilities, [..., value].

        scores: the logits of each parser over its own values; None if it has none.
        """
        return self.average(
            self.align(member_scores, indices[column], self.sizes[column])
            for indices, member_scores in zip(self.indices, scores, strict=True)
            if member_scores is not None
        )
