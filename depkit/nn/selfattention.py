"""Self-attention encoder of Li et al. (2019), section 3.1, after Vaswani et al. (2017).

Options add rotary positions (Su et al. 2021), a convolution over neighbouring words (Gulati et al.
2020), initialisation with zeros (Zhang et al. 2019), and the variants of Kitaev and Klein (2018).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from depkit.nn.attention_mask import attention_mask, pad_keys, real_positions, score_bias
from depkit.nn.convolution import LocalConvolution
from depkit.nn.dropout import SharedDropout, random_mask
from depkit.nn.graph_attention import GraphAttention
from depkit.nn.initial import orthogonal_
from depkit.nn.positions import position_vectors, rotary_angles, rotate
from depkit.nn.settings import AttentionEncoder
from depkit.nn.settings import SelfAttention as Settings

ACTIVATIONS = {"relu": functional.relu, "silu": functional.silu}

# Fused attention kernels need head sizes that are multiples of this number.
_HEAD_MULTIPLE = {"cuda": 8}
# On these devices, attention is computed by separate products. PyTorch's fused function is slower
# for short sentences; it is used for long ones in parsing, because it needs less memory.
_PLAIN_DEVICES = {"cpu"}
# The weights of more queries than this are not stored for the backward pass, but computed again.
_MAX_STORED_QUERIES = 1024


@dataclass(frozen=True)
class PositionInfo:
    """What the layers of an encoder need to know about the positions of a batch."""

    mask: Tensor  # from `attention_mask`, True where a position may attend
    is_real: Tensor  # [batch, length, 1], False at padding
    rotation: tuple[Tensor, Tensor] | None = None  # from `rotary_angles`, for rotary positions
    # [length, input_size], the vectors that queries and keys are computed from, if these are not
    # the input of the layer
    query_vectors: Tensor | None = None
    # for layers that read a graph: the graph, as for `GraphAttention.forward`
    graph: Tensor | None = None
    # the results of `bias`, by the number of heads and the data type
    biases: dict[tuple[int, torch.dtype], Tensor] = field(default_factory=dict)

    def bias(self, query: Tensor) -> Tensor:
        """Return the `score_bias` for queries, [batch, heads, length, size].

        It is made once and used by all layers.
        """
        _, heads, length, _ = query.shape
        key = heads, query.dtype
        if key not in self.biases:
            self.biases[key] = score_bias(self.mask, length, heads, query.dtype)
        return self.biases[key]


def scaled_attention(
    query: Tensor, key: Tensor, value: Tensor, *, positions: PositionInfo, dropout: float
) -> Tensor:
    """Compute softmax(q k / sqrt(size)) v for all attention heads at once (Eqs. 10 and 11).

    On a GPU, heads whose size is not a multiple of 8 are padded with zeros, because fused kernels
    need such sizes. The scale is that of the real size, so the result is the same.

    query, key and value: [batch, heads, length, size]. Returns [batch, length, heads, size].
    """
    size = query.shape[-1]
    is_plain = query.device.type in _PLAIN_DEVICES
    if is_plain and query.shape[2] <= _MAX_STORED_QUERIES:
        bias = positions.bias(query)
        return _attend_by_products(query, key, value, bias, dropout=dropout).transpose(1, 2)
    if is_plain and torch.is_grad_enabled():
        masks = positions.mask.expand(-1, -1, query.shape[2], -1)
        parts = [
            checkpoint(
                _attend_with_mask, part, key, value, mask, dropout=dropout, use_reentrant=False
            )
            for part, mask in zip(
                query.split(_MAX_STORED_QUERIES, dim=2),
                masks.split(_MAX_STORED_QUERIES, dim=2),
                strict=True,
            )
        ]
        return torch.cat(parts, dim=2).transpose(1, 2)
    padding = -size % _HEAD_MULTIPLE.get(query.device.type, 1)
    if padding:
        query, key, value = (functional.pad(x, (0, padding)) for x in (query, key, value))
    attended = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=positions.mask, scale=size**-0.5, dropout_p=dropout
    )
    return attended[..., :size].transpose(1, 2)


def _attend_with_mask(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *, dropout: float
) -> Tensor:
    """Compute attention with a mask, so that the bias made of it is not stored for the gradient."""
    _, heads, length, _ = query.shape
    bias = score_bias(mask, length, heads, query.dtype)
    return _attend_by_products(query, key, value, bias, dropout=dropout)


def _attend_by_products(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor, *, dropout: float
) -> Tensor:
    """Compute attention by separate products of matrices; bias: the result of `score_bias`."""
    scale = query.shape[-1] ** -0.5
    # `baddbmm` needs the batch and the heads in one dimension.
    queries, keys, values = (
        x.flatten(0, 1) for x in (query, pad_keys(key, -2), pad_keys(value, -2))
    )
    # Autocast would compute the softmax in float32, which takes more time.
    with torch.autocast(query.device.type, enabled=False):
        weights = torch.baddbmm(bias, queries, keys.transpose(1, 2), alpha=scale).softmax(-1)
        if dropout:
            weights = weights * random_mask(weights.shape, dropout, weights.device).to(
                weights.dtype
            )
        return torch.bmm(weights, values).unflatten(0, query.shape[:2])


class MultiHeadAttention(nn.Module):
    """Multi-head self-attention without biases (Eqs. 9 to 12), which may read a graph."""

    def __init__(self, size: int, settings: Settings, reads_graph: bool = False) -> None:
        super().__init__()
        self.heads, self.head_size = settings.heads, settings.head_size
        self.dropout = settings.attention_dropout
        self.query_key_value = nn.Linear(size, 3 * self.heads * self.head_size, bias=False)
        self.output = nn.Linear(self.heads * self.head_size, size, bias=False)
        nn.init.xavier_uniform_(self.query_key_value.weight)
        (nn.init.zeros_ if settings.zero_init else orthogonal_)(self.output.weight)
        self.graph = GraphAttention(self.head_size) if reads_graph else None

    def forward(self, x: Tensor, positions: PositionInfo) -> Tensor:
        """Map [batch, length, input_size] to the same shape."""
        packed = self._project(x, positions).view(*x.shape[:2], 3, self.heads, self.head_size)
        query_key, value = packed.permute(2, 0, 3, 1, 4).split((2, 1))  # [..., length, head_size]
        if positions.rotation is not None:
            query_key = rotate(query_key.contiguous(), *positions.rotation)
        dropout = self.dropout if self.training else 0.0
        query, key = query_key.unbind(0)
        if self.graph is not None:
            attended = self.graph(
                query, key, value[0], positions.mask, graph=positions.graph, dropout=dropout
            )
        else:
            attended = scaled_attention(query, key, value[0], positions=positions, dropout=dropout)
        return self.output(attended.flatten(2))

    def _project(self, x: Tensor, positions: PositionInfo) -> Tensor:
        """Compute queries, keys and values, [batch, length, 3 * heads * head_size]."""
        if positions.query_vectors is None:
            return self.query_key_value(x)
        size = self.heads * self.head_size
        query_key, value = self.query_key_value.weight.split((2 * size, size))
        shared = functional.linear(positions.query_vectors.to(x.dtype), query_key)
        return torch.cat((shared.expand(x.shape[0], -1, -1), functional.linear(x, value)), dim=-1)


class ResidualLayer(nn.Module):
    """Attention, then a feed-forward network, both as LayerNorm(x + dropout(sublayer(x))).

    These are Eqs. 13 to 15. With `norm_first`, the sublayers are x + dropout(sublayer(
    LayerNorm(x))) instead (Xiong et al. 2020). The linear layers of the feed-forward network are
    initialised here.

    Args:
        size: The width of the input and the output.
        settings: The settings of the encoder.
        attention: A module that maps (x, PositionInfo) to the shape of x.
        up: The first linear layer of the feed-forward network.
        down: The second linear layer.
        activation: "relu" or "silu".
        zero_init: Whether the weights of `down` are initialised with zeros, so that the
            feed-forward network adds nothing at first (Zhang et al. 2019).
        convolution: A sublayer before attention that has its own LayerNorm, or None.
    """

    def __init__(
        self,
        size: int,
        settings: AttentionEncoder,
        *,
        attention: nn.Module,
        up: nn.Module,
        down: nn.Module,
        activation: str = "relu",
        zero_init: bool = False,
        convolution: LocalConvolution | None = None,
    ) -> None:
        super().__init__()
        self.norm_first = settings.norm_first
        self.convolution = convolution
        self.attention = attention
        self.attention_norm = nn.LayerNorm(size, eps=1e-3)
        self.up = up
        self.down = down
        self.activation = ACTIVATIONS[activation]
        self.feedforward_norm = nn.LayerNorm(size, eps=1e-3)
        self.feedforward_dropout = SharedDropout(settings.feedforward_dropout)
        self.residual_dropout = SharedDropout(settings.residual_dropout)
        for linear, is_last in ((up, False), (down, True)):
            for module in linear.modules():
                if isinstance(module, nn.Linear):
                    (nn.init.zeros_ if zero_init and is_last else orthogonal_)(module.weight)
                    nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, positions: PositionInfo) -> Tensor:
        """Map [batch, length, input_size] to the same shape."""
        if self.convolution is not None:
            x = x + self.residual_dropout(self.convolution(x, positions.is_real))
        if self.norm_first:
            x = x + self.residual_dropout(self.attention(self.attention_norm(x), positions))
            return x + self.residual_dropout(self.feedforward(self.feedforward_norm(x)))
        x = self.attention_norm(x + self.residual_dropout(self.attention(x, positions)))
        return self.feedforward_norm(x + self.residual_dropout(self.feedforward(x)))

    def feedforward(self, x: Tensor) -> Tensor:
        """Apply the feed-forward network (Eq. 14)."""
        return self.down(self.feedforward_dropout(self.activation(self.up(x))))


class AttentionLayers(nn.Module):
    """What encoders with layers of attention share.

    The attributes window and relaxed may be changed at any time, to see how they affect a trained
    model (Kitaev and Klein 2018, section 4.2).

    Args:
        input_size: The width of the input.
        size: The width of the layers and of the output.
        settings: The settings of the encoder, except `size`, which is the width of the input.
        layers: The layers, which map (x, PositionInfo) to the shape of x.
        input_norm: Whether LayerNorm is applied to the input of the first layer.
        dropout: The dropout rate of the input.
        stop: Whether the last position of each sentence is the stop position.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        settings: AttentionEncoder,
        *,
        layers: Iterable[nn.Module],
        input_norm: bool,
        dropout: float,
        stop: bool,
    ) -> None:
        super().__init__()
        self.input_size, self.output_size = input_size, size
        self.window, self.relaxed, self.stop = settings.window, settings.relaxed, stop
        self.layers = nn.ModuleList(layers)
        self.dropout = SharedDropout(dropout)
        self.input_norm = nn.LayerNorm(size, eps=1e-3) if input_norm else nn.Identity()
        self.norm = nn.LayerNorm(size, eps=1e-3) if settings.norm_first else nn.Identity()
        is_learned = settings.positions == "learned"
        self.positions = nn.Embedding(settings.max_positions, input_size) if is_learned else None

    def position_vectors(self, x: Tensor) -> Tensor:
        """Make the vectors of the positions of x, [length, input_size]."""
        return position_vectors(self.positions, x.shape[1], self.input_size, x.device)

    def run_layers(
        self,
        x: Tensor,
        lengths: Tensor,
        *,
        rotation: tuple[Tensor, Tensor] | None = None,
        query_vectors: Tensor | None = None,
        graph: Tensor | None = None,
    ) -> Tensor:
        """Map [batch, length, size] to the same shape; see `PositionInfo` for the arguments."""
        length = x.shape[1]
        info = PositionInfo(
            attention_mask(
                lengths, length, window=self.window, relaxed=self.relaxed, stop=self.stop
            ),
            real_positions(lengths, length)[..., None],
            rotation,
            query_vectors,
            graph,
        )
        x = self.input_norm(x)
        for layer in self.layers:
            x = layer(x, info)
        return self.norm(x)


