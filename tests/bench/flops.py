"""Count floating-point operations; a multiplication with an addition counts as 2.

torch's counter supports matrix products, convolutions and attention, but not the LSTM of a CPU,
which consists of two matrix products in each step.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

Shape = torch.Size


def lstm_flops(x: Shape, weight: Shape, recurrent: Shape, *rest: Any, **kwargs: Any) -> int:
    """Shapes: x [length, batch, input], weight [4 * size, input], recurrent [4 * size, size]."""
    return 2 * x[0] * x[1] * (prod(weight) + prod(recurrent))


def lstm_backward_flops(*shapes: Any, **kwargs: Any) -> int:
    """The gradients of the input and of the weights each cost as much as a forward pass."""
    return 2 * lstm_flops(*shapes, **kwargs)


LSTM = {
    torch.ops.aten.mkldnn_rnn_layer: lstm_flops,
    torch.ops.aten.mkldnn_rnn_layer_backward: lstm_backward_flops,
}


def count_flops(action: Callable[[], object]) -> int:
    """Count the operations of the matrix products of an action on this thread, with padding.

    This works on the CPU, except in int8, whose products are not visible to the counter. Other
    operations, such as activations and sums, are few and not counted.
    """
    with FlopCounterMode(display=False, custom_mapping=LSTM) as counter:
        action()
    return int(counter.get_total_flops())
