"""Devices: which there are, and the precision and the memory that they have."""

import torch

from depkit.parsers.config import ConfigError


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
