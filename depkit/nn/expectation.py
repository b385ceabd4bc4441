"""The expected vector of a value that is known by its probabilities."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from depkit.nn.bags import sum_rows


class ExpectedVectors(nn.Module):
    """The sum over columns of the expected vector of their value.

    Args:
        sizes: The number of values of each column.
        size: The size of the vectors.
    """

    def __init__(self, sizes: Mapping[str, int], size: int) -> None:
        super().__init__()
        self.size = size
        self.tables = nn.ModuleDict(
            {name: nn.EmbeddingBag(values, size, mode="sum") for name, values in sizes.items()}
        )

    def forward(self, columns: Mapping[str, tuple[Tensor, Tensor]], like: Tensor) -> Tensor:
        """Compute the vectors, [batch, length, size].

        Args:
            columns: The indices of some values and their probabilities, [batch, length, value].
            like: Any tensor [batch, length] on the device.
        """
        total = torch.zeros(like.numel(), self.size, device=like.device)
        for name, table in self.tables.items():
            assert isinstance(table, nn.EmbeddingBag)
            values, probabilities = (x.flatten(0, 1) for x in columns[name])
            total = total + sum_rows(table, values, probabilities)
        return total.view(*like.shape, self.size)
