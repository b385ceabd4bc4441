"""Graph parsers combined: the tree of their mean probabilities (Li et al. 2019, section 3.2)."""

from dataclasses import dataclass

from torch import Tensor

from depkit.parsers.graph.network import Scores
from depkit.parsers.graph.parser import GraphParser
from depkit.parsers.inputs.batches import Batch
from depkit.parsers.tagger.ensemble import TaggerEnsemble, log_mean


@dataclass(repr=False)
class GraphEnsemble(TaggerEnsemble, GraphParser):
    """A graph parser made of graph parsers; its decoder is the first one's."""

    def score(self, batch: list[Batch]) -> Scores:
        """The logarithms of mean probabilities."""
        scores = [member.score(each) for member, each in zip(self.members, batch, strict=True)]

        def mean_label_at(heads: Tensor) -> Tensor:
            return self.mean_column("deprel", [each.label_at(heads) for each in scores])

        arc = log_mean((each.arc for each in scores), self.mean)
        return Scores(arc, mean_label_at, self.mean_columns([each.columns for each in scores]))