class SelfAttention(AttentionLayers):
    """Layers of self-attention, over inputs with position vectors (Eq. 7) or with rotary positions.

    The arguments are those of `AttentionLayers`; reads_graph: whether the layers read a graph.
    """

    def __init__(
        self,
        input_size: int,
        settings: Settings,
        *,
        dropout: float = 0.0,
        stop: bool = False,
        reads_graph: bool = False,
    ) -> None:
        concatenates = settings.combine_positions == "concat"
        size = (1 + concatenates) * input_size
        kernel = settings.convolution
        layers = (
            ResidualLayer(
                size,
                settings,
                attention=MultiHeadAttention(size, settings, reads_graph),
                up=nn.Linear(size, settings.feedforward),
                down=nn.Linear(settings.feedforward, size),
                activation=settings.activation,
                zero_init=settings.zero_init,
                convolution=LocalConvolution(size, kernel) if kernel else None,
            )
            for _ in range(settings.layers)
        )
        super().__init__(
            input_size, size, settings, layers=layers, input_norm=settings.input_norm,
            dropout=dropout, stop=stop,
        )  # fmt: skip
        self.concatenates = concatenates
        self.head_size = settings.head_size
        self.rotary_base = settings.rotary_base if settings.positions == "rotary" else 0.0
        self.drop_positions = settings.drop_positions
        self.position_attention = settings.position_attention

    def forward(self, x: Tensor, lengths: Tensor, graph: Tensor | None = None) -> Tensor:
        """Map x, [batch, length, input_size], and lengths, [batch], to [..., output_size].

        graph: [batch, length], for layers that read one, see `GraphAttention.forward`.
        """
        if self.rotary_base:
            rotation = rotary_angles(x.shape[1], self.head_size, self.rotary_base, x.device)
            return self.run_layers(self.dropout(x), lengths, rotation=rotation, graph=graph)
        x, vectors = self._add_positions(x)
        query_vectors = vectors if self.position_attention else None
        return self.run_layers(x, lengths, query_vectors=query_vectors, graph=graph)

    def _add_positions(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Add or concatenate position vectors; return the result and the vectors.

        The vectors have the width of the result, with zeros for the contents if concatenated.
        """
        vectors = self.position_vectors(x)
        if self.concatenates:
            x = torch.cat((self.dropout(x), vectors.expand_as(x)), dim=-1)
            return x, functional.pad(vectors, (self.input_size, 0))
        if self.drop_positions:
            return self.dropout(x + vectors), vectors
        return self.dropout(x) + vectors, vectors
