"""The table of encoders, and how the module of one is made from its settings."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from depkit.nn import settings
from depkit.nn.settings import Encoder

if TYPE_CHECKING:
    from depkit.parsers.inputs.transformer import Transformer

# The settings of each encoder, with its module, which is imported when it is made. It is called
# with the size of its inputs, the settings, and the options that `make_encoder` adds.
# It maps inputs, [batch, length, size], and lengths, [batch], to [batch, length, output_size].
# The first one is the default.
ENCODERS: dict[type[Encoder], str] = {
    settings.BiLSTM: "depkit.nn.lstm.BiLSTM",
    settings.SelfAttention: "depkit.nn.selfattention.SelfAttention",
    settings.Factored: "depkit.nn.factored.Factored",
    settings.Stacked: "depkit.nn.stacked.Stacked",
    settings.NoEncoder: "depkit.nn.identity.Identity",
    settings.PretrainedEncoder: "depkit.parsers.inputs.transformer_encoder.TransformerEncoder",
}
KINDS = {"kinds": ENCODERS}  # metadata of the field of section encoder


def graph_encoders() -> str:
    """Describe the settings that choose an encoder that can read a graph."""
    kinds = [encoder.kind for encoder in ENCODERS if encoder.reads_graph]
    return " or ".join(f"encoder.kind={kind}" for kind in kinds)


def make_encoder(
    encoder: Encoder,
    input_size: int,
    *,
    dropout: float = 0.0,
    stop: bool = False,
    reads_graph: bool = False,
    transformer: "Transformer | None" = None,
) -> Any:
    """Make the module of an encoder.

    Args:
        encoder: The settings of the encoder.
        input_size: The size of the input vectors.
        dropout: The dropout of the inputs, for an encoder that applies it itself.
        stop: Whether the inputs have a stop position after the last word.
        reads_graph: Whether the encoder reads a graph, which it must be able to.
        transformer: The transformer of the inputs, for an encoder of word pieces.
    """
    options: dict[str, Any] = {}
    if encoder.projects_inputs:
        options["dropout"] = dropout
    if encoder.reads_stop:
        options["stop"] = stop
    if reads_graph:
        options["reads_graph"] = True
    if encoder.reads_pieces:
        options["transformer"] = transformer
    module, _, name = ENCODERS[type(encoder)].rpartition(".")
    return getattr(import_module(module), name)(input_size, encoder, **options)
