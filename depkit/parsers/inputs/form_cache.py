"""The vectors that characters make of a word, read once a word rather than once a batch."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.inputs.batches import FORMS, Dataset, grouped_forms, send
from depkit.parsers.inputs.layer import InputLayer

KEPT = 50_000  # distinct words; beyond them the cache begins anew
AT_ONCE = 256  # words that are read at a time


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
        if new:
            numbers = np.array(new, dtype=np.int64)
            chosen, rank, groups = grouped_forms(numbers, data.form_widths)
            forms = send(torch.as_tensor(chosen), data.characters.device)
            read = [
                self.inputs.read_characters(
                    data.characters[forms[start:end]],
                    data.form_sizes[forms[start:end]],
                    [(end - start, width)],
                )
                for start, end, width in _pieces(groups)
            ]
            parts.append(torch.cat(read)[send(torch.as_tensor(rank), read[0].device)])
        for i in new:
            self.rows[data.forms[i]] = len(self.rows)
        self.table = torch.cat(parts)
        rows = [self.rows[form] for form in data.forms]
        return self.table[send(torch.as_tensor(rows), self.table.device)]


def _pieces(groups: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """(start, end, width) of parts of the groups; few sizes occur, as kernels are kept for each."""
    start = 0
    for stop, width in groups:
        while start < stop:
            size = AT_ONCE
            while size > max(FORMS, stop - start):
                size //= 2
            yield start, min(start + size, stop), width
            start = min(start + size, stop)
