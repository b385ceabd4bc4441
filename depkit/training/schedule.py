"""The learning rates: of the parts of a network, and over time."""

import re

from torch import nn

from depkit.parsers.biaffine import BiaffineNetwork
from depkit.training.recipe import Training


def rate_factor(training: Training, update: int, done: float) -> float:
    """What the rates are multiplied by at update number `update`, 0-based; done: the share of the
    run that is over.

    Exponential decay is smooth, `decay` per `decay_updates`, as in Dozat and Manning (2017).
    """
    if update < training.warmup:
        return (update + 1) / training.warmup
    if training.schedule == "exponential":
        return training.decay ** ((update - training.warmup) / training.decay_updates)
    if training.schedule == "linear":
        return max(0.0, 1 - done)
    return 1.0


def grouped(network: BiaffineNetwork, training: Training) -> list[dict]:
    """The parameters that are trained, in groups with their highest `rate`.

    Those of a transformer have their own, from `context_rate` for the last layer down to that of
    the embeddings, `layer_decay` times as high from each layer to the one below (Howard and
    Ruder 2018).
    """
    context = network.inputs.context
    body = context.body if context is not None else None
    inside = dict(body.named_parameters()) if body is not None else {}
    layers = {name: _layer(name) for name in inside}
    top = max(layers.values(), default=0)
    of = {
        id(weight): training.context_rate * training.layer_decay ** (top - layers[name])
        for name, weight in inside.items()
    }
    groups: dict[float, list[nn.Parameter]] = {}
    for weight in network.parameters():
        if weight.requires_grad:
            groups.setdefault(of.get(id(weight), training.rate), []).append(weight)
    return [{"params": weights, "rate": rate, "lr": rate} for rate, weights in groups.items()]


def _layer(name: str) -> int:
    """A transformer's layer by the name of a weight of it, from 1 on; 0 is the embeddings."""
    number = re.search(r"\.(\d+)\.", name)
    return int(number[1]) + 1 if number else 0
