"""Copying the arrays of a batch to a device, in one transfer."""

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.inputs.batching import Batch

_ALIGNMENT = 16  # bytes; at least the size of an item of any dtype


def send_batch(batch: Any, device: torch.device) -> Any:
    """Return a batch with its arrays as tensors on a device, or the same for a list of batches.

    What is no array, such as a tensor that is on the device already, does not change. The host does
    not wait for a GPU; on a CPU, nothing is copied.
    """
    if not isinstance(batch, Batch):
        return [send_batch(part, device) for part in batch]
    arrays = {name: x for name, x in batch.arrays.items() if isinstance(x, np.ndarray)}
    return replace(
        batch, arrays=batch.arrays | send_arrays(arrays, device), host=batch.host | arrays
    )


def send_arrays(arrays: dict[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Return arrays as tensors on a device; uint16, in which torch hardly computes, as int32."""
    arrays = {
        name: x.astype(np.int32) if x.dtype == np.uint16 else np.ascontiguousarray(x)
        for name, x in arrays.items()
    }
    if device.type == "cpu":
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    return _send_packed(arrays, device)


def _send_packed(arrays: dict[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """Copy arrays into one buffer of bytes, send it, and split it on the device."""
    starts, total = {}, 0
    for name, array in arrays.items():
        starts[name] = total
        total += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    buffer = torch.empty(total, dtype=torch.uint8, pin_memory=device.type == "cuda")
    on_host = _split(buffer, starts, arrays)
    for name, array in arrays.items():
        on_host[name].copy_(torch.from_numpy(array))
    return _split(buffer.to(device, non_blocking=True), starts, arrays)


def _split(
    buffer: Tensor, starts: dict[str, int], arrays: dict[str, np.ndarray]
) -> dict[str, Tensor]:
    """Return the parts of a buffer of bytes as tensors with the types and shapes of arrays."""
    tensors = {}
    for name, start in starts.items():
        array = arrays[name]
        part = buffer[start : start + array.itemsize * prod(array.shape)]
        tensors[name] = part.view(getattr(torch, array.dtype.name)).view(array.shape)
    return tensors
