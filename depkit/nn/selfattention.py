"""Self-attention encoder of Li et al. (2019), section 3.1, after Vaswani et al. (2017)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.attention_mask import attention_mask
from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_

# fused kernels ask for head sizes that are a multiple of this
_HEAD_MULTIPLE = {"cuda": 8}


def sinusoids(length: int, features: int, device: torch.device | None = None) -> Tensor:
    """Fixed position embeddings, Eq. 8: [length, features], sine at even places."""
    position = torch.arange(length, device=device, dtype=torch.float32)[:, None]
    even = torch.arange(0, features, 2, device=device, dtype=torch.float32)
    angle = position * torch.exp(even * (-math.log(10000.0) / features))
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :features]


def place_vectors(
    table: nn.Embedding | None, length: int, features: int, device: torch.device
) -> Tensor:
    """[length, features]: rows of a learned table, its last one repeated; else sinusoids."""
    if table is None:
        return sinusoids(length, features, device)
    place = torch.arange(length, device=device)
    return table(place.clamp(max=table.num_embeddings - 1))


def scaled_attention(packed: Tensor, mask: Tensor, dropout: float) -> Tensor:
    """Eqs. 10 and 11 for all heads at once, softmax(q k / sqrt(size)) v.

    packed: query, key and value, [batch, length, 3, heads, size]; mask: as `attention_mask`
    gives it; dropout: on the attention weights. Returns [batch, length, heads, size].

    Heads whose size is no multiple of 8 are padded with zeros on a GPU, where fused kernels
    ask for it; as the scale is given, the result is the same.
    """
    size = packed.shape[-1]
    padding = -size % _HEAD_MULTIPLE.get(packed.device.type, 1)
    if padding:
        packed = functional.pad(packed, (0, padding))
    query, key, value = packed.permute(2, 0, 3, 1, 4)  # each [batch, head, length, size]
    attended = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=size**-0.5, dropout_p=dropout
    )
    if padding:
        attended = attended[..., :size]
    return attended.transpose(1, 2)


class MultiHeadAttention(nn.Module):
    """Eqs. 9 to 12, without biases. x: [batch, length, features] -> the same shape."""

    def __init__(self, features: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.head_size = head_size
        self.dropout = dropout
        self.query_key_value = nn.Linear(features, 3 * heads * head_size, bias=False)
        self.output = nn.Linear(heads * head_size, features, bias=False)
        nn.init.xavier_uniform_(self.query_key_value.weight)
        orthogonal_(self.output.weight)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask: as `attention_mask` gives it, True where a position may attend."""
        packed = self.query_key_value(x).view(*x.shape[:2], 3, self.heads, self.head_size)
        attended = scaled_attention(packed, mask, self.dropout if self.training else 0.0)
        return self.output(attended.flatten(2))


class ResidualLayer(nn.Module):
    """Attention, then feed-forward, each LayerNorm(x + dropout(sublayer(x))), Eqs. 13 to 15.

    width: of x; attention: (x, mask) -> the shape of x; up, down: the feed-forward network's
    linear layers, initialised here; norm_first: x + dropout(sublayer(LayerNorm(x))) instead
    (Xiong et al. 2020).
    """

    def __init__(
        self,
        width: int,
        attention: nn.Module,
        up: nn.Module,
        down: nn.Module,
        feedforward_dropout: float,
        residual_dropout: float,
        norm_first: bool,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention = attention
        self.attention_norm = nn.LayerNorm(width, eps=1e-3)
        self.up = up
        self.down = down
        self.feedforward_norm = nn.LayerNorm(width, eps=1e-3)
        self.feedforward_dropout = SharedDropout(feedforward_dropout)
        self.residual_dropout = SharedDropout(residual_dropout)
        for part in (*up.modules(), *down.modules()):
            if isinstance(part, nn.Linear):
                orthogonal_(part.weight)
                nn.init.zeros_(part.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        if self.norm_first:
            x = x + self.residual_dropout(self.attention(self.attention_norm(x), mask))
            return x + self.residual_dropout(self.feedforward(self.feedforward_norm(x)))
        x = self.attention_norm(x + self.residual_dropout(self.attention(x, mask)))
        return self.feedforward_norm(x + self.residual_dropout(self.feedforward(x)))

    def feedforward(self, x: Tensor) -> Tensor:
        """Eq. 14."""
        return self.down(self.feedforward_dropout(self.up(x).relu()))


class SelfAttention(nn.Module):
    """Layers of self-attention over inputs with positions added, Eq. 7.

    positions: "sinusoidal" (fixed) or "learned" (a table of `longest` rows; later positions
    share the last one). window, relaxed: as for `attention_mask`; they may be set at any
    time, to see what a trained model does with them (Kitaev and Klein 2018, section 4.2).
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
        positions: str = "sinusoidal",
        longest: int = 512,
        norm_first: bool = False,
        window: int = 0,
        relaxed: bool = False,
    ) -> None:
        super().__init__()
        self.features = features
        self.window = window
        self.relaxed = relaxed
        self.layers = nn.ModuleList(
            ResidualLayer(
                features, MultiHeadAttention(features, heads, head_size, attention_dropout),
                nn.Linear(features, feedforward), nn.Linear(feedforward, features),
                feedforward_dropout, residual_dropout, norm_first,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.dropout = SharedDropout(input_dropout)
        self.norm = nn.LayerNorm(features, eps=1e-3) if norm_first else nn.Identity()
        self.positions = nn.Embedding(longest, features) if positions == "learned" else None

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], lengths: [batch] -> the same shape as x."""
        length = x.shape[1]
        x = self.dropout(x + place_vectors(self.positions, length, self.features, x.device))
        mask = attention_mask(lengths, length, self.window, self.relaxed)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
