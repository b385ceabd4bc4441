"""The vectors that characters make of a word, read once a word rather than once a batch."""

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.batches import Dataset, grouped_forms, send
from depkit.parsers.inputs import InputLayer

KEPT = 50_000  # distinct words; beyond them the cache begins anew
AT_ONCE = 4_096  # words that are read at a time


class FormCache:
    """Vectors of distinct words, good as long as the network's weights stay as they are."""

    def __init__(self, inputs: InputLayer) -> None:
        self.inputs = inputs
        self.rows: dict[str, int] = {}
        self.table: Tensor | None = None

    @torch.inference_mode()
    def vectors(self, data: Dataset) -> Tensor:
        """The vectors of a dataset's forms, [forms, features]."""
        if len(self.rows) > KEPT:
            self.rows, self.table = {}, None
        new = [i for i, form in enumerate(data.forms) if form not in self.rows]
        parts = [] if self.table is None else [self.table]
        for start in range(0, len(new), AT_ONCE):
            numbers = np.array(new[start : start + AT_ONCE], dtype=np.int64)
            chosen, rank, groups = grouped_forms(numbers, data.form_widths)
            forms = send(torch.as_tensor(chosen), data.characters.device)
            read = self.inputs.read_characters(
                data.characters[forms], data.form_sizes[forms], groups
            )
            parts.append(read[send(torch.as_tensor(rank), read.device)])
        for i in new:
            self.rows[data.forms[i]] = len(self.rows)
        self.table = torch.cat(parts)
        rows = [self.rows[form] for form in data.forms]
        return self.table[send(torch.as_tensor(rows), self.table.device)]
