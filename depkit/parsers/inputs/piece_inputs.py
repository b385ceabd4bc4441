"""Sequences of word pieces, the input of a transformer that is the encoder of a parser."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from depkit.nn.graph_attention import heads_of_positions
from depkit.parsers.engine.device import send
from depkit.parsers.engine.transfer import send_arrays
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.hidden_layers import piece_counts
from depkit.parsers.inputs.pieces import find_segment_format
from depkit.parsers.inputs.transformer import Transformer, TransformerError

INITIAL_STD = 0.02  # the standard deviation of initial tag and label embeddings, as in BERT


@dataclass(frozen=True)
class PieceSequences:
    """The pieces of sentences, special pieces included.

    vectors: [sentence, position, size].
    lengths: [sentence], the numbers of positions.
    first: [sentence, length of the batch], the position of the first piece of each word; 0 for w0,
        which is the first special piece, and at padding.
    word: [sentence, position], at each piece of a word after the first, the position of the first
        one; -1 elsewhere.
    host_lengths: [sentence], the same numbers as `lengths`, on the host.
    """

    vectors: Tensor
    lengths: Tensor
    first: Tensor
    word: Tensor
    host_lengths: np.ndarray

    @property
    def device(self) -> torch.device:
        return self.vectors.device

    def select(self, rows: np.ndarray) -> "PieceSequences":
        """Return the sentences with the indices `rows`, in which an index may be repeated."""
        on_device = send(torch.from_numpy(rows.astype(np.int64)), self.device)
        return PieceSequences(
            self.vectors[on_device], self.lengths[on_device], self.first[on_device],
            self.word[on_device], self.host_lengths[rows],
        )  # fmt: skip

    def with_root(self, root: Tensor) -> "PieceSequences":
        """Insert a vector after the first special piece, which represents w0 from then on."""
        vectors = self.vectors
        inserted = root.to(vectors.dtype).expand(len(vectors), 1, -1)
        vectors = torch.cat((vectors[:, :1], inserted, vectors[:, 1:]), dim=1)
        first = torch.where(self.first > 0, self.first + 1, 0)  # also 0 at padding
        first[:, 0] = 1
        word = torch.where(self.word >= 0, self.word + 1, -1)
        word = torch.cat((word[:, :1], torch.full_like(word[:, :1], -1), word[:, 1:]), dim=1)
        return PieceSequences(vectors, self.lengths + 1, first, word, self.host_lengths + 1)

    def add_to_words(self, vectors: Tensor) -> Tensor:
        """Return the vectors of pieces, after adding a vector to the first piece of each word.

        vectors: [sentence, words, size], for words 1, 2 and so on; zeros at padding.
        """
        index = self.first[:, 1 : 1 + vectors.shape[1], None].expand_as(vectors)
        return self.vectors.scatter_add(1, index, vectors.to(self.vectors.dtype))

    def words(self, vectors: Tensor) -> Tensor:
        """Gather the vectors of w0 and of the first pieces of words, [sentence, length, size].

        vectors: [sentence, position, size].
        """
        return vectors.gather(1, self.first[..., None].expand(-1, -1, vectors.shape[-1]))

    def graph(self, heads: Tensor) -> Tensor:
        """Return the position of each position's head, [sentence, position] int64, -1 for none.

        An arc links the first pieces of two words. The first piece of a word is also the head of
        its other pieces (section 3.2 of Mohammadshahi and Henderson 2020).

        heads: [sentence, words], the heads of words 1, 2 and so on, 0 for w0 and -1 for none.
        """
        target = self.first.gather(1, heads.long().clamp(min=0)).masked_fill(heads < 0, -1)
        # Padding words have position 0 and no head; [:, 1:] removes position 0.
        position = self.first[:, 1 : 1 + heads.shape[1]]
        piece_heads = self.word.scatter(1, position, target)[:, 1:]
        return heads_of_positions(piece_heads, self.vectors.shape[1])


class PieceInputs(nn.Module):
    """Adds tag embeddings to the transformer's embeddings of word pieces.

    Embeddings of tags and labels are added to the first pieces of words.

    Args:
        transformer: The transformer, whose weights belong to another module.
        tags: The number of tags; 0 if they are not read.
        labels: The number of labels in a parse that is corrected; 0 if there is none.
    """

    def __init__(self, transformer: Transformer, tags: int, labels: int) -> None:
        super().__init__()
        self._bodies = [transformer.body]  # a list, so that it is not a submodule
        self._format = find_segment_format(transformer.tokenizer, transformer.max_pieces)
        if not len(self._format.prefix):
            raise TransformerError(
                f"{transformer.name}: its tokenizer adds no special token before a sentence, which"
                " an encoder needs to represent the root; choose another encoder.kind"
            )
        self.tag = small_embedding(tags, transformer.width) if tags else None
        # Row 0 is for words without a label.
        self.label = small_embedding(1 + labels, transformer.width) if labels else None

    def forward(self, batch: Batch) -> PieceSequences:
        """Make the sequences of the sentences of a batch."""
        vectors = self._bodies[0].get_input_embeddings()(batch["pieces.ids"])
        arranged = arrange_pieces(batch)
        arrays = send_arrays(arranged, vectors.device)
        sequences = PieceSequences(vectors, **arrays, host_lengths=arranged["lengths"])
        if self.tag is None:
            return sequences
        vectors = sequences.add_to_words(self.tag(batch["tag"])[:, 1:])
        return replace(sequences, vectors=vectors)

    def special_vectors(self) -> Tensor:
        """Return the vectors of the special pieces before and after a sentence, [2, size]."""
        ends = [int(self._format.prefix[0]), int([*self._format.prefix, *self._format.suffix][-1])]
        table: Tensor = self._bodies[0].get_input_embeddings().weight.detach()
        return table[ends].clone()


def small_embedding(rows: int, size: int) -> nn.Embedding:
    """Make an embedding with the initial standard deviation of BERT's; row 0 stays zero."""
    table = nn.Embedding(rows, size, padding_idx=0)
    with torch.no_grad():
        table.weight.mul_(INITIAL_STD)
    return table


def arrange_pieces(batch: Batch) -> dict[str, np.ndarray]:
    """Return `lengths`, `first` and `word` of `PieceSequences`, by name.

    batch: a batch in which each sentence is one segment, with all pieces of a word selected.
    """
    rows, width = batch.host["pieces.ids"].shape
    piece, word = batch.host["pieces.position"], batch.host["pieces.word"]
    is_first = np.diff(word, prepend=-1) > 0
    first = np.zeros(rows * batch.length, np.int64)
    first[word[is_first]] = piece[is_first] % width
    owner = np.full(rows * width, -1, np.int64)
    owner[piece[~is_first]] = first[word[~is_first]]
    return {
        "lengths": piece_counts(batch), "first": first.reshape(rows, -1),
        "word": owner.reshape(rows, width),
    }  # fmt: skip
