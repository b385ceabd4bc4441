"""Attention that reads a graph: Mohammadshahi and Henderson (2020), equations 3 and 4.

The relation of a query position to a key position is a small integer; 0 is no relation. Each layer
has a vector of each relation for keys and one for values, which all heads share:

    e_ij = q_i (k_j + keys[relation_ij]) / sqrt(size)
    z_i = sum over j of softmax(e_i)_j (v_j + values[relation_ij])
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.dropout import random_mask

NO_RELATION, TO_DEPENDENT, TO_HEAD = range(3)  # of a query to a key: the key is its dependent, ...
RELATIONS = 3


def arc_relations(heads: Tensor, length: int) -> Tensor:
    """Return the relations of the arcs of trees, which may be incomplete.

    Args:
        heads: [batch, at most length - 1] integers, the heads of the words at the positions from 1
            on; 0 is the artificial root, at position 0, and -1 stands for no head.
        length: The number of positions.

    Returns:
        [batch, length, length] int8 (query, key).
    """
    # Comparisons instead of indices of arcs, for which the host would have to wait for a GPU
    position = torch.arange(length, device=heads.device)
    is_arc = heads[:, None, :] == position[:, None]  # [batch, head, word]
    is_arc = functional.pad(is_arc, (1, length - 1 - heads.shape[1]))  # [batch, head, position]
    relations = is_arc.to(torch.int8) * TO_DEPENDENT
    return relations.masked_fill(is_arc.transpose(1, 2), TO_HEAD)


def relation_masks(relations: Tensor, dtype: torch.dtype) -> list[Tensor]:
    """Return for each relation but NO_RELATION where it holds, [batch, 1, query, key], 0 or 1.

    relations: [batch, query, key] int8.
    """
    return [
        (relations == relation)[:, None].to(dtype) for relation in range(NO_RELATION + 1, RELATIONS)
    ]


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
        masks: list[Tensor],
        dropout: float,
    ) -> Tensor:
        """Compute the attention of all heads.

        Args:
            query: [batch, heads, length, size].
            key: As query.
            value: As query.
            mask: True where a position may attend, as for `selfattention.scaled_attention`.
            masks: The result of `relation_masks`.
            dropout: The dropout rate of the attention weights.

        Returns:
            [batch, length, heads, size].
        """
        query = query * query.shape[-1] ** -0.5
        scores = query @ key.transpose(-1, -2)
        # The vector of NO_RELATION is a summand for all keys, the others are added as differences.
        keys, values = self.keys.to(query.dtype), self.values.to(query.dtype)
        by_relation = query @ keys.transpose(0, 1)  # [batch, heads, query, relation]
        base = by_relation[..., :1]
        for relation, holds in enumerate(masks, start=1):
            scores = scores + holds * (by_relation[..., relation : relation + 1] - base)
        # `base` is the same for all keys of a query, so softmax does not depend on it.
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        if dropout:
            weights = weights * random_mask(weights.shape, dropout, weights.device).to(
                weights.dtype
            )
        attended = weights @ value + weights.sum(-1, keepdim=True) * values[0]
        for relation, holds in enumerate(masks, start=1):
            share = (weights * holds).sum(-1, keepdim=True)
            attended = attended + share * (values[relation] - values[0])
        return attended.transpose(1, 2)
