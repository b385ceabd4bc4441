"""Batches of examples with their arrays as tensors, as networks take them."""

import numpy as np
import torch

from depkit.parsers.engine.transfer import send_batch


def cpu_batch(examples, indices):
    """Return the batch of the examples with these indices, on the CPU."""
    return send_batch(examples.batch(np.asarray(indices)), torch.device("cpu"))
