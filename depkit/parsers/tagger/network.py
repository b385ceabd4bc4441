"""The network of a tagger: classifiers of tags, FEATS and lemmas."""

from torch import Tensor

from depkit.parsers.columns.network import ColumnScores, TagClassifiers, tag_losses
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.network import ParserNetwork
from depkit.parsers.tagger.config import TaggerConfig


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

    def tag_scores(self, batch: Batch) -> ColumnScores:
        return self.columns.scores(self.encode(batch))

    def score_graph(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Compute the logits of columns, [batch, length, value]."""
        encoded = self.encode_vectors(vectors, lengths)[:, : vectors.shape[1]]
        logits = self.columns.scores(encoded)
        return {f"logits.{name}": scores for name, scores in logits.items()}
