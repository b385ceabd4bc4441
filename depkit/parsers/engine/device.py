"""Devices: finding them, and copying tensors to and from them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.settings import ConfigError


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that the CPU or the GPU ran out of memory."""
    text = str(error)
    return (
        isinstance(error, MemoryError | torch.OutOfMemoryError)
        or "out of memory" in text
        or "can't allocate memory" in text
    )


def find_devices(names: str = "auto") -> list[torch.device]:
    """Find the devices that a list such as "cuda:0,cuda:1" names.

    "auto" is all GPUs, or the device that `find_device` selects if there are none or one. Raises
    ConfigError like `find_device`.
    """
    if names == "auto" and torch.cuda.device_count() > 1:
        return [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    return [find_device(name.strip()) for name in names.split(",")]


def find_device(name: str = "auto") -> torch.device:
    """Find a device by name; "auto" is the first GPU or, without a GPU, the CPU.

    Raises ConfigError if the name is wrong or this computer has no such device.
    """
    if name != "auto" and name.partition(":")[0] not in ("cpu", "cuda", "mps"):
        raise ConfigError(f"there is no device {name!r}; it can be auto, cpu, cuda, cuda:N or mps")
    if name == "auto" and not torch.cuda.is_available():
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    name = "cuda" if name == "auto" else name
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"this computer has no device {name!r}: {reason}") from None
    if device.type == "cuda":
        # cuDNN plans the attention of each new batch shape, which takes longer than an update.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from the host to a device, without waiting for a GPU."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class PendingCopies:
    """Copies of tensors to the host that may not have finished."""

    tensors: dict[str, Tensor]
    event: torch.cuda.Event | None  # recorded after the copies; None if they have finished

    def wait(self) -> dict[str, np.ndarray]:
        """Wait for the copies and return them as arrays."""
        if self.event is not None:
            self.event.synchronize()
        return {name: tensor.numpy() for name, tensor in self.tensors.items()}


def fetch(tensors: Mapping[str, Tensor]) -> PendingCopies:
    """Start copying tensors of one device to the host, without waiting for a GPU.

    From a GPU, they are copied in one transfer.
    """
    devices = {tensor.device for tensor in tensors.values() if tensor.is_cuda}
    if not devices:
        return PendingCopies({name: tensor.cpu() for name, tensor in tensors.items()}, None)
    # The tensors with the largest items come first, so that the items of all are aligned.
    names = sorted(tensors, key=lambda name: -tensors[name].element_size())
    parts = [tensors[name].contiguous().view(-1).view(torch.uint8) for name in names]
    packed = torch.cat(parts)
    # Only copies into pinned memory are asynchronous.
    buffer = torch.empty(packed.shape, dtype=torch.uint8, pin_memory=True)
    buffer.copy_(packed, non_blocking=True)
    # The device of the tensors may not be the current device.
    event = torch.cuda.current_stream(devices.pop()).record_event()
    copies = dict(zip(names, buffer.split([len(part) for part in parts]), strict=True))
    return PendingCopies(
        {name: copies[name].view(x.dtype).view(x.shape) for name, x in tensors.items()}, event
    )


def fetch_array(tensor: Tensor) -> np.ndarray:
    """Copy a tensor to the host.

    Unlike `Tensor.cpu`, this does not wait for what other threads have queued on a GPU since.
    """
    return fetch({"": tensor}).wait()[""]


def best_indices(scores: Tensor) -> Tensor:
    """Return the index of the (first) maximum of the last dimension, [..., value] -> [...].

    On a CPU, the argmax of torch takes several times as long as that of numpy.
    """
    if scores.device.type == "cpu":
        return torch.from_numpy(scores.numpy().argmax(-1))
    return scores.argmax(-1)
