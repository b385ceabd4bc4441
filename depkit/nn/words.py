"""Embeddings of words, rare ones of which are replaced by the unknown word in training."""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn


class WordEmbedding(nn.Embedding):
    """An embedding that knows how often each index occurs in the data of an epoch."""

    counts: Tensor | None = None

    def count(self, indices: np.ndarray) -> None:
        counts = np.bincount(indices, minlength=self.num_embeddings)
        self.counts = torch.from_numpy(counts).to(self.weight.device)

    def forward(
        self, words: Tensor, z: float = 0.0, unknown: int = 0, kept: Iterable[int] = ()
    ) -> Tensor:
        """Look up words, [batch, length] -> [batch, length, size].

        In training, a word is replaced by the unknown word with probability z / (z + count).
        kept: the indices that are never replaced.
        """
        vectors: Tensor = super().forward(self.replace(words, z, unknown, kept))
        return vectors

    def replace(self, words: Tensor, z: float, unknown: int, kept: Iterable[int]) -> Tensor:
        """Replace words at random, as `forward` says."""
        if not self.training or not z or self.counts is None:
            return words
        probability = z / (z + self.counts[words])
        is_unknown = torch.rand_like(probability) < probability
        for index in kept:
            is_unknown &= words != index
        return words.masked_fill(is_unknown, unknown)
