"""Floating-point operations counted as they are done: 2 a multiplication and addition.

torch's counter knows matrix products, convolutions and attention, but not the LSTM of a CPU; its
gates are the two products of each step.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

Shape = torch.Size


def lstm_flops(x: Shape, weight: Shape, recurrent: Shape, *rest: Any, **named: Any) -> int:
    """x: [length, batch, features], weight: [4 * size, features], recurrent: [4 * size, size]."""
    return 2 * x[0] * x[1] * (prod(weight) + prod(recurrent))


def lstm_backward_flops(*shapes: Any, **named: Any) -> int:
    """The gradients of the input and of the weights cost a forward pass each."""
    return 2 * lstm_flops(*shapes, **named)


LSTM = {
    torch.ops.aten.mkldnn_rnn_layer: lstm_flops,
    torch.ops.aten.mkldnn_rnn_layer_backward: lstm_backward_flops,
}


def flops_of(action: Callable[[], object]) -> int:
    """The matrix products' operations of an action on this thread, padding included.

    On the CPU, and not in int8, whose products are not seen. Products are nearly all that
    networks do; activations and sums are not counted.
    """
    with FlopCounterMode(display=False, custom_mapping=LSTM) as counter:
        action()
    return int(counter.get_total_flops())
