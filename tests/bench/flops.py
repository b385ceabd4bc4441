"""Count floating-point operations. A multiplication and the addition of its result count as 2.

torch's counter supports matrix products, convolutions and attention, but not LSTMs on a CPU. An
LSTM computes two matrix products in each time step.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

Shape = torch.Size


def lstm_flops(x: Shape, weight: Shape, recurrent: Shape, *rest: Any, **kwargs: Any) -> int:
    """Count the operations of the forward pass of an LSTM layer from the shapes of its arguments.

    x: [length, batch, input], weight: [4 * size, input], recurrent: [4 * size, size].
    """
    return 2 * x[0] * x[1] * (prod(weight) + prod(recurrent))


def lstm_backward_flops(*shapes: Any, **kwargs: Any) -> int:
    """The gradients of the input and of the weights each cost as much as a forward pass."""
    return 2 * lstm_flops(*shapes, **kwargs)


LSTM_COUNTERS = {
    torch.ops.aten.mkldnn_rnn_layer: lstm_flops,
    torch.ops.aten.mkldnn_rnn_layer_backward: lstm_backward_flops,
}


def count_flops(function: Callable[[], object]) -> int:
    """Call a function and count the floating-point operations of its matrix products.

    Operations on padding are counted. Operations on other threads, int8 products, and the few
    operations that are not products, such as activations and sums, are not counted.
    """
    with FlopCounterMode(display=False, custom_mapping=LSTM_COUNTERS) as counter:
        function()
    return int(counter.get_total_flops())
