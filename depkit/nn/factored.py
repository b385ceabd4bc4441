"""Self-attention that separates content and position (Kitaev and Klein 2018, section 3)."""

import torch
from torch import Tensor, nn

from depkit.nn.initial import orthogonal_
from depkit.nn.selfattention import AttentionLayers, PositionInfo, ResidualLayer, scaled_attention
from depkit.nn.settings import Factored as Settings


class FactoredLinear(nn.Module):
    """[W_c x_c ; W_p x_p]: one linear layer for the content half and one for the position half.

    The sizes are those of each half.
    """

    def __init__(self, input_size: int, output_size: int, bias: bool = True) -> None:
        super().__init__()
        self.content = nn.Linear(input_size, output_size, bias)
        self.position = nn.Linear(input_size, output_size, bias)

    def halves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the content half and the position half of the result, both [..., output_size]."""
        content, position = x.chunk(2, dim=-1)
        return self.content(content), self.position(position)

    def forward(self, x: Tensor) -> Tensor:
        """Map [..., 2 * input_size], the content first, to [..., 2 * output_size]."""
        return torch.cat(self.halves(x), dim=-1)


class FactoredAttention(nn.Module):
    """Attention with heads of two halves: softmax((q_c k_c + q_p k_p) / sqrt(2 size)) [v_c ; v_p].

    Args:
        input_size: The width of each half of the input.
        settings: The settings of the encoder.
        attend: "both", or "content" or "position" to compute the logits from that half only
            (section 4.1). The values always have both halves.
    """

    def __init__(self, input_size: int, settings: Settings, attend: str = "both") -> None:
        super().__init__()
        self.heads, self.head_size = settings.heads, settings.head_size
        self.dropout = settings.attention_dropout
        self.attend = attend
        inner = self.heads * self.head_size
        self.query_key_value = FactoredLinear(input_size, 3 * inner, bias=False)
        self.output = FactoredLinear(inner, input_size, bias=False)
        for half in ("content", "position"):
            nn.init.xavier_uniform_(getattr(self.query_key_value, half).weight)
            orthogonal_(getattr(self.output, half).weight)

    def forward(self, x: Tensor, positions: PositionInfo) -> Tensor:
        """Map [batch, length, 2 * input_size] to the same shape."""
        batch, length, _ = x.shape
        content, position = (
            half.view(batch, length, 3, self.heads, self.head_size)
            for half in self.query_key_value.halves(x)
        )
        # A zero query contributes nothing to the logits, whatever the key.
        if self.attend == "content":
            position = _zero_query(position)
        elif self.attend == "position":
            content = _zero_query(content)
        packed = torch.cat((content, position), dim=-1).permute(2, 0, 3, 1, 4)
        query, key, value = packed.unbind(0)
        dropout = self.dropout if self.training else 0.0
        attended = scaled_attention(query, key, value, positions=positions, dropout=dropout)
        # [batch, length, head, half, size] -> [batch, length, half, head, size]
        halves = attended.unflatten(-1, (2, self.head_size)).transpose(2, 3)
        return self.output(halves.flatten(2))


class Factored(AttentionLayers):
    """Layers of factored self-attention over [content ; position].

    The input is the content half; with settings.combine_positions="sum", it is a whole vector, to
    which position vectors are added. The paper's settings are size=512, head_size=32 and
    feedforward=1024 for one half. The arguments are those of `AttentionLayers`.
    """

    def __init__(
        self, input_size: int, settings: Settings, *, dropout: float = 0.0, stop: bool = False
    ) -> None:
        attend = settings.attend or ["both"]
        if len(attend) == 1:
            attend = attend * settings.layers
        self.adds_positions = settings.combine_positions == "sum"
        half = input_size // 2 if self.adds_positions else input_size
        layers = (
            ResidualLayer(  # only its LayerNorms mix the two halves
                2 * half,
                settings,
                attention=FactoredAttention(half, settings, entry),
                up=FactoredLinear(half, settings.feedforward),
                down=FactoredLinear(settings.feedforward, half),
            )
            for entry in attend
        )
        super().__init__(
            input_size, 2 * half, settings, layers=layers, input_norm=True,
            dropout=dropout, stop=stop,
        )  # fmt: skip

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map x, [batch, length, input_size], and lengths, [batch], to [..., output_size]."""
        positions = self.position_vectors(x).expand_as(x)
        x = self.dropout(x)
        x = x + positions if self.adds_positions else torch.cat((x, positions), dim=-1)
        return self.run_layers(x, lengths)


def _zero_query(packed: Tensor) -> Tensor:
    """Set the query of packed query, key and value, [batch, length, 3, heads, size], to zero."""
    _, key, value = packed.unbind(2)
    return torch.stack((torch.zeros_like(key), key, value), dim=2)
