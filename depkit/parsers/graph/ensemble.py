"""Ensembles of graph-based parsers, which average probabilities (Li et al. 2019, section 3.2)."""

from dataclasses import dataclass

from torch import Tensor

from depkit.parsers.graph.network import Scores
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.tagger.ensemble import TaggerEnsemble, log_mean


@dataclass(repr=False)
class GraphEnsemble(TaggerEnsemble, GraphParser):
    """An ensemble of graph-based parsers, with the decoder settings of the first member."""

    def score(self, batch: list[Batch]) -> Scores:
        """Compute the logarithms of the mean probabilities of arcs, labels and columns."""
        scores = [member.score(part) for member, part in zip(self.members, batch, strict=True)]

        def score_mean_labels(heads: Tensor) -> Tensor:
            labels = [member_scores.score_labels(heads) for member_scores in scores]
            return self.mean_column("deprel", labels)

        arc = log_mean((member_scores.arc for member_scores in scores), self.mean)
        columns = self.mean_columns([member_scores.columns for member_scores in scores])
        return Scores(arc, score_mean_labels, columns)
