"""The input layer: vectors of words from their parts (word, tag, characters, context).

The parts are concatenated (Li et al. 2019, Eq. 2) or summed (Kitaev and Klein 2018, section 5).
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.affixes import AffixEmbedding
from depkit.nn.charconcat import CharConcat
from depkit.nn.charlstm import CharLSTM
from depkit.nn.dropout import InputDropout, SharedDropout
from depkit.nn.layermix import LayerMix
from depkit.parsers.config import Context, Inputs
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import Dataset
from depkit.parsers.inputs.hidden_layers import checkpoint_layers, context_layers
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import PAD, ROOT, SPECIAL, UNKNOWN, Vocabulary
from depkit.parsers.settings import ConfigError


def part_sizes(config: Inputs) -> dict[str, int]:
    """Return the sizes of the parts that a word's vector is made of, by name.

    Raises ConfigError if there is no part, or if parts are to be summed but differ in size.
    """
    context, vectors = config.context, config.vectors
    word = config.word
    if vectors.file:
        if vectors.combine == "sum" and word not in (0, vectors.width):
            raise ConfigError(
                f"{vectors.file} has vectors of {vectors.width} numbers, which cannot be added to"
                f" word embeddings of inputs.word={word}; set inputs.word={vectors.width}, or"
                " inputs.vectors.combine=concat"
            )
        word = word + vectors.width if vectors.combine == "concat" else vectors.width
    sizes = {"word": word, "tag": config.tag, "characters": config.char + config.affix}
    sizes["prior"] = config.prior
    if context.source != "none":
        sizes["context"] = context.size or context.width
    sizes = {name: size for name, size in sizes.items() if size}
    if not sizes:
        raise ConfigError(
            "the parser has nothing to read: give inputs.word, inputs.tag, inputs.char or"
            " inputs.affix a size, or set inputs.vectors.file or inputs.context.source"
        )
    if config.combine == "sum" and len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ConfigError(
            f"inputs.combine=sum needs parts of the same size, but the sizes are: {listed}"
        )
    return sizes


@dataclass
class LayerCache:
    """The last output of a frozen transformer, for other parsers that read the same layers."""

    pieces: dict[str, np.ndarray] = field(default_factory=dict)
    layers: Tensor | None = None

    def get(self, batch: Batch) -> Tensor | None:
        """Return the cached layers if they were computed from the same pieces, else None."""
        is_same = self.pieces and all(
            np.array_equal(array, batch.host[name]) for name, array in self.pieces.items()
        )
        return self.layers if is_same else None

    def put(self, batch: Batch, layers: Tensor) -> None:
        """Remember the layers of a batch."""
        self.layers = layers
        self.pieces = {
            name: array for name, array in batch.host.items() if name.startswith("pieces.")
        }


class ContextVectors(nn.Module):
    """Contextual vectors of words: layers are selected or mixed, then projected.

    A transformer that is fine-tuned is a submodule, so its weights belong to this module. A frozen
    transformer is not, and it is not run if the batch already has its layers.
    """

    def __init__(self, config: Context, transformer: Transformer | None) -> None:
        super().__init__()
        self.config = config
        self.transformer = transformer
        self.layer_cache: LayerCache | None = None  # set if parsers share the transformer
        self.body = transformer.body if transformer and config.tune else None
        if self.body is not None and config.checkpointing:
            checkpoint_layers(self.body)
        num_layers = min(config.top or config.available, config.available)
        self.mix = LayerMix(num_layers) if config.layers == "mix" else None
        self.dropout = nn.Dropout(config.dropout)
        self.projection: nn.Module = nn.Identity()
        if config.size:
            self.projection = nn.Linear(config.width, config.size)

    def layers(self, batch: Batch) -> Tensor:
        """Return the layers of the batch or of the transformer, [batch, length, layers, width].

        Raises ValueError if the batch has no layers and there is no transformer.
        """
        if "context" in batch:
            layers: Tensor = batch["context"]
            return layers
        if self.transformer is None or "pieces.ids" not in batch:
            raise ValueError(
                "the parser reads ELMo vectors, but none were given with the sentences"
            )
        cached = self.layer_cache.get(batch) if self.layer_cache else None
        if cached is not None:
            return cached
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.body is not None):
            layers = context_layers(self.transformer, self.config, batch)
        if self.layer_cache:
            self.layer_cache.put(batch, layers)
        return layers

    def forward(self, batch: Batch) -> Tensor:
        """Compute the projected vectors, [batch, length, size]."""
        layers = self.layers(batch).float()
        vectors = self.mix(layers) if self.mix is not None else layers[..., 0, :]
        return self.projection(self.dropout(vectors))


class PriorVectors(nn.Module):
    """The sum over UPOS, XPOS and FEATS of the expected vector of their value.

    The probabilities of the values are those that a form has regardless of its context.
    size: the size of the vectors.
    """

    def __init__(self, size: int, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.size = size
        self.tables = nn.ModuleDict(
            {
                name: nn.EmbeddingBag(len(table), size, mode="sum")
                for name, table in vocabulary.columns.items()
                if name in ("upos", "xpos", "feats")
            }
        )

    def forward(self, batch: Batch) -> Tensor:
        """Compute the vectors, [batch, length, size]."""
        total = torch.zeros(prod(batch.shape), self.size, device=batch["lengths"].device)
        for name, table in self.tables.items():
            values = batch[f"prior.{name}.values"].flatten(0, 1)
            probabilities = batch[f"prior.{name}.probabilities"].flatten(0, 1)
            total = total + table(values, per_sample_weights=probabilities)
        return total.view(*batch.shape, self.size)


class InputLayer(nn.Module):
    """Concatenates or sums the parts of each word, after dropout of whole parts.

    Args:
        config: The parts and their sizes.
        vocabulary: The vocabulary, which determines the sizes of the embedding tables.
        transformer: The transformer, if config.context.source is "transformer".
    """

    def __init__(
        self, config: Inputs, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.word = self.pretrained = self.tag = self.context = None
        self.char: CharLSTM | CharConcat | None = None
        self.char_projection: nn.Module = nn.Identity()
        self.affixes: AffixEmbedding | None = None
        sizes = part_sizes(config)
        if config.word:
            self.word = nn.Embedding(len(vocabulary.words), config.word, padding_idx=PAD)
            with torch.no_grad():
                self.word.weight.mul_(config.word_std)
            if config.word_min_count == 1 and not config.word_unknown:
                # This row is never trained: every word of the training data has its own.
                nn.init.zeros_(self.word.weight.data[UNKNOWN])
        if vocabulary.vectors:
            shape = len(vocabulary.vectors), config.vectors.width
            self.pretrained = nn.Embedding(*shape, padding_idx=PAD)
            self.pretrained.requires_grad_(config.vectors.tune)
        # How often each word occurs in the training treebank; set when an epoch starts.
        self.counts: Tensor | None = None
        if config.tag:
            self.tag = nn.Embedding(len(vocabulary.tags), config.tag, padding_idx=PAD)
            nn.init.zeros_(self.tag.weight.data[UNKNOWN])  # this row is never trained
        if config.char:
            self._make_character_layers(config, len(vocabulary.characters))
        if config.affix:
            self.affixes = AffixEmbedding(
                config.affix_rows, config.affix, vocabulary.character_cases(),
                vocabulary.character_classes(), config.affix_dropout,
            )  # fmt: skip
        self.prior: PriorVectors | None = None
        if config.prior:
            self.prior = PriorVectors(config.prior, vocabulary)
        if config.context.source != "none":
            self.context = ContextVectors(config.context, transformer)
        summed = config.combine == "sum"
        self.output_size = max(sizes.values()) if summed else sum(sizes.values())
        self.treebank: nn.Embedding | None = None
        if config.treebank:
            assert vocabulary.treebanks is not None
            self.treebank = nn.Embedding(len(vocabulary.treebanks), config.treebank)
            self.output_size += config.treebank
        self.draft: nn.Embedding | None = None
        if config.draft:
            self.draft = nn.Embedding(1 + len(vocabulary.columns["deprel"]), config.draft)
            self.output_size += config.draft
        # Word and contextual vectors count twice when dropout rescales the remaining parts, as
        # the word does in Li et al. (2019).
        weights = [2.0 if name in ("word", "context") else 1.0 for name in sizes]
        self.part_dropout = InputDropout(config.part_dropout, weights)
        self.word_dropout = SharedDropout(config.word_dropout)
        self.tag_dropout = SharedDropout(config.tag_dropout)
        self.char_dropout = SharedDropout(config.char_vector_dropout)

    def _make_character_layers(self, config: Inputs, characters: int) -> None:
        if config.char_kind == "lstm":
            self.char = CharLSTM(
                characters, config.char_embedding, config.char, config.char_dropout
            )
        else:
            self.char = CharConcat(characters, config.char_embedding, config.char_dropout)
            if self.char.output_size != config.char:
                self.char_projection = nn.Linear(self.char.output_size, config.char)
        nn.init.zeros_(self.char.embedding.weight.data[UNKNOWN])  # this row is never trained

    @torch.no_grad()
    def reset_unseen(self, data: Dataset) -> None:
        """Give words, tags and characters that do not occur in `data` the unknown symbol's vector.

        Members of an ensemble share a vocabulary; the vectors of symbols that occur only in the
        fold that a member leaves out are not trained.
        """
        characters = self.char.embedding if self.char else None
        arrays = data.words | data.form_arrays
        for table, name in (
            (self.word, "word"), (self.tag, "tag"), (characters, "characters")
        ):  # fmt: skip
            if table is not None:
                counts = np.bincount(arrays[name][:].ravel(), minlength=table.num_embeddings)
                counts[: len(SPECIAL)] = 1
                table.weight[torch.from_numpy(counts == 0)] = table.weight[UNKNOWN].clone()

    def _word_vectors(self, batch: Batch) -> Tensor | None:
        """Look up trainable embeddings, pretrained vectors, or both, summed or concatenated."""
        if self.pretrained is None:
            return None if self.word is None else self.word(self._drop_words(batch["word"]))
        pretrained = self.pretrained(batch["vector"])
        if self.word is None:
            return pretrained
        word = self.word(self._drop_words(batch["word"]))
        if self.config.vectors.combine == "sum":
            return word + pretrained
        return torch.cat((word, pretrained), dim=-1)

    def _drop_words(self, word: Tensor) -> Tensor:
        """In training, replace words by the unknown word with probability z / (z + count)."""
        z = self.config.word_unknown
        if not self.training or not z or self.counts is None:
            return word
        probability = z / (z + self.counts[word])
        is_unknown = torch.rand_like(probability) < probability
        return word.masked_fill(is_unknown & (word != PAD) & (word != ROOT), UNKNOWN)

    def form_vectors(self, batch: Batch) -> Tensor:
        """Compute the vectors of the distinct forms, [forms, size], unless they are known."""
        if "form_vectors" in batch:
            vectors: Tensor = batch["form_vectors"]
            return vectors
        return self.encode_forms(batch.arrays, batch.host["form_groups"])

    def encode_forms(self, arrays: dict[str, Tensor], groups: list[tuple[int, int]]) -> Tensor:
        """Make vectors of forms from their arrays, [forms, size].

        groups: (end, width) of groups of rows, as `CharLSTM.forward` takes them.
        """
        characters, sizes = arrays["characters"], arrays["form_sizes"]
        vectors = []
        if self.char is not None:
            vectors.append(self.char_projection(self.char(characters, sizes, groups)))
        if self.affixes is not None:
            if self.config.char_boundaries:  # characters that affixes do not have
                characters, sizes = characters[:, 1:], (sizes - 2).clamp(min=1)
            vectors.append(self.affixes(characters, sizes))
        return torch.cat(vectors, dim=-1)

    def forward(self, batch: Batch) -> Tensor:
        """Compute the input vectors of all positions, [batch, length, size]."""
        parts: list[Tensor] = []
        words = self._word_vectors(batch)
        if words is not None:
            parts.append(self.word_dropout(words))
        if self.tag is not None:
            parts.append(self.tag_dropout(self.tag(batch["tag"])))
        if self.config.reads_forms:
            vectors = functional.embedding(batch["form"], self.form_vectors(batch))
            parts.append(self.char_dropout(vectors))
        if self.prior is not None:
            parts.append(self.prior(batch))
        if self.context is not None:
            parts.append(self.context(batch))
        parts = self.part_dropout(parts)
        if self.config.combine == "sum":
            parts = [torch.stack(parts).sum(0)]
        if self.treebank is not None:
            parts.append(self.treebank(batch["treebank"]))
        if self.draft is not None:
            parts.append(self.draft(batch["draft.label"]))
        return torch.cat(parts, dim=-1)
