"""The network of the biaffine parser (Dozat and Manning 2017; Li et al. 2019)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from depkit.nn.biaffine import MLP, ArcScorer, LabelScorer
from depkit.nn.dropout import SharedDropout
from depkit.parsers.columns.soft_targets import LABEL_HEAD, soft_column
from depkit.parsers.config import BiaffineConfig
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.tagger.network import (
    TagClassifiers,
    cross_entropy,
    tag_losses,
)


@dataclass(frozen=True)
class Scores:
    """The scores of a batch."""

    arc: Tensor  # [batch, dependent, head], -inf where no arc is possible
    score_labels: Callable[[Tensor], Tensor]  # heads, [batch, length] -> [batch, length, label]
    columns: dict[str, Tensor]  # the other predicted columns, [batch, length, value]


class TagVectors(nn.ModuleDict):
    """The sum over the predicted tag columns of the expected vector of their value.

    The loss of the tree also trains the classifiers of the tags (stack-propagation, Zhang and Weiss
    2016; they pass on the hidden layer of the classifiers instead of these vectors).

    size: the size of the vectors; columns: the predicted columns; lemmas are not read.
    """

    def __init__(self, size: int, columns: Iterable[str], vocabulary: Vocabulary) -> None:
        super().__init__(
            {
                name: nn.Linear(len(vocabulary.columns[name]), size, bias=False)
                for name in columns
                if name != "lemma"
            }
        )

    def forward(self, logits: dict[str, Tensor]) -> Tensor:
        """Map logits, [batch, length, value] for each column, to [batch, length, size]."""
        return sum(table(logits[name].softmax(-1)) for name, table in self.items())


class BiaffineNetwork(ParserNetwork):
    """The input layer, the encoder, arc and label scorers, and a classifier for each column."""

    def __init__(
        self, config: BiaffineConfig, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        scorer = config.scorer
        super().__init__(config, vocabulary, transformer, scorer.dropout)
        reads_tags = bool(scorer.tag_vector and set(scorer.predict) - {"lemma"})
        size = self.size + scorer.tag_vector * reads_tags
        self.arc_dependent = MLP(size, scorer.arc, scorer.dropout)
        self.arc_head = MLP(size, scorer.arc, scorer.dropout)
        self.arc = ArcScorer(scorer.arc)
        self.label_dependent = MLP(size, scorer.label, scorer.dropout)
        self.label_head = MLP(size, scorer.label, scorer.dropout)
        self.label = LabelScorer(scorer.label, len(vocabulary.columns["deprel"]))
        self.columns = TagClassifiers(self.size, scorer, vocabulary)
        self.tag_vectors: TagVectors | None = None  # of predicted tags, if there are any
        if reads_tags:
            self.tag_vectors = TagVectors(scorer.tag_vector, scorer.predict, vocabulary)
        self.tag_dropout = SharedDropout(scorer.dropout)

    def word_vectors(self, encoded: Tensor, logits: dict[str, Tensor]) -> Tensor:
        """Append the vectors of predicted tags, if there are any, to the encoder's vectors."""
        if self.tag_vectors is None:
            return encoded
        tags = self.tag_dropout(self.tag_vectors(logits)).to(encoded.dtype)
        return torch.cat((encoded, tags), dim=-1)

    def arc_scores(self, words: Tensor, batch: Batch) -> Tensor:
        """Score arcs, [batch, dependent, head] float32, -inf on the diagonal and at padding."""
        scores = self.arc(self.arc_dependent(words), self.arc_head(words)).float()
        position = torch.arange(scores.shape[1], device=scores.device)
        is_padding = (position >= batch["lengths"][:, None])[:, None, :]
        impossible = is_padding | (position[:, None] == position)
        return scores.masked_fill(impossible, float("-inf"))

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch.

        It is the sum of the mean cross-entropies of gold heads (Li et al. 2019, Eq. 5), of
        labels at gold heads, and of tags. If the batch has soft targets, the distributions of a
        teacher are mixed in.
        """
        encoded = self.encode(batch)
        logits = self.columns.scores(encoded)
        loss = self._tree_loss(self.word_vectors(encoded, logits), batch)
        return sum(tag_losses(logits, batch), start=loss)

    def _tree_loss(self, words: Tensor, batch: Batch) -> Tensor:
        # In an invalid tree, a word can be its own head. Such an arc has no score.
        position = torch.arange(words.shape[1], device=words.device)
        gold = batch["target.head"]
        head = gold.masked_fill(gold == position, IGNORED)
        soft = soft_column(batch, "deprel")
        loss = cross_entropy(self.arc_scores(words, batch), head, soft_column(batch, "head"))
        dependent_vectors, head_vectors = self.label_dependent(words), self.label_head(words)
        label_head = head.clamp(min=0)
        ignored = head == IGNORED
        if soft is not None:
            # Labels are scored at the teacher's heads. The gold label is a target only at the gold
            # head.
            label_head = torch.where(soft.known, batch[LABEL_HEAD].long(), label_head)
            ignored = head != label_head
        label = self.label(dependent_vectors, _gather_vectors(head_vectors, label_head))
        target = batch["target.deprel"].masked_fill(ignored, IGNORED)
        return loss + cross_entropy(label, target, soft)

    def tag_scores(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the logits of each predicted column except DEPREL, [batch, length, value]."""
        return self.columns.scores(self.encode(batch))

    def score(self, batch: Batch) -> Scores:
        """Score a batch; `Scores.score_labels` scores labels when heads have been decoded."""
        encoded = self.encode(batch)
        logits = self.columns.scores(encoded)
        words = self.word_vectors(encoded, logits)
        dependent_vectors, head_vectors = self.label_dependent(words), self.label_head(words)

        def score_labels(heads: Tensor) -> Tensor:
            return self.label(dependent_vectors, _gather_vectors(head_vectors, heads)).float()

        return Scores(self.arc_scores(words, batch), score_labels, logits)


def _gather_vectors(x: Tensor, positions: Tensor) -> Tensor:
    """Gather the vectors of x, [batch, length, size], at positions, [batch, length]."""
    return x.gather(1, positions.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
