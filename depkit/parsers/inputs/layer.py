"""What a word is to the encoder (Li et al. 2019, Eq. 2; Kitaev and Klein 2018, section 5): word,
tag, characters and contextual vectors, concatenated or summed."""

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.charconcat import CharConcat
from depkit.nn.charlstm import CharLSTM
from depkit.nn.dropout import InputDropout
from depkit.nn.layermix import LayerMix
from depkit.parsers.config import Context, Inputs
from depkit.parsers.inputs.batches import Batch, Dataset
from depkit.parsers.inputs.pieces import PieceBatch, pool
from depkit.parsers.inputs.transformer import Transformer, checkpoint_layers, hidden_layers
from depkit.parsers.inputs.vocabulary import PAD, ROOT, SPECIAL, UNKNOWN, Vocabulary
from depkit.parsers.settings import ConfigError


def part_sizes(config: Inputs) -> dict[str, int]:
    """The widths of the parts that a word's vector has, by name.

    Raises ConfigError if there is none, or if parts to be summed are not equally wide.
    """
    context, vectors = config.context, config.vectors
    word = config.word
    if vectors.file:
        if vectors.combine == "sum" and word not in (0, vectors.width):
            raise ConfigError(
                f"{vectors.file} has vectors of {vectors.width} numbers, which cannot be added to"
                f" inputs.word={word}; set inputs.word={vectors.width}, or"
                " inputs.vectors.combine=concat"
            )
        word = word + vectors.width if vectors.combine == "concat" else vectors.width
    sizes = {"word": word, "tag": config.tag, "characters": config.char}
    if context.source != "none":
        sizes["context"] = context.size or context.width
    sizes = {name: size for name, size in sizes.items() if size}
    if not sizes:
        raise ConfigError(
            "nothing to read: give inputs.word, inputs.tag or inputs.char a size, or set"
            " inputs.vectors.file or inputs.context.source"
        )
    if config.combine == "sum" and len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ConfigError(f"inputs.combine=sum wants parts of one size; here: {told}")
    return sizes


def context_layers(
    transformer: Transformer, config: Context, pieces: PieceBatch, shape: tuple[int, ...]
) -> Tensor:
    """A transformer's layers for the words of a batch of that shape, [batch, length].

    -> [batch, length, layers, width]; padding is zeros.
    """
    body, device = transformer.body, pieces.ids.device
    if next(body.parameters()).device != device:  # to() looks at every weight, which takes time
        body.to(device)  # one that is frozen does not move with the network
    hidden = hidden_layers(transformer, pieces, config.layers, config.top)
    vectors = pool(hidden, pieces, prod(shape))
    return vectors.view(*shape, *vectors.shape[1:])


@dataclass
class LastLayers:
    """What a frozen transformer gave last, kept for other parsers that read the same of it."""

    pieces: PieceBatch | None = None
    layers: Tensor | None = None

    def of(self, pieces: PieceBatch) -> Tensor | None:
        """The layers, if they are of the same pieces."""
        return self.layers if self.pieces is not None and self.pieces.same(pieces) else None


class ContextVectors(nn.Module):
    """A word's contextual vector: layers chosen or mixed, then projected.

    A transformer that is trained, too, is a part of this module and of its weights; one that is
    frozen is not, and is not asked where the batch brings its layers along.
    """

    def __init__(self, config: Context, transformer: Transformer | None) -> None:
        super().__init__()
        self.config = config
        self.transformer = transformer
        self.last: LastLayers | None = None  # where several parsers share the transformer
        self.body = transformer.body if transformer and config.tune else None
        if self.body is not None and config.checkpointing:
            checkpoint_layers(self.body)
        kept = min(config.top or config.available, config.available)
        self.mix = LayerMix(kept) if config.layers == "mix" else None
        self.dropout = nn.Dropout(config.dropout)
        self.projection: nn.Module = nn.Identity()
        if config.size:
            self.projection = nn.Linear(config.width, config.size)

    def layers(self, batch: Batch) -> Tensor:
        """[batch, length, layers, width], of the batch or of the transformer."""
        if batch.context is not None:
            return batch.context
        if self.transformer is None or batch.pieces is None:
            raise ValueError("no contextual vectors: the parser reads ELMo features")
        found = self.last.of(batch.pieces) if self.last else None
        if found is None:
            with torch.set_grad_enabled(torch.is_grad_enabled() and self.body is not None):
                found = context_layers(
                    self.transformer, self.config, batch.pieces, batch.word.shape
                )
        if self.last:
            self.last.pieces, self.last.layers = batch.pieces, found
        return found

    def forward(self, batch: Batch) -> Tensor:
        """-> [batch, length, features]."""
        layers = self.layers(batch).float()
        vectors = self.mix(layers) if self.mix is not None else layers[..., 0, :]
        return self.projection(self.dropout(vectors))


