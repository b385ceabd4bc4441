"""The input layer: vectors of words from their parts (word, tag, characters, context).

The parts are concatenated (Li et al. 2019, Eq. 2) or summed (Kitaev and Klein 2018, section 5).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from depkit.nn.dropout import InputDropout, SharedDropout
from depkit.parsers.config import Inputs
from depkit.parsers.engine.device import send
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import Dataset
from depkit.parsers.inputs.parts import Group, make_groups
from depkit.parsers.inputs.tables import SPECIAL, UNKNOWN
from depkit.parsers.inputs.transformer import Transformer
from depkit.parsers.inputs.vocabulary import Vocabulary


class InputLayer(nn.Module):
    """Concatenates or sums the parts of each word, after dropout of whole groups of parts.

    Args:
        config: The parts and their sizes.
        vocabulary: The vocabulary, which determines the sizes of the embedding tables.
        transformer: The transformer, if config.context.source is "transformer".
    """

    def __init__(
        self, config: Inputs, vocabulary: Vocabulary, transformer: Transformer | None = None
    ) -> None:
        super().__init__()
        self.groups = make_groups(config)
        self.parts = [part for group in self.groups for part in group.parts]
        for part in self.parts:
            self.add_module(part.name, part.module(vocabulary, transformer))
        combined = [group for group in self.groups if group.is_combined]
        sizes = [group.size for group in combined]
        self.is_sum = config.combine == "sum"
        self.output_size = max(sizes) if self.is_sum else sum(sizes)
        self.output_size += sum(group.size for group in self.groups if not group.is_combined)
        self.part_dropout = InputDropout(config.part_dropout, [group.weight for group in combined])
        self.dropouts = nn.ModuleDict(
            {group.name: SharedDropout(group.dropout) for group in self.groups}
        )

    @property
    def reads_forms(self) -> bool:
        """Whether vectors are computed once for each form."""
        return any(part.reads_forms for part in self.parts)

    def part(self, name: str) -> Any:
        """Return the module of a part; None if the part is not used."""
        return self._modules.get(name)

    def start_epoch(self, data: Dataset) -> None:
        for part in self.parts:
            part.start_epoch(self.part(part.name), data.words)

    @torch.no_grad()
    def reset_unseen(self, data: Dataset) -> None:
        """Give words, tags and characters that do not occur in `data` the unknown symbol's vector.

        Members of an ensemble share a vocabulary; the vectors of symbols that occur only in the
        fold that a member leaves out are not trained.
        """
        arrays = data.words | data.form_arrays
        for part in self.parts:
            for name, table in part.embeddings(self.part(part.name)).items():
                counts = np.bincount(arrays[name][:].ravel(), minlength=table.num_embeddings)
                counts[: len(SPECIAL)] = 1
                unseen = send(torch.from_numpy(np.flatnonzero(counts == 0)), table.weight.device)
                table.weight[unseen] = table.weight[UNKNOWN].clone()

    def encode_forms(self, arrays: dict[str, Tensor], groups: list[tuple[int, int]]) -> Tensor:
        """Compute vectors of forms from their arrays, [forms, size].

        groups: (end, width) of groups of rows, as `CharLSTM.forward` takes them.
        """
        vectors = [
            part.form_vectors(self.part(part.name), arrays, groups)
            for part in self.parts
            if part.reads_forms
        ]
        return torch.cat(vectors, dim=-1)

    def _words_of_forms(self, batch: Batch) -> dict[str, Tensor]:
        """Look up the vectors of forms for each word, [batch, length, size] for each group."""
        groups = [group for group in self.groups if group.reads_forms]
        # Vectors from the cache of forms are on the device already.
        vectors = (
            batch["form_vectors"]
            if "form_vectors" in batch
            else self.encode_forms(batch.arrays, batch.host["form_groups"])
        )
        words = functional.embedding(batch["form"], vectors)
        parts = words.split([group.size for group in groups], dim=-1)
        return dict(zip((group.name for group in groups), parts, strict=True))

    def _combine(self, group: Group, batch: Batch) -> Tensor:
        vectors: Tensor | None = None
        for part in group.parts:
            new = part.vectors(self.part(part.name), batch)
            if vectors is None:
                vectors = new
            else:
                vectors = vectors + new if part.is_added else torch.cat((vectors, new), dim=-1)
        assert vectors is not None
        return vectors

    def forward(self, batch: Batch) -> Tensor:
        """Compute the input vectors of all positions, [batch, length, size]."""
        combined: list[Tensor] = []
        others: list[Tensor] = []
        of_forms: dict[str, Tensor] = {}
        for group in self.groups:
            if group.reads_forms:
                of_forms = of_forms or self._words_of_forms(batch)
                vectors = of_forms[group.name]
            else:
                vectors = self._combine(group, batch)
            if group.is_combined:
                combined.append(self.dropouts[group.name](vectors))
            else:
                others.append(vectors)
        combined = self.part_dropout(combined)
        if self.is_sum:
            combined = [torch.stack(combined).sum(0)]
        return torch.cat(combined + others, dim=-1)
