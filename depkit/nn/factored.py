"""Self-attention that keeps content and position apart (Kitaev and Klein 2018, section 3)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from depkit.nn.attention_mask import attention_mask
from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_
from depkit.nn.selfattention import ResidualLayer, place_vectors, scaled_attention

ATTEND = ("both", "content", "position")


class FactoredLinear(nn.Module):
    """[W_c x_c ; W_p x_p]: a linear layer without weights between content and position.

    x: [..., 2 * inputs], the content in the first half -> [..., 2 * outputs].
    """

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.content = nn.Linear(inputs, outputs, bias)
        self.position = nn.Linear(inputs, outputs, bias)

    def halves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The content and the position half of the result, [..., outputs] each."""
        content, position = x.chunk(2, dim=-1)
        return self.content(content), self.position(position)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat(self.halves(x), dim=-1)


class FactoredAttention(nn.Module):
    """Heads of two halves: softmax((q_c k_c + q_p k_p) / sqrt(2 * head_size)) [v_c ; v_p].

    head_size: of each half. x: [batch, length, 2 * features] -> the same shape.
    attend: "both", or the one half whose logits are kept, "content" or "position"
    (section 4.1); the values keep both.
    """

    def __init__(self, features: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.head_size = head_size
        self.dropout = dropout
        self.attend = "both"
        self.query_key_value = FactoredLinear(features, 3 * heads * head_size, bias=False)
        self.output = FactoredLinear(heads * head_size, features, bias=False)
        for name in ("content", "position"):
            nn.init.xavier_uniform_(getattr(self.query_key_value, name).weight)
            orthogonal_(getattr(self.output, name).weight)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask: as `attention_mask` gives it, True where a position may attend."""
        batch, length, _ = x.shape
        content, position = (
            half.view(batch, length, 3, self.heads, self.head_size)
            for half in self.query_key_value.halves(x)
        )
        # a query of zeros adds nothing to the logits, whatever the key
        if self.attend == "content":
            position = _without_query(position)
        elif self.attend == "position":
            content = _without_query(content)
        packed = torch.cat((content, position), dim=-1)
        attended = scaled_attention(packed, mask, self.dropout if self.training else 0.0)
        # [batch, length, head, half, size]: the halves to the front, for the output's
        halves = attended.unflatten(-1, (2, self.head_size)).transpose(2, 3)
        return self.output(halves.flatten(2))


class Factored(nn.Module):
    """Layers of factored self-attention over [content ; position].

    features, head_size, feedforward: of each half (the paper: 512, 32, 1024).
    positions: "learned" (a table of `longest` rows; later positions share the last one) or
    "sinusoidal" (fixed). window, relaxed: as for `attention_mask`. attend: which logits each
    layer keeps, "both", "content" or "position"; nothing for "both" in all layers, one for
    all layers, or one a layer. These three may be set at any time (section 4).
    ValueError: `attend` is none of this.
    """

    def __init__(
        self,
        features: int,
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
        norm_first: bool = False,
        attend: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.features = 2 * features
        self.window = window
        self.relaxed = relaxed
        self.layers = nn.ModuleList(
            ResidualLayer(  # whose LayerNorms alone see both halves
                2 * features, FactoredAttention(features, heads, head_size, attention_dropout),
                FactoredLinear(features, feedforward), FactoredLinear(feedforward, features),
                feedforward_dropout, residual_dropout, norm_first,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.dropout = SharedDropout(input_dropout)
        self.input_norm = nn.LayerNorm(self.features, eps=1e-3)
        self.norm = nn.LayerNorm(self.features, eps=1e-3) if norm_first else nn.Identity()
        self.positions = nn.Embedding(longest, features) if positions == "learned" else None
        self.attend = attend

    @property
    def attend(self) -> tuple[str, ...]:
        """Which logits each layer keeps, one entry a layer."""
        return tuple(attention.attend for attention in self._attentions())

    @attend.setter
    def attend(self, attend: Sequence[str]) -> None:
        kept = _by_layer(attend, len(self.layers))
        for attention, each in zip(self._attentions(), kept, strict=True):
            attention.attend = each

    def _attentions(self) -> list[FactoredAttention]:
        return [module for module in self.modules() if isinstance(module, FactoredAttention)]

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], lengths: [batch] -> [batch, length, 2 * features]."""
        place = place_vectors(self.positions, x.shape[1], x.shape[2], x.device)
        x = torch.cat((self.dropout(x), place.expand_as(x)), dim=-1)
        x = self.input_norm(x)
        mask = attention_mask(lengths, x.shape[1], self.window, self.relaxed)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


def _without_query(packed: Tensor) -> Tensor:
    """packed: query, key and value, [batch, length, 3, heads, size] -> its query zeros."""
    _, key, value = packed.unbind(2)
    return torch.stack((torch.zeros_like(key), key, value), dim=2)


def _by_layer(attend: Sequence[str], layers: int) -> Sequence[str]:
    """One entry a layer. ValueError: an unknown entry, or neither none, one nor `layers`."""
    if isinstance(attend, str):  # which is a sequence too, of letters
        raise ValueError(f"attend: a list is wanted, [{attend!r}] rather than {attend!r}")
    unknown = [entry for entry in attend if entry not in ATTEND]
    if unknown:
        raise ValueError(f"attend: {unknown[0]!r} is none of {', '.join(ATTEND)}")
    if len(attend) == layers:
        return attend
    if len(attend) > 1:
        raise ValueError(f"attend: {len(attend)} entries for {layers} layers")
    return [attend[0] if attend else "both"] * layers
