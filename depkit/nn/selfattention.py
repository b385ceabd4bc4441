"""Self-attention encoder of Li et al. (2019), section 3.1, after Vaswani et al. (2017)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.attention_mask import attention_mask
from depkit.nn.dropout import SharedDropout
from depkit.nn.initial import orthogonal_

# Fused attention kernels need head sizes that are multiples of this number.
_HEAD_MULTIPLE = {"cuda": 8}


def sinusoids(length: int, size: int, device: torch.device | None = None) -> Tensor:
    """Compute position vectors (Eq. 8), [length, size], with the sines in the even columns."""
    position = torch.arange(length, device=device, dtype=torch.float32)[:, None]
    even = torch.arange(0, size, 2, device=device, dtype=torch.float32)
    angle = position * torch.exp(even * (-math.log(10000.0) / size))
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :size]


def position_vectors(
    table: nn.Embedding | None, length: int, size: int, device: torch.device
) -> Tensor:
    """Make the vectors of the first positions.

    Args:
        table: Learned vectors, the last of which serves for all later positions; None for fixed
            vectors.
        length: The number of positions.
        size: The width of the vectors.
        device: The device of the result.

    Returns:
        [length, size].
    """
    if table is None:
        return sinusoids(length, size, device)
    position = torch.arange(length, device=device)
    return table(position.clamp(max=table.num_embeddings - 1))


def scaled_attention(packed: Tensor, mask: Tensor, dropout: float) -> Tensor:
    """Compute softmax(q k / sqrt(size)) v for all attention heads at once (Eqs. 10 and 11).

    On a GPU, heads whose size is not a multiple of 8 are padded with zeros, because fused kernels
    need such sizes. The scale is that of the real size, so the result is the same.

    Args:
        packed: Query, key and value, [batch, length, 3, heads, size].
        mask: The result of `attention_mask`, True where a position may attend.
        dropout: The dropout rate of the attention weights.

    Returns:
        [batch, length, heads, size].
    """
    size = packed.shape[-1]
    padding = -size % _HEAD_MULTIPLE.get(packed.device.type, 1)
    if padding:
        packed = functional.pad(packed, (0, padding))
    query, key, value = packed.permute(2, 0, 3, 1, 4)  # 3 x [batch, head, length, size]
    attended = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=size**-0.5, dropout_p=dropout
    )
    if padding:
        attended = attended[..., :size]
    return attended.transpose(1, 2)


class MultiHeadAttention(nn.Module):
    """Multi-head self-attention without biases (Eqs. 9 to 12).

    Args:
        input_size: The width of the input and the output.
        heads: The number of attention heads.
        head_size: The width of a head.
        dropout: The dropout rate of the attention weights.
    """

    def __init__(self, input_size: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.head_size = head_size
        self.dropout = dropout
        self.query_key_value = nn.Linear(input_size, 3 * heads * head_size, bias=False)
        self.output = nn.Linear(heads * head_size, input_size, bias=False)
        nn.init.xavier_uniform_(self.query_key_value.weight)
        orthogonal_(self.output.weight)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map [batch, length, input_size] to the same shape; mask: from `attention_mask`."""
        packed = self.query_key_value(x).view(*x.shape[:2], 3, self.heads, self.head_size)
        attended = scaled_attention(packed, mask, self.dropout if self.training else 0.0)
        return self.output(attended.flatten(2))


class ResidualLayer(nn.Module):
    """Attention, then a feed-forward network, both as LayerNorm(x + dropout(sublayer(x))).

    These are Eqs. 13 to 15. The linear layers of the feed-forward network are initialised here.

    Args:
        input_size: The width of the input and the output.
        attention: A module that maps (x, mask) to the shape of x.
        up: The first linear layer of the feed-forward network.
        down: The second linear layer of the feed-forward network.
        feedforward_dropout: The dropout rate of the hidden feed-forward layer.
        residual_dropout: The dropout rate of the output of each sublayer.
        norm_first: Whether the sublayers are x + dropout(sublayer(LayerNorm(x))) instead (Xiong et
            al. 2020).
    """

    def __init__(
        self,
        input_size: int,
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
        self.attention_norm = nn.LayerNorm(input_size, eps=1e-3)
        self.up = up
        self.down = down
        self.feedforward_norm = nn.LayerNorm(input_size, eps=1e-3)
        self.feedforward_dropout = SharedDropout(feedforward_dropout)
        self.residual_dropout = SharedDropout(residual_dropout)
        for module in (*up.modules(), *down.modules()):
            if isinstance(module, nn.Linear):
                orthogonal_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map [batch, length, input_size] to the same shape; mask: from `attention_mask`."""
        if self.norm_first:
            x = x + self.residual_dropout(self.attention(self.attention_norm(x), mask))
            return x + self.residual_dropout(self.feedforward(self.feedforward_norm(x)))
        x = self.attention_norm(x + self.residual_dropout(self.attention(x, mask)))
        return self.feedforward_norm(x + self.residual_dropout(self.feedforward(x)))

    def feedforward(self, x: Tensor) -> Tensor:
        """Apply the feed-forward network (Eq. 14)."""
        return self.down(self.feedforward_dropout(self.up(x).relu()))


class SelfAttention(nn.Module):
    """Layers of self-attention over inputs to which position vectors are added (Eq. 7).

    The attributes window and relaxed may be changed at any time, to see how they affect a trained
    model (Kitaev and Klein 2018, section 4.2).

    Args:
        input_size: The width of the input and the output.
        layers: The number of layers.
        heads: The number of attention heads.
        head_size: The width of a head.
        feedforward: The width of the hidden feed-forward layers.
        attention_dropout: The dropout rate of the attention weights.
        feedforward_dropout: The dropout rate of the hidden feed-forward layers.
        residual_dropout: The dropout rate of the output of each sublayer.
        input_dropout: The dropout rate of the input after the position vectors are added.
        positions: "sinusoidal" for fixed vectors, or "learned" for a table of `longest` rows,
            where later positions share the last row.
        longest: The number of learned positions.
        norm_first: As for `ResidualLayer`.
        window: As for `attention_mask`.
        relaxed: As for `attention_mask`.
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
        positions: str = "sinusoidal",
        longest: int = 512,
        norm_first: bool = False,
        window: int = 0,
        relaxed: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = input_size
        self.window = window
        self.relaxed = relaxed
        self.layers = nn.ModuleList(
            ResidualLayer(
                input_size, MultiHeadAttention(input_size, heads, head_size, attention_dropout),
                nn.Linear(input_size, feedforward), nn.Linear(feedforward, input_size),
                feedforward_dropout, residual_dropout, norm_first,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.dropout = SharedDropout(input_dropout)
        self.norm = nn.LayerNorm(input_size, eps=1e-3) if norm_first else nn.Identity()
        self.positions = nn.Embedding(longest, input_size) if positions == "learned" else None

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Map x, [batch, length, input_size], and lengths, [batch], to the shape of x."""
        length = x.shape[1]
        x = self.dropout(x + position_vectors(self.positions, length, self.output_size, x.device))
        mask = attention_mask(lengths, length, self.window, self.relaxed)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
