"""Eight-bit matrix products, for prediction on CPUs without bfloat16."""

import warnings

import torch
from torch import nn


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
