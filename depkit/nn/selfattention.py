"""Self-attention encoder of Li et al. (2019), section 3.1, after Vaswani et al. (2017)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.dropout import SharedDropout


def sinusoids(length: int, features: int, device: torch.device | None = None) -> Tensor:
    """Fixed position embeddings, Eq. 8: [length, features], sine at even places."""
    position = torch.arange(length, device=device, dtype=torch.float32)[:, None]
    even = torch.arange(0, features, 2, device=device, dtype=torch.float32)
    angle = position * torch.exp(even * (-math.log(10000.0) / features))
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, :features]


class MultiHeadAttention(nn.Module):
    """Eqs. 9 to 12, without biases. x: [batch, length, features] -> the same shape.

    Heads whose size is no multiple of 8 are padded with zeros on a GPU, where fused kernels
    ask for it; as the scale is given, the result is the same.
    """

    def __init__(self, features: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.head_size = head_size
        self.dropout = dropout
        self.query_key_value = nn.Linear(features, 3 * heads * head_size, bias=False)
        self.output = nn.Linear(heads * head_size, features, bias=False)
        nn.init.xavier_uniform_(self.query_key_value.weight)
        nn.init.orthogonal_(self.output.weight)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """mask: [batch, 1, 1, length], True at the keys that may be attended to."""
        batch, length, _ = x.shape
        packed = self.query_key_value(x).view(batch, length, 3, self.heads, self.head_size)
        padding = -self.head_size % 8 if x.is_cuda else 0
        if padding:
            packed = functional.pad(packed, (0, padding))
        query, key, value = packed.permute(2, 0, 3, 1, 4)  # each [batch, head, length, size]
        attended = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=self.head_size**-0.5,
            dropout_p=self.dropout if self.training else 0.0,
        )  # fmt: skip
        if padding:
            attended = attended[..., : self.head_size]
        return self.output(attended.transpose(1, 2).reshape(batch, length, -1))


class SelfAttentionLayer(nn.Module):
    """Attention, then feed-forward, each LayerNorm(x + dropout(sublayer(x))), Eqs. 13 to 15.

    norm_first: x + dropout(sublayer(LayerNorm(x))) instead (Xiong et al. 2020).
    """

    def __init__(
        self,
        features: int,
        heads: int,
        head_size: int,
        feedforward: int,
        attention_dropout: float,
        feedforward_dropout: float,
        residual_dropout: float,
        norm_first: bool = False,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(features, heads, head_size, attention_dropout)
        self.attention_norm = nn.LayerNorm(features, eps=1e-3)
        self.up = nn.Linear(features, feedforward)
        self.down = nn.Linear(feedforward, features)
        self.feedforward_norm = nn.LayerNorm(features, eps=1e-3)
        self.feedforward_dropout = SharedDropout(feedforward_dropout)
        self.residual_dropout = SharedDropout(residual_dropout)
        for linear in (self.up, self.down):
            nn.init.orthogonal_(linear.weight)
            nn.init.zeros_(linear.bias)

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
    share the last one).
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
    ) -> None:
        super().__init__()
        self.features = features
        self.layers = nn.ModuleList(
            SelfAttentionLayer(
                features, heads, head_size, feedforward,
                attention_dropout, feedforward_dropout, residual_dropout, norm_first,
            )
            for _ in range(layers)
        )  # fmt: skip
        self.dropout = SharedDropout(input_dropout)
        self.norm = nn.LayerNorm(features, eps=1e-3) if norm_first else nn.Identity()
        self.positions = nn.Embedding(longest, features) if positions == "learned" else None

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """x: [batch, length, features], lengths: [batch] -> the same shape as x."""
        length = x.shape[1]
        if self.positions is None:
            x = x + sinusoids(length, self.features, x.device)
        else:
            place = torch.arange(length, device=x.device)
            x = x + self.positions(place.clamp(max=self.positions.num_embeddings - 1))
        x = self.dropout(x)
        mask = (torch.arange(length, device=x.device) < lengths[:, None])[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)
