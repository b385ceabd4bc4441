"""The base class of the networks of all families: the input layer and the encoder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.dropout import SharedDropout
from depkit.nn.graph_attention import heads_of_positions
from depkit.nn.products import MatrixProduct
from depkit.parsers.config import ParserConfig
from depkit.parsers.encoders import make_encoder
from depkit.parsers.inputs.batching import LONGEST_WORD, Batch
from depkit.parsers.inputs.dataset import Dataset
from depkit.parsers.inputs.layer import InputLayer
from depkit.parsers.inputs.piece_inputs import PieceInputs
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary

_UNLIMITED = 1 << 40  # more pieces than a sentence can have


@dataclass(frozen=True)
class LabelGraph:
    """A function that scores labels and is exported as a graph.

    axes: the names of the arguments, with those of their dimensions whose sizes vary, which come
    before the others;
    compute: maps the arguments, by name, to the scores, "labels";
    example: makes arguments from results of `ParserNetwork.score_graph`.
    """

    axes: Mapping[str, Sequence[str]]
    compute: Callable[[dict[str, Tensor]], dict[str, Tensor]]
    example: Callable[[Mapping[str, Tensor]], dict[str, Tensor]]


class ParserNetwork(nn.Module):
    """The input layer and the encoder; `size` is the size of the encoder's output vectors.

    The subclass of a family adds scorers, and the method `forward`, which computes the loss of a
    batch.

    Args:
        config: The configuration of the parser.
        vocabulary: The vocabulary of the training treebank.
        transformer: The transformer, if inputs.context.source is "transformer".
        scorer_dropout: The dropout of the encoder's output vectors.
        reads_graph: Whether the encoder reads a graph. With inputs.draft, it always does.
    """

    def __init__(
        self,
        config: ParserConfig,
        vocabulary: Vocabulary,
        transformer: Transformer | None,
        scorer_dropout: float,
        *,
        reads_graph: bool = False,
    ) -> None:
        super().__init__()
        self.pieces: PieceInputs | None = None  # with a transformer as the encoder
        inputs: Any = config.inputs
        reader = transformer
        if config.encoder.reads_pieces:
            assert transformer is not None
            self.pieces = PieceInputs(
                transformer,
                len(vocabulary.tables["tags"]) if inputs.tag else 0,
                len(vocabulary.columns["deprel"]) if inputs.draft else 0,
            )
            inputs = replace(inputs, tag=0, draft=0)
            # The encoder itself divides long sentences.
            reader = replace(transformer, max_pieces=_UNLIMITED)
        self.inputs = InputLayer(inputs, vocabulary, reader)
        input_size = self.inputs.output_size
        encoder: Any = config.encoder
        self.projection: nn.Module = nn.Identity()
        if encoder.projects_inputs and input_size != encoder.input_size:
            self.projection = nn.Linear(input_size, encoder.input_size)
            input_size = encoder.input_size
        # An encoder with projected inputs applies the dropout to them itself.
        self.input_dropout = SharedDropout(
            0.0 if encoder.projects_inputs else config.inputs.dropout
        )
        # The vector of the position after the last word
        self.stop = nn.Parameter(torch.randn(input_size)) if config.inputs.stop else None
        self.encoder = make_encoder(
            encoder, input_size, dropout=config.inputs.dropout, stop=config.inputs.stop,
            reads_graph=reads_graph or bool(config.inputs.draft), transformer=transformer,
        )  # fmt: skip
        self.encoder_input_size: int = input_size
        self.encoder_dropout = SharedDropout(scorer_dropout)
        self.size: int = self.encoder.output_size

    @property
    def transformer(self) -> Transformer | None:
        """The frozen or fine-tuned transformer, or None."""
        context = self.inputs.part("context")
        return context.transformer if context is not None else None

    def encode(self, batch: Batch) -> Tensor:
        """Compute the encoder's output vectors, [batch, length, size].

        With inputs.stop, the encoder also reads the position after the last word; its output there
        is left out, except where padding follows.
        """
        return self.encode_with_stop(batch)[:, : batch.length]

    def encode_with_stop(self, batch: Batch) -> Tensor:
        """Compute the encoder's output vectors, with inputs.stop also after the last word.

        They are [batch, length + 1, size] with inputs.stop, and [batch, length, size] without it.
        """
        if self.pieces is not None:
            return self.encoder_dropout(self._encode_pieces(self.pieces, batch))
        heads = batch["draft.head"][:, 1:] if "draft.head" in batch else None  # without w0
        return self.encode_vectors(self.input_vectors(batch), batch["lengths"], heads)

    def input_vectors(self, batch: Batch) -> Tensor:
        """Compute the input vectors of the encoder, [batch, length, size], without dropout."""
        vectors: Tensor = self.projection(self.inputs(batch))
        return vectors

    def encode_vectors(self, x: Tensor, lengths: Tensor, heads: Tensor | None = None) -> Tensor:
        """Map input vectors to output vectors of the encoder, [batch, length, size].

        Args:
            x: The result of `input_vectors`.
            lengths: [batch], the numbers of positions without padding.
            heads: [batch, length - 1], the heads of words in the graph that the encoder reads.

        With inputs.stop, the result has one more position.
        """
        if self.stop is not None:
            x, lengths = append_position(x, lengths, self.stop)
        graph = [] if heads is None else [heads_of_positions(heads, x.shape[1])]
        return self.encoder_dropout(self.encoder(self.input_dropout(x), lengths, *graph))

    def _encode_pieces(self, inputs: PieceInputs, batch: Batch) -> Tensor:
        """Run the transformer on word pieces; return the vectors of words and w0."""
        sequences = inputs(batch)
        vectors, graph = sequences.vectors, None
        if inputs.label is not None:
            vectors = sequences.add_to_words(inputs.label(batch["draft.label"])[:, 1:])
            graph = sequences.graph(batch["draft.head"][:, 1:])
        encoded = self.encoder(
            self.input_dropout(vectors),
            sequences.lengths,
            graph,
            host_lengths=sequences.host_lengths,
        )
        return sequences.words(encoded)

    def score_graph(self, vectors: Tensor, lengths: Tensor) -> dict[str, Tensor]:
        """Compute what trees and columns are decoded from, [batch, length, ...] each.

        vectors: the result of `word_graph`; lengths: [batch], with w0. `engine.export` exports this
        function as a graph, as it exports `word_graph` and the functions of `label_graphs`.
        """
        raise NotImplementedError

    def label_graphs(self) -> dict[str, LabelGraph]:
        """Return the functions that score labels when the decoder asks for them, by name."""
        return {}

    def word_graph(self, arrays: dict[str, Tensor]) -> dict[str, Tensor]:
        """Compute "vectors", the input vectors of a batch, from its arrays."""
        host = {}
        if "characters" in arrays:
            host["form_groups"] = [(arrays["characters"].shape[0], LONGEST_WORD)]
        batch = Batch(np.empty(0), arrays["form"].shape[1], 0, arrays, host)
        return {"vectors": self.input_vectors(batch)}

    def start_epoch(self, data: Dataset) -> None:
        self.inputs.start_epoch(data)

    def prediction_parts(self) -> list[nn.Module]:
        """Return the submodules that compute in reduced precision for prediction.

        These are all submodules except the input layer and its projection.
        """
        excluded = ("inputs", "projection")
        return [part for name, part in self.named_children() if name not in excluded]

    def quantized_parts(self) -> list[nn.Module]:
        """Return the submodules that compute in int8 if the network is quantized."""
        return self.prediction_parts()

    def convert_product_weights(self, dtype: torch.dtype) -> None:
        """Convert the weights of matrix products in `prediction_parts` to a data type.

        Otherwise autocast converts the weights again for every batch. The converted network can be
        used for prediction, but not for training.
        """
        for part in self.prediction_parts():
            for module in part.modules():
                if isinstance(module, nn.Linear | nn.LSTM | MatrixProduct):
                    module.to(dtype)


def append_position(x: Tensor, lengths: Tensor, vector: Tensor) -> tuple[Tensor, Tensor]:
    """Append a position to each sentence of a batch.

    Args:
        x: [batch, length, size].
        lengths: [batch], the numbers of positions without padding.
        vector: [size], the vector of the new position.

    Returns:
        [batch, length + 1, size], and [batch] new lengths.
    """
    x = functional.pad(x, (0, 0, 0, 1))
    is_new = torch.arange(x.shape[1], device=x.device) == lengths[:, None]
    return torch.where(is_new[..., None], vector.to(x.dtype), x), lengths + 1
