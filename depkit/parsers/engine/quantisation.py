"""The precision of a network for prediction, and eight-bit products on CPUs without bfloat16."""

import warnings
from typing import Any

import torch
from torch import nn

from depkit.parsers.engine.precision import best_precision, resolve_precision
from depkit.parsers.engine.torch_engine import TorchEngine


def make_engine(
    network: Any, device: torch.device, precision: str, int8_obstacle: str
) -> TorchEngine:
    """Return an engine that runs a network for prediction, whose weights are converted in place.

    Args:
        network: A ParserNetwork.
        device: The device that it is sent to.
        precision: As for `loading.load`.
        int8_obstacle: The setting of the encoder that prevents int8; "" for none.

    Raises:
        ValueError: There is no such precision, or the network cannot compute in it.
    """
    network.to(device).eval()
    is_cpu = device.type == "cpu"
    has_int8 = is_cpu and not int8_obstacle and can_quantize()
    if precision == "auto" and has_int8 and best_precision(device) == torch.float32:
        precision = "int8"
    if precision == "int8":
        if not has_int8:
            advice = (
                f"a model without {int8_obstacle}"
                if int8_obstacle
                else "a CPU as the device, and a version of torch with int8 kernels for x86"
            )
            raise ValueError(f"precision int8 needs {advice}; choose another precision")
        for part in network.quantized_parts():
            quantize(part)
        precision = "float32"  # of the modules that are not quantized
    dtype = resolve_precision(precision, device)
    if is_cpu:
        network.convert_product_weights(dtype)
    return TorchEngine(network, device, dtype)


def can_quantize() -> bool:
    """Whether this build of torch has fast eight-bit kernels for this processor."""
    return "x86" in torch.backends.quantized.supported_engines


def quantize(module: nn.Module) -> nn.Module:
    """Convert a module, in place, so that its LSTMs and linear layers compute in int8.

    The scale of the weights is computed once for each tensor, the scale of the inputs at each call
    for the whole batch ("dynamic quantisation"). The last digits of the scores therefore depend on
    the other sentences in the batch.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.ao warns that it will move to another package
        from torch.ao.quantization import quantize_dynamic

        torch.backends.quantized.engine = "x86"
        return quantize_dynamic(module, {nn.LSTM, nn.Linear}, inplace=True)
