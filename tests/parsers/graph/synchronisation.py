"""Records operations that would wait for a GPU, on a machine without one."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operations that would wait for a GPU
SYNCHRONISING = {
    "_local_scalar_dense", "bincount", "equal", "is_nonzero", "masked_select", "nonzero",
    "repeat_interleave", "_unique2",
}  # fmt: skip


class SynchronisationRecorder(TorchDispatchMode):
    """Records the names of operations that would wait for a GPU."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        is_indexed_by_mask = name.startswith("index") and any(
            index is not None and index.dtype == torch.bool
            for indices in args[1:2]
            if isinstance(indices, list | tuple)
            for index in indices
        )
        if name in SYNCHRONISING or is_indexed_by_mask:
            self.names.append(name)
        return func(*args, **(kwargs or {}))
