"""A pretrained transformer as an encoder of vectors, whose attention can read a graph.

Mohammadshahi and Henderson (2020) initialise their parsers from BERT in this way: they keep its
weights and position embeddings, and add relation embeddings to each attention layer.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from depkit.nn.attention_mask import real_positions
from depkit.nn.graph_attention import GraphAttention
from depkit.nn.settings import PretrainedEncoder
from depkit.parsers.inputs.hidden_layers import Rows, run_by_length
from depkit.parsers.inputs.transformer import Transformer, TransformerError

# The name under which `_attend` is registered, and of the argument with the graph
_ATTENTION = "depkit_graph"
GRAPH = "graph_attention"  # the attribute of an attention layer that holds its `GraphAttention`


class TransformerEncoder(nn.Module):
    """An encoder that runs a transformer on vectors of its width.

    The transformer adds position embeddings. A sequence that is too long for it is read in windows
    that overlap by half; arcs between words that are not in the same window are not read.

    Args:
        input_size: The width of the vectors.
        settings: The settings of the encoder.
        transformer: The transformer, whose weights belong to another module.
        reads_graph: Whether its attention reads a graph; see `GraphAttention`.

    Raises:
        TransformerError: If the attention of the transformer cannot be extended.
    """

    def __init__(
        self,
        input_size: int,
        settings: PretrainedEncoder,
        *,
        transformer: Transformer,
        reads_graph: bool = False,
    ) -> None:
        super().__init__()
        self._bodies = [transformer.body]  # a list, so that it is not a submodule
        self.output_size = transformer.width
        self.max_length = transformer.max_pieces
        self.reads_graph = reads_graph
        if reads_graph:
            _extend_attention(transformer.body)

    def forward(
        self,
        x: Tensor,
        lengths: Tensor,
        graph: Tensor | None = None,
        positions: Tensor | None = None,
        *,
        host_lengths: np.ndarray,
    ) -> Tensor:
        """Map x, [batch, length, size], and lengths, [batch], to [batch, length, output_size].

        graph: [batch, length], see `GraphAttention.forward`; positions: [batch, length], None to
        number them from 0; host_lengths: the lengths, on the host. Sequences that are read in
        windows are always numbered from 0.
        """
        if x.shape[1] <= self.max_length:

            def run(rows: Rows, width: int) -> Tensor:
                parts = (None if y is None else y[rows, :width] for y in (graph, positions))
                return self._run(x[rows, :width], lengths[rows], *parts)

            return run_by_length(host_lengths, x.shape[1], x.device, run)
        encoded = x.new_zeros(*x.shape[:2], self.output_size)
        sizes = host_lengths.tolist()
        short = [row for row, size in enumerate(sizes) if size <= self.max_length]
        groups = [(short, self.max_length)] if short else []
        groups += [([row], size) for row, size in enumerate(sizes) if size > self.max_length]
        for rows, size in groups:
            part = None if graph is None else graph[rows, :size]
            encoded[rows, :size] = self._run_windows(x[rows, :size], lengths[rows], part)
        return encoded

    def _run_windows(self, x: Tensor, lengths: Tensor, graph: Tensor | None) -> Tensor:
        """Run the transformer on windows of sequences; arguments and result are as in `forward`."""
        length, width = x.shape[1], self.max_length
        step = max(1, width // 2)
        parts: list[Tensor] = []
        used = 0  # the number of positions whose output is in `parts`
        for start in range(0, max(1, length - width + step), step):
            window = slice(start, min(start + width, length))
            inside = None
            if graph is not None:
                inside = graph[:, window] - start
                inside = inside.masked_fill((inside < 0) | (inside >= inside.shape[1]), -1)
            part = self._run(x[:, window], (lengths - start).clamp(min=1), inside)
            # Use the output up to the middle of the overlap with the next window.
            end = length if window.stop == length else start + width - (width - step) // 2
            parts.append(part[:, used - start : end - start])
            used = end
        return torch.cat(parts, dim=1)

    def _run(
        self,
        x: Tensor,
        lengths: Tensor,
        graph: Tensor | None,
        positions: Tensor | None = None,
    ) -> Tensor:
        (body,) = self._bodies
        mask = real_positions(lengths, x.shape[1])
        options = {} if positions is None else {"position_ids": positions}
        if self.reads_graph and graph is not None:
            options[_ATTENTION] = graph  # transformers passes it on to `_attend`
        output = body(inputs_embeds=x, attention_mask=mask.long(), return_dict=True, **options)
        encoded: Tensor = output.last_hidden_state
        return encoded


def _extend_attention(body: Any) -> None:
    """Add relation embeddings to each attention layer of a transformer.

    The transformer is run once to find out which modules are its attention layers.
    """
    try:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, sdpa_mask
    except ImportError:
        raise TransformerError(
            "this version of transformers has no interface for attention that reads a graph;"
            " install a newer one with: pip install -U transformers"
        ) from None
    sizes: dict[nn.Module, int] = {}

    def record(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *rest: Any,
               **options: Any) -> tuple[Tensor, None]:  # fmt: skip
        if query.shape == key.shape == value.shape and _ATTENTION in options:
            sizes[module] = query.shape[-1]
        return value.transpose(1, 2), None

    AttentionMaskInterface.register(_ATTENTION, sdpa_mask)
    AttentionInterface.register(_ATTENTION, record)
    body.config._attn_implementation = _ATTENTION
    device = next(body.parameters()).device
    try:
        with torch.no_grad():
            x = torch.zeros(1, 2, body.config.hidden_size, device=device)
            body(inputs_embeds=x, **{_ATTENTION: torch.full((1, 2), -1, device=device)})
    finally:
        AttentionInterface.register(_ATTENTION, _attend)
    if len(sizes) != body.config.num_hidden_layers:
        raise TransformerError(
            f"the attention of a transformer of the type {body.config.model_type} cannot read a"
            " graph; use one like BERT, or choose encoder.kind=selfatt, which reads its output"
        )
    for module, size in sizes.items():
        module.add_module(GRAPH, GraphAttention(size).to(device))


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *masks: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    depkit_graph: Tensor | None = None,
    **_options: Any,
) -> tuple[Tensor, None]:
    """Compute the attention of a layer; transformers calls this. See `GraphAttention.forward`."""
    (attention_mask,) = masks
    layer: Any = getattr(module, GRAPH)
    if scaling is not None:
        query = query * (scaling * query.shape[-1] ** 0.5)
    if attention_mask is None:
        attention_mask = torch.ones(key.shape[-2], dtype=torch.bool, device=query.device)
    return layer(query, key, value, attention_mask, graph=depkit_graph, dropout=dropout), None
