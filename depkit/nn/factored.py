"""Self-attention that separates content and position (Kitaev and Klein 2018, section 3)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from depkit.nn.attention_mask import attention_mask, real_positions
from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_
from depkit.nn.positions import position_vectors
from depkit.nn.selfattention import PositionInfo, ResidualLayer, scaled_attention

ATTEND = ("both", "content", "position")


class FactoredLinear(nn.Module):
    """[W_c x_c ; W_p x_p]: one linear layer for the content half and one for the position half.

    Args:
        input_size: The width of each half of the input.
        output_size: The width of each half of the output.
        bias: Whether the layers have biases.
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

    Attribute attend: "both", or "content" or "position" to compute the logits from that half only
    (section 4.1). The values always have both halves.

    Args:
        input_size: The width of each half of the input.
        heads: The number of attention heads.
        head_size: The width of each half of a head.
        dropout: The dropout rate of the attention weights.
    """

    def __init__(self, input_size: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.head_size = head_size
        self.dropout = dropout
        self.attend = "both"
        self.query_key_value = FactoredLinear(input_size, 3 * heads * head_size, bias=False)
        self.output = FactoredLinear(heads * head_size, input_size, bias=False)
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
        attended = scaled_attention(query, key, value, positions, dropout)
        # [batch, length, head, half, size] -> [batch, length, half, head, size]
        halves = attended.unflatten(-1, (2, self.head_size)).transpose(2, 3)
        return self.output(halves.flatten(2))


class Factored(nn.Module):
    """Layers of factored self-attention over [content ; position].

    The attributes window, relaxed and attend may be changed at any time (section 4). The paper's
    sizes, given for one half here, are 512 for input_size, 32 for head_size and 1024 for
    feedforward.

    Args:
        input_size: The width of the input, which is the content half.
        layers: The number of layers.
        heads: The number of attention heads.
        head_size: The width of each half of a head.
        feedforward: The width of each half of the hidden feed-forward layers.
        attention_dropout: The dropout rate of the attention weights.
        feedforward_dropout: The dropout rate of the hidden feed-forward layers.
        residual_dropout: The dropout rate of the output of each sublayer.
        input_dropout: The dropout rate of the input.
        positions: "learned" for a table of `longest` rows, where later positions share the last
            row, or "sinusoidal" for fixed vectors.
        longest: The number of learned positions.
        window: As for `attention_mask`.
        relaxed: As for `attention_mask`.
        stop: As for `attention_mask`.
        norm_first: As for `ResidualLayer`.
        attend: From what each layer computes its logits, "both", "content" or "position": no
            entry ("both" in all layers), one entry for all layers, or one for each layer.

    Raises:
        ValueError: If `attend` has unknown entries or a wrong number of entries.
    """

    def __init__(
        self,
        input_size: int,
        layers: int,
        heads: int,
        head_size: int,
        feedforward: int,
        attention_dropout: float,
        feedforward_dropout: float,
        residual_dropout: float,
        input_dropout: float,
        positions: str = "learned",
        longest: int = 300,
        window: int = 0,
        relaxed: bool = False,
        stop: bool = False,
        norm_first: bool = False,
        attend: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.output_size = 2 * input_size
        self.window = window
        self.relaxed = relaxed
        self.stop = stop
        self.layers = nn.ModuleList(
            ResidualLayer(  # only its LayerNorms mix the two halves
                2 * input_size,
                FactoredAttention(input_size, heads, head_size, attention_dropout),
                FactoredLinear(input_size, feedforward), FactoredLinear(feedforward, input_size),
                feedforward_dropout, residual_dropout, norm_first,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.dropout = SharedDropout(input_dropout)
        self.input_norm = nn.LayerNorm(self.output_size, eps=1e-3)
        self.norm = nn.LayerNorm(self.output_size, eps=1e-3) if norm_first else nn.Identity()
        self.positions = nn.Embedding(longest, input_size) if positions == "learned" else None
        self.attend = attend

    @property
    def attend(self) -> tuple[str, ...]:
        """From what each layer computes its logits, one entry for each layer."""
        return tuple(attention.attend for attention in self._attentions())

    @attend.setter
    def attend(self, attend: Sequence[str]) -> None:
        entries = _check_attend(attend, len(self.layers))
        for attention, entry in zip(self._attentions(), entries, strict=True):
            attention.attend = entry

    def _attentions(self) -> list[FactoredAttention]:
        return [module for module in self.modules() if isinstance(module, FactoredAttention)]

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map x, [batch, length, input_size], and lengths, [batch], to twice the width of x."""
        positions = position_vectors(self.positions, x.shape[1], x.shape[2], x.device)
        x = torch.cat((self.dropout(x), positions.expand_as(x)), dim=-1)
        x = self.input_norm(x)
        info = PositionInfo(
            attention_mask(lengths, x.shape[1], self.window, self.relaxed, self.stop),
            real_positions(lengths, x.shape[1])[..., None],
        )
        for layer in self.layers:
            x = layer(x, info)
        return self.norm(x)


def _zero_query(packed: Tensor) -> Tensor:
    """Set the query of packed query, key and value, [batch, length, 3, heads, size], to zero."""
    _, key, value = packed.unbind(2)
    return torch.stack((torch.zeros_like(key), key, value), dim=2)


def _check_attend(attend: Sequence[str], layers: int) -> Sequence[str]:
    """Check the setting and return one entry for each layer."""
    if isinstance(attend, str):  # a string is also a sequence, of letters
        raise ValueError(f"attend must be a list: [{attend!r}], not {attend!r}")
    unknown = [entry for entry in attend if entry not in ATTEND]
    if unknown:
        raise ValueError(f"attend: {unknown[0]!r} is not one of {', '.join(ATTEND)}")
    if len(attend) == layers:
        return attend
    if len(attend) > 1:
        raise ValueError(
            f"attend has {len(attend)} entries for {layers} layers; give one entry for all, or"
            " one for each layer"
        )
    return [attend[0] if attend else "both"] * layers
