"""A scorer of the arcs and labels of graphs in which a word has any number of heads."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.biaffine import MLP, ArcScorer, LabelScorer

INITIAL_BIAS = -3.0  # of arc logits; it is negative because most pairs of words have no arc


class GraphScorer(nn.Module):
    """Biaffine scorers of independent arcs, and of the labels of arcs (Dozat and Manning 2018).

    size: the size of the vectors of words; arc, label: the sizes of the MLPs under the scorers of
    arcs and of labels; labels: the number of labels.
    """

    def __init__(self, size: int, *, arc: int, label: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.arc_dependent = MLP(size, arc, dropout)
        self.arc_head = MLP(size, arc, dropout)
        self.arc = ArcScorer(arc)
        self.label_dependent = MLP(size, label, dropout)
        self.label_head = MLP(size, label, dropout)
        self.label = LabelScorer(label, labels)
        self.bias = nn.Parameter(torch.tensor(INITIAL_BIAS))

    def arc_scores(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Compute the logits of arcs, [batch, dependent, head]; -inf where no arc is possible.

        words: [batch, length, size]; lengths: [batch], w0 included.
        """
        arc = self.arc(self.arc_dependent(words), self.arc_head(words)) + self.bias
        position = torch.arange(arc.shape[1], device=arc.device)
        is_padding = position >= lengths[:, None]
        impossible = is_padding[:, None] | is_padding[..., None] | (position[:, None] == position)
        impossible[:, 0] = True  # The root has no head.
        return arc.float().masked_fill(impossible, float("-inf"))

    def loss(
        self, words: Tensor, lengths: Tensor, *, heads: Tensor, labels: Tensor, ignored: int
    ) -> Tensor:
        """Compute the loss: the binary cross-entropy of arcs, and the cross-entropy of labels.

        The cross-entropies are summed over the possible heads (arcs) and the gold heads (labels) of
        each word, and averaged over the words of the sentences that have gold heads.

        Args:
            words: [batch, length, size]
            lengths: [batch], w0 included.
            heads: [batch, length, number] The distinct gold heads of each word, then `ignored`.
            labels: [batch, length, number] The labels of the gold arcs; unknown ones are `ignored`.
            ignored: A number below 0.
        """
        scores = self.arc_scores(words, lengths)
        is_gold = heads != ignored
        used = is_gold.any(-1).any(-1)[:, None, None] & scores.isfinite()
        gold = torch.zeros_like(scores)
        gold.scatter_add_(2, heads.clamp(min=0), is_gold.to(gold.dtype))
        loss = functional.binary_cross_entropy_with_logits(
            scores[used], gold[used], reduction="sum"
        )
        row, dependent, number = is_gold.nonzero(as_tuple=True)
        label = self.label(
            self.label_dependent(words)[row, dependent][None],
            self.label_head(words)[row, heads[row, dependent, number]][None],
        )
        target = labels[row, dependent, number]
        loss = loss + functional.cross_entropy(
            label[0].float(), target, ignore_index=ignored, reduction="sum"
        )
        num_words = used.any(-1).sum().clamp(min=1)
        return loss / num_words
