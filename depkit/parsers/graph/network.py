"""The biaffine parser (Dozat and Manning 2017) with a BiLSTM or self-attention encoder
(Li et al. 2019): the network, its loss and its scores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.biaffine import MLP, ArcScorer, LabelScorer
from depkit.nn.dropout import SharedDropout
from depkit.nn.factored import Factored
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from depkit.parsers.config import Encoder, ParserConfig
from depkit.parsers.inputs.batches import IGNORED, Batch
from depkit.parsers.inputs.layer import InputLayer
from depkit.parsers.inputs.soft_targets import Soft, soft_cross_entropy
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary


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


class BiaffineNetwork(nn.Module):
    """Inputs, encoder, arc and label scorers, and a classifier for each further column.

    A tagger (scorer.tree is false) has no arc and label scorers. transformer: where
    inputs.context.source asks for one.
    """

    def __init__(
        self, config: ParserConfig, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        super().__init__()
        self.inputs = InputLayer(config.inputs, vocabulary, transformer)
        features = self.inputs.features
        self.projection: nn.Module = nn.Identity()
        attends = config.encoder.kind in ("selfatt", "factored")
        if attends and features != config.encoder.size:
            self.projection = nn.Linear(features, config.encoder.size)
            features = config.encoder.size
        # an encoder that adds positions drops after that
        self.input_dropout = SharedDropout(0.0 if attends else config.inputs.dropout)
        self.encoder = make_encoder(config.encoder, features, config.inputs.dropout)
        size, dropout = self.encoder.features, config.scorer.dropout
        self.encoder_dropout = SharedDropout(dropout)
        self.tree = config.scorer.tree
        if self.tree:
            self.arc_dependent = MLP(size, config.scorer.arc, dropout)
            self.arc_head = MLP(size, config.scorer.arc, dropout)
            self.arc = ArcScorer(config.scorer.arc)
            self.label_dependent = MLP(size, config.scorer.label, dropout)
            self.label_head = MLP(size, config.scorer.label, dropout)
            self.label = LabelScorer(config.scorer.label, len(vocabulary.columns["deprel"]))
        self.columns = nn.ModuleDict(
            {
                name: nn.Sequential(
                    MLP(size, config.scorer.tag_hidden, dropout),
                    nn.Linear(config.scorer.tag_hidden, len(vocabulary.columns[name])),
                )
                for name in config.scorer.predict
            }
        )

    def mlps(self) -> list[nn.Module]:
        """The layers between the encoder and the scorers, and the columns' classifiers."""
        if not self.tree:
            return [self.columns]
        return [
            self.arc_dependent, self.arc_head, self.label_dependent, self.label_head, self.columns,
        ]  # fmt: skip

    @property
    def transformer(self) -> Transformer | None:
        """What gives contextual vectors, frozen or trained, if anything does."""
        context = self.inputs.context
        return context.transformer if context is not None else None

    def encode(self, batch: Batch) -> Tensor:
        """-> [batch, length, encoder features]."""
        x = self.input_dropout(self.projection(self.inputs(batch)))
        return self.encoder_dropout(self.encoder(x, batch.lengths))

    def arc_scores(self, encoded: Tensor, batch: Batch) -> Tensor:
        """[batch, dependent, head] in float32; a word is never its own head, nor padding one."""
        scores = self.arc(self.arc_dependent(encoded), self.arc_head(encoded)).float()
        place = torch.arange(scores.shape[1], device=scores.device)
        barred = (place >= batch.lengths[:, None])[:, None, :] | (place[:, None] == place)
        return scores.masked_fill(barred, float("-inf"))

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy of gold heads (Eq. 5), of labels at gold heads, and of tags; of a
        teacher's heads, labels and tags, where the batch has them."""
        encoded = self.encode(batch)
        loss = self._tree_loss(encoded, batch) if self.tree else encoded.new_zeros(())
        for name, classifier in self.columns.items():
            loss = loss + _cross_entropy(
                classifier(encoded), batch.targets[name], _soft_of(batch, name)
            )
        return loss

    def _tree_loss(self, encoded: Tensor, batch: Batch) -> Tensor:
        # a broken treebank can make a word its own head; there is no such arc to learn
        place = torch.arange(encoded.shape[1], device=encoded.device)
        head = batch.head.masked_fill(batch.head == place, IGNORED)
        soft = _soft_of(batch, "deprel")
        loss = _cross_entropy(self.arc_scores(encoded, batch), head, _soft_of(batch, "head"))
        dependent, at_head = self.label_dependent(encoded), self.label_head(encoded)
        labelled = head.clamp(min=0)
        unknown = head == IGNORED
        if batch.soft and soft:
            labelled = torch.where(soft.known, batch.soft.label_head, labelled)
            unknown = head != labelled  # a gold relation is that of the gold head alone
        label = self.label(dependent, _pick(at_head, labelled))
        known = batch.targets["deprel"].masked_fill(unknown, IGNORED)
        return loss + _cross_entropy(label, known, soft)

    def tag_scores(self, batch: Batch) -> dict[str, Tensor]:
        """The scores of the columns beside the tree, [batch, length, value] each."""
        encoded = self.encode(batch)
        return {name: each(encoded).float() for name, each in self.columns.items()}

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch; labels are scored for the heads that `label_at` is given."""
        encoded = self.encode(batch)
        dependent, at_head = self.label_dependent(encoded), self.label_head(encoded)

        def label_at(heads: Tensor) -> Tensor:
            return self.label(dependent, _pick(at_head, heads)).float()

        columns = {name: each(encoded).float() for name, each in self.columns.items()}
        return Scores(self.arc_scores(encoded, batch), label_at, columns)


class NoEncoder(nn.Module):
    """Inputs that are contextual already go straight to the scorers."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], as it is returned."""
        return x


def make_encoder(
    config: Encoder, features: int, dropout: float
) -> BiLSTM | SelfAttention | Factored | NoEncoder:
    """The encoder that the configuration names. A new one is a new line here."""
    if config.kind == "bilstm":
        return BiLSTM(
            features, config.size, config.layers, config.dropout, config.recurrent_dropout
        )
    if config.kind == "none":
        return NoEncoder(features)
    make = Factored if config.kind == "factored" else SelfAttention
    encoder = make(
        features, config.layers, config.heads, config.head_size, config.feedforward,
        config.attention_dropout, config.feedforward_dropout, config.residual_dropout,
        dropout, config.positions, norm_first=config.norm_first,
        window=config.window, relaxed=config.relaxed,
    )  # fmt: skip
    if isinstance(encoder, Factored):
        encoder.attend = config.attend
    return encoder


def _pick(x: Tensor, places: Tensor) -> Tensor:
    """x: [batch, length, features], places: [batch, length] -> the features at the places."""
    return x.gather(1, places.unsqueeze(-1).expand(-1, -1, x.shape[-1]))


def _soft_of(batch: Batch, column: str) -> Soft | None:
    return batch.soft.columns.get(column) if batch.soft else None


def _cross_entropy(scores: Tensor, target: Tensor, soft: Soft | None = None) -> Tensor:
    """Mean over the targets that count; 0 if none does (a batch without trees)."""
    if soft:
        return soft_cross_entropy(scores, target, soft, IGNORED)
    total = functional.cross_entropy(
        scores.flatten(0, 1).float(), target.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return total / (target != IGNORED).sum().clamp(min=1)
