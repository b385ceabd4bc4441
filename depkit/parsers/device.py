"""Devices: which there are, their precision and memory, and copies from and to them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from depkit.parsers.settings import ConfigError


def out_of_memory(error: BaseException) -> bool:
    text = str(error)
    return (
        isinstance(error, MemoryError | torch.OutOfMemoryError)
        or "out of memory" in text
        or "can't allocate memory" in text
    )


def mixed(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Inside it, what is safe in that precision is computed in it."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


def best_precision(device: torch.device) -> torch.dtype:
    """bfloat16 where the device computes in it, else float32."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(False) else torch.float32
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # no public way to ask
    return torch.bfloat16 if device.type == "cpu" and native and native() else torch.float32


def named_precision(name: str, device: torch.device) -> torch.dtype:
    """The dtype of "auto", "float32" or "bfloat16" on a device. Raises ValueError for others."""
    if name == "auto":
        return best_precision(device)
    if name not in ("float32", "bfloat16"):
        raise ValueError(f"no precision {name!r}; it can be auto, float32 or bfloat16")
    return torch.float32 if name == "float32" else torch.bfloat16


def find_devices(names: str = "auto") -> list[torch.device]:
    """The devices of a list like "cuda:0,cuda:1"; "auto" is all GPUs, else the CPU.

    Raises ConfigError as `find_device`.
    """
    if names == "auto" and torch.cuda.device_count() > 1:
        return [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    return [find_device(name.strip()) for name in names.split(",")]


def find_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" is the first GPU, else the CPU.

    Raises ConfigError if there is no such device here.
    """
    if name != "auto" and name.partition(":")[0] not in ("cpu", "cuda", "mps"):
        raise ConfigError(f"no device {name!r}; it can be auto, cpu, cuda, cuda:N or mps")
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"no device {name!r} here: {str(error).splitlines()[0]}") from None
    return device


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the host on the device; a GPU is not waited for."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


@dataclass(frozen=True)
class Arriving:
    """Tensors on their way to the host; event: when they are there, None where they are already."""

    tensors: dict[str, Tensor]
    event: torch.cuda.Event | None

    def arrays(self) -> dict[str, np.ndarray]:
        """All of them; waits for them."""
        if self.event is not None:
            self.event.synchronize()
        return {name: each.numpy() for name, each in self.tensors.items()}


def fetch(tensors: Mapping[str, Tensor]) -> Arriving:
    """Queue copies of tensors of one device to the host; a GPU is not waited for."""
    devices = {each.device for each in tensors.values() if each.is_cuda}
    if not devices:
        return Arriving({name: each.cpu() for name, each in tensors.items()}, None)
    copies = {
        # only into pinned memory is a copy not waited for
        name: torch.empty(each.shape, dtype=each.dtype, pin_memory=True).copy_(
            each, non_blocking=True
        )
        for name, each in tensors.items()
    }
    # of the tensors' device, which need not be the current one
    return Arriving(copies, torch.cuda.current_stream(devices.pop()).record_event())


def best_values(scores: Tensor) -> Tensor:
    """The number of the best value, the first of equals: [..., value] -> [...].

    On a CPU torch's own argmax takes several times as long as numpy's.
    """
    if scores.device.type == "cpu":
        return torch.from_numpy(scores.numpy().argmax(-1))
    return scores.argmax(-1)
