"""A word's vector from its first and last characters (CharConcat, Kitaev and Klein 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

EACH_END = 8  # characters that are read from each end of a word


class CharConcat(nn.Module):
    """The vectors of a word's first and last 8 characters, concatenated (section 5.1).

    The last ones come last first, so that a suffix always stands at the same place. What a
    shorter word lacks is padding, whose vector is zero. Interchangeable with `CharLSTM`.
    """

    def __init__(self, characters: int, embedding: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.features = 2 * EACH_END * embedding

    def forward(
        self, characters: Tensor, lengths: Tensor, groups: Sequence[tuple[int, int]] = ()
    ) -> Tensor:
        """characters: [words, longest], lengths: [words], in any order; groups: not needed.

        Returns [words, 16 * embedding].
        """
        place = torch.arange(EACH_END, device=characters.device).expand(len(characters), -1)
        ends = torch.cat((place, lengths[:, None] - 1 - place), dim=1)  # [words, 16]
        outside = (ends < 0) | (ends >= lengths[:, None])
        chosen = characters.gather(1, ends.clamp(0, characters.shape[1] - 1))
        x = self.embedding(chosen.masked_fill(outside, 0))  # [words, 16, embedding]
        return self.dropout(x).flatten(1)
