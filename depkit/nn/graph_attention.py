"""Attention that reads a graph: Mohammadshahi and Henderson (2020), equations 3 and 4.

The relation of a query position to a key position is a small integer; 0 is no relation. Each layer
has a vector of each relation for keys and one for values, which all heads share:

    e_ij = q_i (k_j + keys[relation_ij]) / sqrt(size)
    z_i = sum over j of softmax(e_i)_j (v_j + values[relation_ij])

Each position has at most one arc from a head. So a graph is the position of each position's head,
[batch, length] integers, -1 for none, and the relations are added where there are arcs.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.attention_mask import pad_keys
from depkit.nn.dropout import random_mask

NO_RELATION, TO_DEPENDENT, TO_HEAD = range(3)  # of a query to a key: the key is its dependent, ...
RELATIONS = 3


def heads_of_positions(heads: Tensor, length: int) -> Tensor:
    """Return the graph of trees, which may be incomplete, [batch, length] int64.

    Args:
        heads: [batch, at most length - 1] integers, the heads of the words at the positions from 1
            on; 0 is the artificial root, at position 0, and -1 stands for no head.
        length: The number of positions.
    """
    return functional.pad(heads.long(), (1, length - 1 - heads.shape[1]), value=-1)


class GraphAttention(nn.Module):
    """The vectors of the relations of one layer, for keys and for values; see above."""

    def __init__(self, head_size: int) -> None:
        super().__init__()
        self.keys = nn.Parameter(torch.randn(RELATIONS, head_size) * 0.02)
        self.values = nn.Parameter(torch.randn(RELATIONS, head_size) * 0.02)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor,
        *,
        graph: Tensor | None,
        dropout: float,
    ) -> Tensor:
        """Compute the attention of all attention heads, [batch, length, heads, size].

        Args:
            query: [batch, heads, length, size].
            key: As query.
            value: As query.
            mask: True where a position may attend, as for `selfattention.scaled_attention`.
            graph: [batch, length], the position of each position's head, -1 for none; None for a
                graph without arcs.
            dropout: The dropout rate of the attention weights.
        """
        key, value, mask = pad_keys(key, -2), pad_keys(value, -2), pad_keys(mask, -1)
        query = query * query.shape[-1] ** -0.5
        scores = query @ key.transpose(-1, -2)
        # The vector of NO_RELATION adds the same to the scores of all keys of a query, so softmax
        # does not depend on it. The vectors of the other relations are added as differences to it.
        keys, values = self.keys.to(query.dtype), self.values.to(query.dtype)
        if graph is not None:
            has_head = (graph >= 0)[:, None].to(query.dtype)
            head = graph.clamp(min=0)[:, None].expand(query.shape[:3])  # [batch, heads, length]
            # [batch, heads, query] for each of the two relations
            to_dependent, to_head = (query @ (keys[1:] - keys[0]).transpose(0, 1)).unbind(-1)
            from_head = to_dependent.gather(-1, head) * has_head
            scores.scatter_add_(-1, head[..., None], (to_head * has_head)[..., None])
            scores.scatter_add_(-2, head[:, :, None], from_head[:, :, None])
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        if dropout:
            weights = weights * random_mask(weights.shape, dropout, weights.device).to(
                weights.dtype
            )
        attended = weights @ value + weights.sum(-1, keepdim=True) * values[0]
        if graph is not None:
            of_heads = weights.gather(-1, head[..., None])[..., 0] * has_head
            of_arcs = weights.gather(-2, head[:, :, None])[:, :, 0, : head.shape[-1]] * has_head
            of_dependents = torch.zeros_like(of_arcs).scatter_add(-1, head, of_arcs)
            shares = torch.stack((of_dependents, of_heads), dim=-1)  # [batch, heads, query, 2]
            attended = attended + shares @ (values[1:] - values[0])
        return attended.transpose(1, 2)
