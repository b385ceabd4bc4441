"""Sums of rows of an embedding table."""

import torch
from torch import Tensor, nn
from torch.nn import functional


def sum_rows(table: nn.EmbeddingBag, rows: Tensor, weights: Tensor | None = None) -> Tensor:
    """For each bag, sum the rows of a table with its indices, [bags, rows] -> [bags, size].

    weights: [bags, rows], factors of the rows; None for 1. In a graph that is exported, the sum is
    written with simple operations, because ONNX has no operator for it.
    """
    if not torch.compiler.is_exporting():
        result: Tensor = table(rows, per_sample_weights=weights)
        return result
    vectors = functional.embedding(rows, table.weight)
    if table.padding_idx is not None:
        vectors = vectors * (rows != table.padding_idx)[..., None]
    return (vectors if weights is None else vectors * weights[..., None]).sum(-2)
