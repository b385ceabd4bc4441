"""The biaffine parser (Dozat and Manning 2017; Li et al. 2019): the network, its loss and its
scores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from depkit.nn.biaffine import MLP, ArcScorer, LabelScorer
from depkit.parsers.config import BiaffineConfig
from depkit.parsers.inputs.batches import IGNORED, Batch
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.tagger.network import TagClassifiers, cross_entropy, soft_of


@dataclass(frozen=True)
class Scores:
    """Scores of a batch.

    arc: [batch, dependent, head], -inf where there can be no arc.
    label_at: heads [batch, length] -> [batch, length, label]; columns: the scores of the
    other predicted columns, [batch, length, value] each.
    """

    arc: Tensor
    label_at: Callable[[Tensor], Tensor]
    columns: dict[str, Tensor]


class BiaffineNetwork(ParserNetwork):
    """Inputs, encoder, arc and label scorers, and a classifier for each further column."""

    def __init__(
        self, config: BiaffineConfig, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        scorer = config.scorer
        super().__init__(config, vocabulary, transformer, scorer.dropout)
        self.arc_dependent = MLP(self.size, scorer.arc, scorer.dropout)
        self.arc_head = MLP(self.size, scorer.arc, scorer.dropout)
        self.arc = ArcScorer(scorer.arc)
        self.label_dependent = MLP(self.size, scorer.label, scorer.dropout)
        self.label_head = MLP(self.size, scorer.label, scorer.dropout)
        self.label = LabelScorer(scorer.label, len(vocabulary.columns["deprel"]))
        self.columns = TagClassifiers(self.size, scorer, vocabulary)

    def arc_scores(self, encoded: Tensor, batch: Batch) -> Tensor:
        """[batch, dependent, head] in float32; a word is never its own head, nor padding one."""
        scores = self.arc(self.arc_dependent(encoded), self.arc_head(encoded)).float()
        position = torch.arange(scores.shape[1], device=scores.device)
        is_padding = (position >= batch.lengths[:, None])[:, None, :]
        impossible = is_padding | (position[:, None] == position)
        return scores.masked_fill(impossible, float("-inf"))

    def forward(self, batch: Batch) -> Tensor:
        """Mean cross-entropy of gold heads (Eq. 5), of labels at gold heads, and of tags; of a
        teacher's heads, labels and tags, where the batch has them."""
        encoded = self.encode(batch)
        loss = self._tree_loss(encoded, batch)
        return sum(self.columns.losses(encoded, batch), start=loss)

    def _tree_loss(self, encoded: Tensor, batch: Batch) -> Tensor:
        # A broken treebank can make a word its own head; there is no such arc to learn.
        position = torch.arange(encoded.shape[1], device=encoded.device)
        gold = batch.targets["head"]
        head = gold.masked_fill(gold == position, IGNORED)
        soft = soft_of(batch, "deprel")
        loss = cross_entropy(self.arc_scores(encoded, batch), head, soft_of(batch, "head"))
        dependent, at_head = self.label_dependent(encoded), self.label_head(encoded)
        labelled = head.clamp(min=0)
        unknown = head == IGNORED
        if batch.soft and soft:
            labelled = torch.where(soft.known, batch.soft.label_head, labelled)
            unknown = head != labelled  # a gold relation is that of the gold head alone
        label = self.label(dependent, _pick(at_head, labelled))
        known = batch.targets["deprel"].masked_fill(unknown, IGNORED)
        return loss + cross_entropy(label, known, soft)

    def tag_scores(self, batch: Batch) -> dict[str, Tensor]:
        """The scores of the columns beside the tree, [batch, length, value] each."""
        return self.columns.scores(self.encode(batch))

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch; labels are scored for the heads that `label_at` is given."""
        encoded = self.encode(batch)
        dependent, at_head = self.label_dependent(encoded), self.label_head(encoded)

        def label_at(heads: Tensor) -> Tensor:
            return self.label(dependent, _pick(at_head, heads)).float()

        columns = self.columns.scores(encoded)
        return Scores(self.arc_scores(encoded, batch), label_at, columns)


def _pick(x: Tensor, positions: Tensor) -> Tensor:
    """x: [batch, length, features], positions: [batch, length] -> the features at these."""
    return x.gather(1, positions.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
