"""The table of encoders: from an encoder's configuration to its network."""

from dataclasses import asdict
from typing import Any

from torch import Tensor, nn

from depkit.nn.factored import Factored
from depkit.nn.lstm import BiLSTM
from depkit.nn.selfattention import SelfAttention
from depkit.parsers.config import Encoder


class NoEncoder(nn.Module):
    """Returns its inputs, which are contextual already."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], as it is returned."""
        return x


# Classes by `kind`; their arguments have the names of the settings. An encoder maps [batch, length,
# features] and the lengths, [batch], to [batch, length, encoder.features].
ENCODERS = {
    "bilstm": BiLSTM, "selfatt": SelfAttention, "factored": Factored, "none": NoEncoder
}  # fmt: skip


def make_encoder(encoder: Encoder, features: int, dropout: float) -> Any:
    """The network of an encoder.

    features: the width of its inputs; dropout: of these, for an encoder that adds positions first.
    """
    settings = asdict(encoder)
    if encoder.projects:
        del settings["size"]  # the inputs have it
        settings["input_dropout"] = dropout
    return ENCODERS[settings.pop("kind")](features, **settings)