class InputLayer(nn.Module):
    """x_i = the parts of a token, each dropped on its own, concatenated or summed."""

    def __init__(
        self, config: Inputs, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.word = self.pretrained = self.tag = self.context = None
        self.char: CharLSTM | CharConcat | None = None
        self.char_projection: nn.Module = nn.Identity()
        sizes = part_sizes(config)
        if config.word:
            self.word = nn.Embedding(len(vocabulary.words), config.word, padding_idx=PAD)
            if config.word_min_count == 1 and not config.word_unknown:
                nn.init.zeros_(self.word.weight.data[UNKNOWN])  # never trained: each is known
        if vocabulary.vectors:
            shape = len(vocabulary.vectors), config.vectors.width
            self.pretrained = nn.Embedding(*shape, padding_idx=PAD)
            self.pretrained.requires_grad_(config.vectors.tune)
        # how often each word is in the training treebank; the training sets it
        self.counts: Tensor | None = None
        if config.tag:
            self.tag = nn.Embedding(len(vocabulary.tags), config.tag, padding_idx=PAD)
            nn.init.zeros_(self.tag.weight.data[UNKNOWN])  # never trained: each tag is known
        if config.char:
            self._make_characters(config, len(vocabulary.characters))
        if config.context.source != "none":
            self.context = ContextVectors(config.context, transformer)
        summed = config.combine == "sum"
        self.features = max(sizes.values()) if summed else sum(sizes.values())
        # a word's own vector counts twice, as in Li et al. (2019)
        weights = [2.0 if name in ("word", "context") else 1.0 for name in sizes]
        self.part_dropout = InputDropout(config.part_dropout, weights)

    def _make_characters(self, config: Inputs, characters: int) -> None:
        if config.char_kind == "lstm":
            self.char = CharLSTM(
                characters, config.char_embedding, config.char, config.char_dropout
            )
        else:
            self.char = CharConcat(characters, config.char_embedding, config.char_dropout)
            if self.char.features != config.char:
                self.char_projection = nn.Linear(self.char.features, config.char)
        nn.init.zeros_(self.char.embedding.weight.data[UNKNOWN])  # never trained, either

    @torch.no_grad()
    def leave_unknown(self, data: Dataset) -> None:
        """Give the words, tags and characters that training data lack the unknown one's vector.

        Theirs were never trained; they are of a vocabulary that other data share.
        """
        characters = self.char.embedding if self.char else None
        for table, numbers in (
            (self.word, data.word), (self.tag, data.tag), (characters, data.characters)
        ):  # fmt: skip
            if table is not None:
                seen = torch.bincount(numbers.flatten(), minlength=table.num_embeddings)
                seen[: len(SPECIAL)] = 1
                table.weight[seen == 0] = table.weight[UNKNOWN].clone()

    def _words(self, batch: Batch) -> Tensor | None:
        """Trainable word embeddings, pretrained vectors, or both, summed or side by side."""
        if self.pretrained is None:
            return None if self.word is None else self.word(self._some_unknown(batch.word))
        pretrained = self.pretrained(batch.vector)
        if self.word is None:
            return pretrained
        word = self.word(self._some_unknown(batch.word))
        if self.config.vectors.combine == "sum":
            return word + pretrained
        return torch.cat((word, pretrained), dim=-1)

    def _some_unknown(self, word: Tensor) -> Tensor:
        """In training, words made unknown with probability z / (z + count)."""
        z = self.config.word_unknown
        if not self.training or not z or self.counts is None:
            return word
        chance = z / (z + self.counts[word])
        hidden = (torch.rand_like(chance) < chance) & (word != PAD) & (word != ROOT)
        return word.masked_fill(hidden, UNKNOWN)

    def form_vectors(self, batch: Batch) -> Tensor:
        """The vectors that characters make, a row a form: [forms, features]."""
        if batch.form_vectors is not None:
            return batch.form_vectors
        return self.read_characters(batch.characters, batch.form_sizes, batch.groups)

    def read_characters(
        self, characters: Tensor, sizes: Tensor, groups: list[tuple[int, int]]
    ) -> Tensor:
        """As `CharLSTM.forward`: [forms, longest] -> [forms, features]."""
        assert self.char is not None
        return self.char_projection(self.char(characters, sizes, groups))

    def forward(self, batch: Batch) -> Tensor:
        """-> [batch, length, features]."""
        parts: list[Tensor] = []
        words = self._words(batch)
        if words is not None:
            parts.append(words)
        if self.tag is not None:
            parts.append(self.tag(batch.tag))
        if self.char is not None:
            parts.append(functional.embedding(batch.form, self.form_vectors(batch)))
        if self.context is not None:
            parts.append(self.context(batch))
        parts = self.part_dropout(parts)
        if self.config.combine == "sum":
            return torch.stack(parts).sum(0)
        return torch.cat(parts, dim=-1)
