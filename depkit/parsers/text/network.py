"""The network of the tokenizer, which labels characters by convolutions."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.dilated import DilatedConvolutions
from depkit.parsers.engine.device import send

PAIR_DROPOUT = 0.5  # the share of the pairs that are left out in training
_FACTOR = 10_007  # is odd, so that it spreads pairs over a table whose size is a power of two


class TokenizerNetwork(nn.Module):
    """The classifiers of characters.

    Args:
        characters: The number of characters in the vocabulary.
        embedding: The size of the embedding of a character.
        size: The size of the layers.
        dilations: Those of the convolutions, see `DilatedConvolutions`.
        dropout: The dropout of the embeddings and of what the encoder computes.
        pairs: The number of embeddings of pairs of a character and the following one, a power of
            two. Several pairs share an embedding (Weinberger et al. 2009). 0 for none.
    """

    def __init__(
        self,
        characters: int,
        embedding: int,
        size: int,
        *,
        dilations: Sequence[int],
        dropout: float = 0.0,
        pairs: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=0)
        self.pairs = nn.Embedding(pairs, embedding) if pairs else None
        if self.pairs is not None:
            nn.init.normal_(self.pairs.weight, std=0.1)
        self.dropout = nn.Dropout(dropout)
        self.size, self.dilations, self.num_pairs = size, tuple(dilations), pairs
        self.encoder = DilatedConvolutions(embedding, size, dilations, dropout)
        self.ends = nn.Linear(size, 3)
        self.multiword = nn.Linear(size, 3)

    def forward(
        self, characters: Tensor, lengths: Tensor, vectors: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute logits of what ends after a character, and of the labels for multiword tokens.

        Args:
            characters: [batch, length].
            lengths: [batch].
            vectors: In training, those of the treebanks that the sequences are from, which are
                added to the embeddings of their characters, [batch, embedding].

        Returns:
            The logits of both, [batch, length, 3] each.
        """
        x = self.embedding(characters)
        if self.pairs is not None:
            following = functional.pad(characters[:, 1:], (0, 1))
            pairs = self.pairs((characters * _FACTOR + following) % self.num_pairs)
            # A pair can be so telling in training that the single characters are hardly learned.
            x = x + functional.dropout1d(pairs, PAIR_DROPOUT, self.training)
        if vectors is not None:
            x = x + vectors[:, None]
        x = self.encoder(self.dropout(x), lengths)
        x = self.dropout(x)
        return self.ends(x), self.multiword(x)

    def best_labels(self, characters: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return both labels of each character, [2, batch, length] int8, on the host."""
        self.eval()
        device = self.embedding.weight.device
        arrays = (send(torch.from_numpy(array), device) for array in (characters, sizes))
        return self.label_graph(*arrays).cpu().numpy()

    def label_graph(self, characters: Tensor, sizes: Tensor) -> Tensor:
        """Compute both labels of each character, [2, batch, length] int8."""
        best = torch.stack([logits.argmax(-1) for logits in self(characters, sizes)])
        return best.to(torch.int8)
