"""Eight-bit matrix products on CPUs that have no bfloat16: weights once, inputs as they come."""

import warnings

import torch
from torch import nn


def can_quantize() -> bool:
    """Whether this build of torch has fast eight-bit kernels for this processor."""
    return "x86" in torch.backends.quantized.supported_engines


def quantize(module: nn.Module) -> nn.Module:
    """A module whose LSTMs and linear layers compute in int8; for prediction only.

    Weights are quantised by tensor, inputs by tensor and call ("dynamic quantisation"), so
    that scores depend, in their last digits, on what is in the batch.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.ao is to move to a package of its own
        from torch.ao.quantization import quantize_dynamic

        torch.backends.quantized.engine = "x86"
        return quantize_dynamic(module, {nn.LSTM, nn.Linear}, inplace=True)
