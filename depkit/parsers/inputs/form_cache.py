"""A cache of word vectors computed from characters: each distinct word is encoded once."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.inputs.batches import FORM_MULTIPLE, Dataset, group_forms, send
from depkit.parsers.inputs.layer import InputLayer

MAX_FORMS = 50_000  # the cache is emptied when it has more distinct words
BATCH_FORMS = 256  # the maximum number of words that are encoded at a time


class FormCache:
    """Vectors of distinct words. They are valid until the network's weights change."""

    def __init__(self, inputs: InputLayer) -> None:
        self.inputs = inputs
        self.rows: dict[str, int] = {}
        self.table: Tensor | None = None

    @torch.inference_mode()
    def vectors(self, data: Dataset) -> Tensor:
        """Look up or compute the vectors of a dataset's distinct forms, [forms, size]."""
        if len(self.rows) > MAX_FORMS:
            self.rows, self.table = {}, None
        new = [i for i, form in enumerate(data.forms) if form not in self.rows]
        parts = [] if self.table is None else [self.table]
        if new:
            grouped, new_rows, groups = group_forms(
                np.array(new, dtype=np.int64), data.host_form_sizes
            )
            forms = send(torch.as_tensor(grouped), data.characters.device)
            encoded = [
                self.inputs.encode_characters(
                    data.characters[forms[start:end]],
                    data.form_sizes[forms[start:end]],
                    [(end - start, width)],
                )
                for start, end, width in _split_groups(groups)
            ]
            parts.append(torch.cat(encoded)[send(torch.as_tensor(new_rows), encoded[0].device)])
        for i in new:
            self.rows[data.forms[i]] = len(self.rows)
        self.table = torch.cat(parts)
        rows = [self.rows[form] for form in data.forms]
        return self.table[send(torch.as_tensor(rows), self.table.device)]


def _split_groups(groups: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Split groups into parts: yield (start, end, width) of each.

    Only few sizes of parts occur, because kernels are cached for each shape.
    """
    start = 0
    for stop, width in groups:
        while start < stop:
            size = BATCH_FORMS
            while size > max(FORM_MULTIPLE, stop - start):
                size //= 2
            yield start, min(start + size, stop), width
            start = min(start + size, stop)
