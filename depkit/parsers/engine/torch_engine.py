"""The engine that runs a network with torch, on a CPU or a GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from depkit.parsers.engine.device import autocast


@dataclass(frozen=True)
class TorchEngine:
    """A network on a device. Its scores of a batch stay there until arrays are fetched."""

    network: Any  # a ParserNetwork of the family, or the MeanNetwork of an ensemble
    device: torch.device
    # The precision of matrix products. On a CPU, `load` converts the weights to it; to change it,
    # load the model again.
    precision: torch.dtype = torch.float32

    @contextmanager
    def context(self) -> Iterator[None]:
        """Within the block, the network predicts, and multiplies matrices in its precision."""
        with torch.inference_mode(), autocast(self.device, self.precision):
            yield

    def score(self, batch: Any) -> Any:
        """Score a batch; the result is the family's, see `score` of its network."""
        with self.context():
            return self.network.score(batch)

    def tag_scores(self, batch: Any) -> Any:
        """Score the tags of a batch, without trees; see `columns.network.ColumnScores`."""
        with self.context():
            return self.network.tag_scores(batch)
