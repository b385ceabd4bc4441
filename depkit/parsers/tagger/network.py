"""The network of a tagger: classifiers of tags, FEATS and lemmas."""

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.attributes import AttributeLinear
from depkit.nn.biaffine import MLP
from depkit.parsers.columns.soft_targets import SoftColumn, soft_column, soft_cross_entropy
from depkit.parsers.config import TaggerConfig, TagScorer
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import IGNORED
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork


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
                for name in config.predict
            }
        )

    def scores(self, encoded: Tensor) -> dict[str, Tensor]:
        """Compute float32 logits of columns: [batch, length, size] -> [batch, length, value]."""
        return {name: classifier(encoded).float() for name, classifier in self.items()}


class TaggerNetwork(ParserNetwork):
    """The input layer, the encoder, and a classifier for each predicted column."""

    def __init__(
        self, config: TaggerConfig, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        super().__init__(config, vocabulary, transformer, config.scorer.dropout)
        self.columns = TagClassifiers(self.size, config.scorer, vocabulary)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the loss of a batch: the sum of the losses of all columns."""
        encoded = self.encode(batch)
        losses = tag_losses(self.columns.scores(encoded), batch)
        return sum(losses, start=encoded.new_zeros(()))

    def tag_scores(self, batch: Batch) -> dict[str, Tensor]:
        """Compute the logits of each predicted column, [batch, length, value]."""
        return self.columns.scores(self.encode(batch))


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
