"""Word vectors from hashed prefixes, suffixes and the shape of a word.

The features are those of spaCy's MultiHashEmbed (Miranda et al. 2022); the vectors of n-grams are
summed, as in fastText (Bojanowski et al. 2017).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from depkit.nn.attention_mask import real_positions
from depkit.nn.bags import sum_rows

LONGEST_PREFIX = 3  # characters
LONGEST_SUFFIX = 5  # characters
HASHES = 2  # number of rows whose sum is the vector of an affix
_MULTIPLIERS = (-7046029254386353131, -4417276706812531889)  # odd numbers with mixed bits
_POLYNOMIAL = 1_000_003


class AffixEmbedding(nn.Module):
    """The sum of the vectors of a word's prefixes, its suffixes and its shape.

    Prefixes and suffixes are compared in lower case. A word that is shorter than the longest affix
    has an end marker, so that the affix with the marker identifies the whole word. Each affix is
    hashed to two rows of one table, so that two of them rarely share both rows. The vectors are
    zeros at first, so an affix that does not occur in training adds nothing unless it shares a row.

    The shape is the classes of the first and of the last character, and the set of all classes.

    Args:
        rows: The number of rows of the table, besides row 0, which is padding.
        size: The width of the vectors.
        lower_case: [characters], for each character the index of its lower case, or its own.
        classes: [characters], for each character its class, from 0 to 4.
        dropout: The probability that an affix is left out in training.
    """

    def __init__(
        self,
        rows: int,
        size: int,
        lower_case: Sequence[int],
        classes: Sequence[int],
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.output_size = size
        self.dropout = dropout
        self.rows = rows
        self.num_classes = max(classes) + 1
        self.table = nn.EmbeddingBag(1 + rows, size, mode="sum", padding_idx=0)
        nn.init.zeros_(self.table.weight)
        self.lower_case: Tensor
        self.classes: Tensor
        self.register_buffer("lower_case", torch.tensor(lower_case), persistent=False)
        self.register_buffer("classes", torch.tensor(classes), persistent=False)
        # Constants that `forward` made would be copied to a GPU each time.
        self.class_bits: Tensor
        self.factors: Tensor
        self.register_buffer("class_bits", 2 ** torch.arange(self.num_classes), persistent=False)
        self.register_buffer("factors", torch.tensor([[n] for n in _MULTIPLIERS]), persistent=False)

    def forward(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Compute the vectors of words, [words, longest] character indices -> [words, size]."""
        keys = torch.cat(
            (
                self._affix_keys(characters, lengths, LONGEST_PREFIX, from_end=False),
                self._affix_keys(characters, lengths, LONGEST_SUFFIX, from_end=True),
                self._shape_keys(characters, lengths),
            ),
            dim=1,
        )
        if self.training and self.dropout:
            keys = keys.masked_fill(torch.rand(keys.shape, device=keys.device) < self.dropout, 0)
        # The upper bits of the product depend on all bits of the key.
        hashed = 1 + (keys[:, None] * self.factors >> 33 & 0x3FFFFFFF) % self.rows
        rows = torch.where(keys[:, None] == 0, 0, hashed)  # [words, HASHES, keys]
        return sum_rows(self.table, rows.flatten(1))

    def _affix_keys(
        self, characters: Tensor, lengths: Tensor, longest: int, from_end: bool
    ) -> Tensor:
        """Compute a number for each affix of 1 to `longest` characters, [words, longest].

        The number is 0 where the affix would be longer than the word by more than one character.
        """
        offset = torch.arange(longest, device=characters.device)  # distance from the end or start
        position = (
            lengths[:, None] - 1 - offset if from_end else offset.expand(lengths.shape[0], -1)
        )
        selected = characters.gather(1, position.clamp(0, characters.shape[1] - 1))
        # The end of the word is the character 0, which is padding and in no word.
        selected = torch.where(offset < lengths[:, None], self.lower_case[selected], 0)
        keys, key = [], torch.full_like(lengths, 2 if from_end else 1)
        for unit in (selected + 1).unbind(1):
            key = torch.add(unit, key, alpha=_POLYNOMIAL)
            keys.append(key)
        return torch.where(offset <= lengths[:, None], torch.stack(keys, dim=1), 0)

    def _shape_keys(self, characters: Tensor, lengths: Tensor) -> Tensor:
        """Compute a number for the shape of each word, [words, 1]."""
        classes = self.classes[characters]
        inside = real_positions(lengths, characters.shape[1])
        # Padding is counted in an extra last column, which is then dropped.
        found = classes.new_zeros(classes.shape[0], self.num_classes + 1)
        found = found.scatter(1, torch.where(inside, classes, self.num_classes), 1)
        present = (found[:, :-1] * self.class_bits).sum(1)
        last = classes.gather(1, lengths[:, None] - 1).squeeze(1)
        key = (classes[:, 0] * 8 + last) * 64 + present
        return (key * _POLYNOMIAL + 3)[:, None]
