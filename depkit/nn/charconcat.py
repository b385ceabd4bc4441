"""Word vectors from the first and last characters (CharConcat, Kitaev and Klein 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

CHARACTERS_PER_END = 8  # characters that are read from the beginning, and from the end, of a word


class CharConcat(nn.Module):
    """The embeddings of a word's first and last 8 characters, concatenated (section 5.1).

    The last characters come in reverse order, so a suffix always has the same positions. A word
    of fewer than 8 characters is padded, and the embedding of padding is zero. The interface is
    that of `CharLSTM`.

    characters: the number of different characters, with padding as character 0.
    output_size: the width of the word vectors, to which the embeddings are projected unless they
    have it already.
    """

    def __init__(self, characters: int, embedding: int, output_size: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.projection: nn.Module = nn.Identity()
        if (size := 2 * CHARACTERS_PER_END * embedding) != output_size:
            self.projection = nn.Linear(size, output_size)

    def forward(
        self, characters: Tensor, lengths: Tensor, groups: Sequence[tuple[int, int]] = ()
    ) -> Tensor:
        """Compute the vectors of words in any order, [words, output_size].

        The arguments are those of `CharLSTM.forward`; `groups` is ignored.
        """
        position = torch.arange(CHARACTERS_PER_END, device=characters.device)
        position = position.expand(characters.shape[0], -1)
        ends = torch.cat((position, lengths[:, None] - 1 - position), dim=1)  # [words, 16]
        outside = (ends < 0) | (ends >= lengths[:, None])
        selected = characters.gather(1, ends.clamp(0, characters.shape[1] - 1))
        x = self.embedding(selected.masked_fill(outside, 0))  # [words, 16, embedding]
        vectors: Tensor = self.projection(self.dropout(x).flatten(1))
        return vectors
