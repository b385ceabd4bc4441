"""The biaffine parser (Dozat and Manning 2017) with a BiLSTM or self-attention encoder
(Li et al. 2019): the network, its loss and its scores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.biaffine import MLP, ArcScorer, LabelScorer
from depkit.nn.charlstm import CharLSTM
from depkit.nn.dropout import InputDropout, SharedDropout
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from depkit.parsers.batches import IGNORED, Batch
from depkit.parsers.config import Encoder, Inputs, ParserConfig
from depkit.parsers.vocabulary import UNKNOWN, Vocabulary


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


class InputLayer(nn.Module):
    """x_i = word, tag and characters of a token, concatenated (Eq. 2), with their dropout."""

    def __init__(self, config: Inputs, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.word = self.tag = self.char = None
        weights = []
        if config.word:
            self.word = nn.Embedding(len(vocabulary.words), config.word, padding_idx=0)
            weights.append(2.0)
        if config.tag:
            self.tag = nn.Embedding(len(vocabulary.tags), config.tag, padding_idx=0)
            nn.init.zeros_(self.tag.weight.data[UNKNOWN])  # never trained: each tag is known
            weights.append(1.0)
        if config.char:
            self.char = CharLSTM(
                len(vocabulary.characters), config.char_embedding, config.char,
                config.char_dropout,
            )  # fmt: skip
            nn.init.zeros_(self.char.embedding.weight.data[UNKNOWN])  # likewise
            weights.append(1.0)
        self.features = config.word + config.tag + config.char
        self.part_dropout = InputDropout(config.part_dropout, weights)

    def forward(self, batch: Batch) -> Tensor:
        """-> [batch, length, features]."""
        parts = []
        if self.word is not None:
            parts.append(self.word(batch.word))
        if self.tag is not None:
            parts.append(self.tag(batch.tag))
        if self.char is not None:
            forms = self.char(batch.characters, batch.form_sizes, batch.groups)
            parts.append(functional.embedding(batch.form, forms))
        return torch.cat(self.part_dropout(parts), dim=-1)


class BiaffineNetwork(nn.Module):
    """Inputs, encoder, arc and label scorers, and a classifier for each further column."""

    def __init__(self, config: ParserConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.inputs = InputLayer(config.inputs, vocabulary)
        self.input_dropout = SharedDropout(config.inputs.dropout)
        features = self.inputs.features
        self.projection: nn.Module = nn.Identity()
        if config.encoder.kind == "selfatt" and features != config.encoder.size:
            self.projection = nn.Linear(features, config.encoder.size)
            features = config.encoder.size
        self.encoder = make_encoder(config.encoder, features, config.inputs.dropout)
        size, dropout = self.encoder.features, config.scorer.dropout
        self.encoder_dropout = SharedDropout(dropout)
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
        return [
            self.arc_dependent, self.arc_head, self.label_dependent, self.label_head, self.columns,
        ]  # fmt: skip

    def encode(self, batch: Batch) -> Tensor:
        """-> [batch, length, encoder features]."""
        x = self.projection(self.inputs(batch))
        if not isinstance(self.encoder, SelfAttention):  # which drops after adding positions
            x = self.input_dropout(x)
        return self.encoder_dropout(self.encoder(x, batch.lengths))

    def arc_scores(self, encoded: Tensor, batch: Batch) -> Tensor:
        """[batch, dependent, head] in float32; a word is never its own head, nor padding one."""
        scores = self.arc(self.arc_dependent(encoded), self.arc_head(encoded)).float()
        place = torch.arange(scores.shape[1], device=scores.device)
        barred = (place >= batch.lengths[:, None])[:, None, :] | (place[:, None] == place)
        return scores.masked_fill(barred, float("-inf"))

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy of gold heads (Eq. 5), of labels at gold heads, and of tags."""
        encoded = self.encode(batch)
        # a broken treebank can make a word its own head; there is no such arc to learn
        place = torch.arange(encoded.shape[1], device=encoded.device)
        head = batch.head.masked_fill(batch.head == place, IGNORED)
        loss = _cross_entropy(self.arc_scores(encoded, batch), head)
        dependent, at_head = self.label_dependent(encoded), self.label_head(encoded)
        label = self.label(dependent, _pick(at_head, head.clamp(min=0)))
        known = batch.targets["deprel"].masked_fill(head == IGNORED, IGNORED)
        loss = loss + _cross_entropy(label, known)
        for name, classifier in self.columns.items():
            loss = loss + _cross_entropy(classifier(encoded), batch.targets[name])
        return loss

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch; labels are scored for the heads that `label_at` is given."""
        encoded = self.encode(batch)
        dependent, at_head = self.label_dependent(encoded), self.label_head(encoded)

        def label_at(heads: Tensor) -> Tensor:
            return self.label(dependent, _pick(at_head, heads)).float()

        columns = {name: each(encoded).float() for name, each in self.columns.items()}
        return Scores(self.arc_scores(encoded, batch), label_at, columns)


def make_encoder(config: Encoder, features: int, dropout: float) -> BiLSTM | SelfAttention:
    """The encoder that the configuration names. A new one is a new line here."""
    if config.kind == "bilstm":
        return BiLSTM(features, config.size, config.layers, config.dropout)
    return SelfAttention(
        features, config.layers, config.heads, config.head_size, config.feedforward,
        config.attention_dropout, config.feedforward_dropout, config.residual_dropout,
        dropout, config.positions, norm_first=config.norm_first,
    )  # fmt: skip


def _pick(x: Tensor, places: Tensor) -> Tensor:
    """x: [batch, length, features], places: [batch, length] -> the features at the places."""
    return x.gather(1, places.unsqueeze(-1).expand(-1, -1, x.shape[-1]))


def _cross_entropy(scores: Tensor, target: Tensor) -> Tensor:
    """Mean over the targets that count; 0 if none does (a batch without trees)."""
    total = functional.cross_entropy(
        scores.flatten(0, 1).float(), target.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return total / (target != IGNORED).sum().clamp(min=1)
