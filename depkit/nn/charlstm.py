"""Word vectors from a BiLSTM over the characters (CharLSTM, Kitaev and Klein 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from depkit.nn.lstm import reorder, reversal_indices, run_lstm


class CharLSTM(nn.Module):
    """The final states of a forward and a backward LSTM over a word's characters, concatenated.

    Run it once for each distinct word. Words must be sorted by length and divided into groups of
    similar length, so that little padding is read.

    characters: the number of different characters, with padding as character 0.
    """

    def __init__(self, characters: int, embedding: int, output_size: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.forward_lstm = nn.LSTM(embedding, output_size // 2, batch_first=True)
        self.backward_lstm = nn.LSTM(embedding, output_size - output_size // 2, batch_first=True)

    def forward(
        self, characters: Tensor, lengths: Tensor, groups: Sequence[tuple[int, int]]
    ) -> Tensor:
        """Compute the vectors of words that are sorted by length, [words, output_size].

        Args:
            characters: [words, longest] character indices.
            lengths: [words], the number of characters of each word.
            groups: For each group of words, the index after its last word and the length of its
                longest word.
        """
        vectors = []
        start = 0
        for end, width in groups:
            vectors.append(self._final_states(characters[start:end, :width], lengths[start:end]))
            start = end
        return torch.cat(vectors) if len(vectors) > 1 else vectors[0]

    def _final_states(self, characters: Tensor, lengths: Tensor) -> Tensor:
        x = self.dropout(self.embedding(characters))  # [words, width, embedding]
        forward = run_lstm(self.forward_lstm, x)
        reverse = reversal_indices(lengths, characters.shape[1])
        backward = run_lstm(self.backward_lstm, reorder(x, reverse))
        both = torch.cat((forward, backward), dim=-1)
        last = (lengths - 1)[:, None, None].expand(-1, 1, both.shape[-1])
        return both.gather(1, last).squeeze(1)
