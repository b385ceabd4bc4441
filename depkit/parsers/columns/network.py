"""Classifiers of tags, FEATS and lemmas, their losses, and the means of several networks."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.attributes import AttributeLinear
from depkit.nn.biaffine import MLP
from depkit.nn.means import align_values, log_mean
from depkit.nn.soft_targets import SoftColumn, soft_cross_entropy
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.columns.lemmas import CANDIDATES
from depkit.parsers.columns.mean_scores import MeanScores
from depkit.parsers.columns.soft_targets import WEIGHT
from depkit.parsers.engine.device import PendingCopies, best_indices, fetch, send
from depkit.parsers.ensemble_config import Mean
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.context_vectors import share_transformers
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.vocabulary import Vocabulary

if TYPE_CHECKING:
    from depkit.parsers.base import Parser


class TagClassifiers(nn.ModuleDict):
    """An MLP and a linear layer for each predicted column.

    size: the size of the encoder's output vectors.
    """

    def __init__(self, size: int, config: TagScorer, vocabulary: Vocabulary) -> None:
        super().__init__(
            {
                name: nn.Sequential(
                    MLP(size, config.tag_hidden, config.dropout),
                    make_output(config, name, vocabulary.columns[name].symbols),
                )
                for name in config.tags
            }
        )

    def scores(self, encoded: Tensor) -> "ColumnScores":
        """Compute float32 logits of columns: [batch, length, size] -> [batch, length, value]."""
        return ColumnScores(
            {name: classifier(encoded).float() for name, classifier in self.items()}
        )


class ColumnScores(dict[str, Tensor]):
    """The logits of each predicted column of a batch, [batch, length, value]."""

    def best(self, unknown: np.ndarray | None) -> dict[str, Tensor]:
        """Find the best values.

        unknown: [2, words], row and position of the words whose lemmas are not in the dictionary;
        None without a dictionary.

        Returns the indices of the best values of each column, [batch, length]. With a dictionary,
        the lemmas are replaced by the candidates of unknown words: for each column, "COLUMN_best",
        the indices of the best values, and "COLUMN_score", their log-probabilities. Both are
        [words, CANDIDATES[column]] for the words of `unknown`; a column of few values has fewer.
        """
        if "lemma" not in self or unknown is None:
            return {name: best_indices(logits) for name, logits in self.items()}
        best = {name: best_indices(logits) for name, logits in self.items() if name != "lemma"}
        row, position = send(torch.from_numpy(unknown), self["lemma"].device)
        for name, logits in self.items():
            count = min(CANDIDATES[name], logits.shape[-1])
            chosen = logits[row, position].log_softmax(-1).topk(count)
            best[f"{name}_best"], best[f"{name}_score"] = chosen.indices, chosen.values
        return best

    def fetch_best(self, unknown: np.ndarray | None) -> PendingCopies:
        """Start copying the result of `best` to the host."""
        return fetch(self.best(unknown))


class MeanNetwork(MeanScores):
    """The networks of several parsers.

    The scores of all parsers are in memory at the same time. The activations of an encoder are
    freed before the next one runs, except those that the scores of labels need.
    """

    column_scores = ColumnScores

    def __init__(self, members: Sequence["Parser"], mean: Mean, vocabulary: Vocabulary) -> None:
        super().__init__(members, mean, vocabulary)
        networks = [member.network for member in members if not member.members]
        share_transformers([network.inputs.part("context") for network in networks])

    def make_indices(self, indices: list[int], member: "Parser") -> Tensor:
        return send(torch.tensor(indices), member.device)

    def align(self, scores: Tensor, indices: Tensor, size: int) -> Tensor:
        return align_values(scores, indices, size)

    def average(self, scores: Iterable[Tensor]) -> Tensor:
        return log_mean(scores, self.mean)


def make_output(config: TagScorer, column: str, symbols: Sequence[str]) -> nn.Module:
    """Make the last layer of the classifier of a column."""
    attributes = value_attributes(column, symbols) if config.shared_attributes else []
    if attributes:
        return AttributeLinear(config.tag_hidden, attributes)
    return nn.Linear(config.tag_hidden, len(symbols))


def value_attributes(column: str, symbols: Sequence[str]) -> list[list[str]]:
    """Return the attributes of each value of a column; [] if its values are not made of attributes.

    Those of FEATS are its features, those of XPOS its characters with their positions, which have a
    meaning of their own in positional tag sets.
    """
    if column == "feats":
        return [symbol.split("|") for symbol in symbols]
    if column == "xpos":
        return [[f"{i}{character}" for i, character in enumerate(symbol)] for symbol in symbols]
    return []


def tag_losses(logits: dict[str, Tensor], batch: Batch) -> list[Tensor]:
    """Compute the mean cross-entropy of each column, with gold targets and a teacher's.

    logits: [batch, length, value] for each column.
    """
    return [
        cross_entropy(scores, batch[f"target.{name}"], soft_column(batch, name))
        for name, scores in logits.items()
    ]


def soft_column(batch: Batch, name: str) -> SoftColumn | None:
    """Unpack and renormalise the distributions of a column; None if the batch has none."""
    if f"soft.{name}.values" not in batch:
        return None
    probabilities = batch[f"soft.{name}.probabilities"]
    total = probabilities.sum(-1, keepdim=True).clamp(min=1)
    indices = batch[f"soft.{name}.values"].long()
    return SoftColumn(indices, probabilities / total, batch[WEIGHT])


def cross_entropy(scores: Tensor, target: Tensor, soft: SoftColumn | None = None) -> Tensor:
    """Compute the mean cross-entropy over the targets that are not IGNORED; 0 if all are.

    Args:
        scores: Logits, [batch, length, value].
        target: The indices of the gold values, [batch, length].
        soft: The distributions of a teacher, which are mixed with the gold values.
    """
    if soft:
        return soft_cross_entropy(scores, target, soft, IGNORED)
    summed = functional.cross_entropy(
        scores.flatten(0, 1).float(), target.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return summed / (target != IGNORED).sum().clamp(min=1)
