"""The precision in which a device multiplies matrices."""

import torch


def autocast(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Return a context for automatic mixed precision; with float32, it does nothing."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


def best_precision(device: torch.device) -> torch.dtype:
    """Return bfloat16 if the device computes in it natively, else float32."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(False) else torch.float32
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # there is no public API
    return torch.bfloat16 if device.type == "cpu" and native and native() else torch.float32


def resolve_precision(name: str, device: torch.device) -> torch.dtype:
    """Convert "auto", "float32" or "bfloat16" to a dtype. Raises ValueError for other names."""
    if name == "auto":
        return best_precision(device)
    if name not in ("float32", "bfloat16"):
        raise ValueError(f"there is no precision {name!r}; it can be auto, float32 or bfloat16")
    return torch.float32 if name == "float32" else torch.bfloat16
