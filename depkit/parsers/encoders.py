"""The table of encoders, and how one is made from its configuration."""

from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from depkit.nn.factored import Factored
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from depkit.nn.stacked import Stacked
from depkit.parsers.config import AttentionEncoder, Encoder, PretrainedEncoder
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.transformer_encoder import TransformerEncoder


class NoEncoder(nn.Module):
    """The identity, for inputs that are contextual already."""

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.output_size = input_size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return x, [batch, length, input_size]."""
        return x


# The classes by `kind`. The names of their arguments are those of the settings. An encoder maps
# inputs, [batch, length, input_size], and lengths, [batch], to [batch, length, output_size].
ENCODERS = {
    "bilstm": BiLSTM, "selfatt": SelfAttention, "factored": Factored, "stacked": Stacked,
    "none": NoEncoder,
}  # fmt: skip


def make_encoder(
    encoder: Encoder,
    input_size: int,
    dropout: float,
    stop: bool = False,
    reads_graph: bool = False,
    transformer: Transformer | None = None,
) -> Any:
    """Make the network of an encoder.

    Args:
        encoder: The configuration of the encoder.
        input_size: The size of the input vectors.
        dropout: The dropout of the inputs. An encoder with projected inputs applies it itself; for
            other encoders, `ParserNetwork` does so.
        stop: Whether the inputs have a stop position after the last word.
        reads_graph: Whether the encoder reads a graph; it must be one of GRAPH_ENCODERS.
        transformer: The transformer of the inputs, if there is one.
    """
    if isinstance(encoder, PretrainedEncoder):
        assert transformer is not None
        return TransformerEncoder(transformer, reads_graph)
    settings = asdict(encoder)
    if encoder.projects_inputs:
        del settings["size"]  # it equals input_size
        settings["input_dropout"] = dropout
    if isinstance(encoder, AttentionEncoder):
        settings["stop"] = stop
    if reads_graph:
        settings["reads_graph"] = True
    return ENCODERS[settings.pop("kind")](input_size, **settings)
