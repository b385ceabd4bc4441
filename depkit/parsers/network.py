"""What the networks of all families share: a word's inputs and the encoder over them."""

import torch
from torch import Tensor, nn

from depkit.nn.biaffine import ArcScorer, LabelScorer
from depkit.nn.dropout import SharedDropout
from depkit.parsers.config import ParserConfig
from depkit.parsers.encoders import make_encoder
from depkit.parsers.inputs.batches import Batch, Dataset
from depkit.parsers.inputs.layer import InputLayer
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary

PRODUCTS = (nn.Linear, nn.LSTM, ArcScorer, LabelScorer)  # modules of matrix products


class ParserNetwork(nn.Module):
    """Inputs and encoder. A family adds its scorers, and `forward(batch)`, the loss of a batch.

    transformer: where inputs.context.source asks for one. scorer_dropout: of the encoder's
    vectors. `size` is their width.
    """

    def __init__(
        self,
        config: ParserConfig,
        vocabulary: Vocabulary,
        transformer: Transformer | None,
        scorer_dropout: float,
    ) -> None:
        super().__init__()
        self.inputs = InputLayer(config.inputs, vocabulary, transformer)
        features, projects = self.inputs.features, config.encoder.projects
        self.projection: nn.Module = nn.Identity()
        if projects and features != config.encoder.size:  # type: ignore[union-attr]
            self.projection = nn.Linear(features, config.encoder.size)  # type: ignore[union-attr]
            features = config.encoder.size  # type: ignore[union-attr]
        self.input_dropout = SharedDropout(0.0 if projects else config.inputs.dropout)
        self.encoder = make_encoder(config.encoder, features, config.inputs.dropout)
        self.encoder_dropout = SharedDropout(scorer_dropout)
        self.size: int = self.encoder.features

    @property
    def transformer(self) -> Transformer | None:
        """What gives contextual vectors, frozen or trained, if anything does."""
        context = self.inputs.context
        return context.transformer if context is not None else None

    def encode(self, batch: Batch) -> Tensor:
        """-> [batch, length, size]."""
        x = self.input_dropout(self.projection(self.inputs(batch)))
        return self.encoder_dropout(self.encoder(x, batch.lengths))

    def start_epoch(self, data: Dataset) -> None:
        """Count the words of an epoch's data, of which rare ones can be made unknown."""
        words = self.inputs.word.num_embeddings if self.inputs.word is not None else 0
        self.inputs.counts = torch.bincount(data.word, minlength=words)

    def prediction_parts(self) -> list[nn.Module]:
        """The parts whose weights are quantized, or kept in lower precision, for prediction: all
        but the inputs and their projection."""
        kept = ("inputs", "projection")
        return [part for name, part in self.named_children() if name not in kept]

    def keep_products_in(self, dtype: torch.dtype) -> None:
        """Keep the weights of matrix products in the precision that they are computed in, rather
        than have them converted for every batch; for prediction only."""
        for part in self.prediction_parts():
            for module in part.modules():
                if isinstance(module, PRODUCTS):
                    module.to(dtype)
