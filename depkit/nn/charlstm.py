"""A word's vector from its characters (CharLSTM, Kitaev and Klein 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from depkit.nn.lstm import reversal, run_lstm, turn


class CharLSTM(nn.Module):
    """One BiLSTM over a word's characters; both final states, concatenated.

    Run it once per distinct word. Words come sorted by length and in groups of similar
    length, so that little padding is read.
    """

    def __init__(self, characters: int, embedding: int, features: int, dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, embedding, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.forward_lstm = nn.LSTM(embedding, features // 2, batch_first=True)
        self.backward_lstm = nn.LSTM(embedding, features - features // 2, batch_first=True)

    def forward(
        self, characters: Tensor, lengths: Tensor, groups: Sequence[tuple[int, int]]
    ) -> Tensor:
        """characters: [words, longest], lengths: [words], both sorted by length.

        groups: (end, width) of each group of words; the last end is the number of words.
        Returns [words, features].
        """
        parts = []
        start = 0
        for end, width in groups:
            parts.append(self._final(characters[start:end, :width], lengths[start:end]))
            start = end
        return torch.cat(parts) if len(parts) > 1 else parts[0]

    def _final(self, characters: Tensor, lengths: Tensor) -> Tensor:
        x = self.dropout(self.embedding(characters))  # [words, width, embedding]
        ahead = run_lstm(self.forward_lstm, x)
        back = run_lstm(self.backward_lstm, turn(x, reversal(lengths, characters.shape[1])))
        both = torch.cat((ahead, back), dim=-1)
        last = (lengths - 1)[:, None, None].expand(-1, 1, both.shape[-1])
        return both.gather(1, last).squeeze(1)
