"""An encoder from outside the package: its settings and its module. It needs one table entry."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from depkit.files.bounds import setting
from depkit.nn.settings import Encoder


@dataclass(frozen=True)
class NeighboursSettings(Encoder):
    projects_inputs = True
    kind: Literal["neighbours"] = "neighbours"
    size: int = setting(8, minimum=1)
    reach: int = setting(1, minimum=1, at_test_time=True)  # words that are read on each side
    power: float = setting(1.0, below=3, needs={"reach": [2, 3]})

    def check(self) -> None:
        if self.reach > self.size:
            raise ValueError(f"encoder.reach is {self.reach}, but encoder.size is {self.size}")


class Neighbours(nn.Module):
    """Adds to each word the mean of the words around it."""

    def __init__(self, input_size: int, settings: NeighboursSettings, *, dropout: float) -> None:
        super().__init__()
        self.output_size = input_size
        self.reach = settings.reach
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(input_size, input_size)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        width = 2 * self.reach + 1
        means = functional.avg_pool1d(x.transpose(1, 2), width, 1, self.reach).transpose(1, 2)
        return self.linear(self.dropout(x + means))
