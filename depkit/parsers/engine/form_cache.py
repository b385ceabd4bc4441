"""A cache of word vectors computed from characters: each distinct word is encoded once."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.engine.device import send
from depkit.parsers.engine.transfer import send_arrays
from depkit.parsers.inputs.batching import FORM_MULTIPLE, group_forms
from depkit.parsers.inputs.dataset import Dataset
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
    def vectors(self, data: Dataset, device: torch.device) -> Tensor:
        """Look up or compute the vectors of a dataset's distinct forms, [forms, size]."""
        if len(self.rows) > MAX_FORMS:
            self.rows, self.table = {}, None
        new = [i for i, form in enumerate(data.forms) if form not in self.rows]
        if new or self.table is None:
            forms, new_rows, groups = group_forms(
                np.array(new, dtype=np.int64), data.form_arrays["form_sizes"]
            )
            arrays = {name: array[forms] for name, array in data.form_arrays.items()}
            tensors = send_arrays(arrays | {"rows": new_rows}, device)
            rows = tensors.pop("rows")
            encoded = [
                self.inputs.encode_forms(
                    {name: tensor[start:end] for name, tensor in tensors.items()},
                    [(end - start, width)],
                )
                for start, end, width in _split_groups(groups)
            ]
            vectors = torch.cat(encoded)[rows]
            self.table = vectors if self.table is None else torch.cat((self.table, vectors))
            for i in new:
                self.rows[data.forms[i]] = len(self.rows)
        wanted = np.array([self.rows[form] for form in data.forms], dtype=np.int64)
        return self.table[send(torch.from_numpy(wanted), self.table.device)]


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
