"""Ensembles of constituency parsers: the mean of the members' scores of each labelled span."""

from dataclasses import dataclass

import torch
from torch import Tensor

from depkit.parsers.constituency.decoding import Scores
from depkit.parsers.constituency.examples import COLUMN
from depkit.parsers.constituency.parser import ConstituencyParser
from depkit.parsers.engine.device import send
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.tagger.ensemble import TaggerEnsemble


@dataclass(repr=False)
class ConstituencyEnsemble(TaggerEnsemble, ConstituencyParser):
    """An ensemble of constituency parsers; `mean` concerns the probabilities of tags only."""

    def score(self, batch: list[Batch]) -> Scores:
        """Compute the mean scores of spans, and the logarithms of mean probabilities of columns.

        For a label that a member does not know, the score of its worst label counts.
        """
        scores = [member.score(part) for member, part in zip(self.members, batch, strict=True)]
        table = self.vocabulary.columns[COLUMN]
        indices = [
            torch.tensor(
                [table.indices[symbol] for symbol in member.vocabulary.columns[COLUMN].symbols]
            )
            for member in self.members
        ]

        def score_spans(*spans: Tensor) -> Tensor:
            total: Tensor | float = 0.0
            for member_scores, positions in zip(scores, indices, strict=True):
                labels = member_scores.score_spans(*spans)
                aligned = labels.amin(1, keepdim=True).repeat(1, len(table))
                aligned[:, send(positions, labels.device)] = labels
                total = total + aligned
            assert isinstance(total, Tensor)
            return total / len(scores)

        return Scores(score_spans, self.mean_columns([part.columns for part in scores]))
